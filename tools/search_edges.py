"""Does the fair search reach far enough? Play on where its best width lay at an edge of the grid.

    python tools/search_edges.py results

Every search of the fair studies in the folder whose best width was the smallest or the largest of
the grid is gone on with, three and ten times as far, on the same held-out runs and at the same clip.
The table goes into docs/reproduction.md, between its marks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from duelwise.lab.cells.playing import play_cell
from duelwise.lab.paper.figures import figures_named
from duelwise.lab.paper.protocols import FairProtocol, Trial, tuned
from duelwise.lab.paper.records import StudyRecord, Tried, records_in
from duelwise.lab.report.style import NAMES
from duelwise.lab.report.tables import Table
from duelwise.lab.sweep.keys import code_digest

PAGE = Path(__file__).parent.parent / "docs" / "reproduction.md"
BEGIN, END = "<!-- edges: begin -->\n", "<!-- edges: end -->"
FARTHER = (3.0, 10.0)


@dataclass(frozen=True)
class Edge:
    """A search that ended at an edge, and the mean regrets beyond it."""

    best: Tried
    beyond: tuple[float, ...]

    @property
    def gain(self) -> float:
        """The share of the regret that going on takes away; negative if it adds."""
        return 1.0 - min(self.beyond) / self.best.mean


def edges(record: StudyRecord) -> Iterator[Edge]:
    """Every search of a record that ended at an edge, gone on with."""
    protocol = FairProtocol()
    trials = {
        _place(trial): trial
        for figure in figures_named(tuple(record.figures))
        for trial in protocol.search(figure.panels, post_serving=record.post_serving)
    }
    low, high = min(protocol.widths), max(protocol.widths)
    for best in record.tried:
        if best.chosen and best.exploration_width in (low, high):
            farther = FARTHER if best.exploration_width == high else tuple(1 / times for times in FARTHER)
            widths = (best.exploration_width * times for times in farther)
            yield Edge(best, tuple(_mean(trials[_place(best)], width, best.clip_rule) for width in widths))


def _place(tried: Tried | Trial) -> tuple[str, str, str, str]:
    return tried.task, tried.regime, tried.variant, tried.method


def _mean(trial: Trial, width: float, rule: str | None) -> float:
    cell = trial.cell
    return float(play_cell(replace(cell, method=tuned(cell.method, cell.problem, width, rule))).final.mean())


def table(found: list[Edge], searches: int) -> str:
    """What was found, in Markdown."""
    head = (
        "task",
        "delay",
        "variant",
        "method",
        "best width",
        "regret",
        *(f"{f:g}× as far" for f in FARTHER),
    )
    rows = tuple(
        (
            edge.best.task, edge.best.regime, edge.best.variant, NAMES[edge.best.method],
            f"{edge.best.exploration_width:g}", f"{edge.best.mean:,.0f}",
            *(f"{mean:,.0f}{'' if mean >= edge.best.mean else ' (lower)'}" for mean in edge.beyond),
        )
        for edge in found
    )  # fmt: skip
    enough = sum(edge.gain <= 0.0 for edge in found)
    most = max((edge.gain for edge in found), default=0.0)
    return (
        f"{len(found)} of {searches} searches ended at an edge of the grid. Going on was no better in "
        f"{enough} of them; in the others it took at most {max(most, 0.0):.1%} off the regret.\n\n"
        f"{Table(title='Edges', head=head, rows=rows).to_markdown()}\n"
    )


if __name__ == "__main__":
    fair = [record for record in records_in(Path(sys.argv[1])) if record.protocol == "fair"]
    if any(record.code != code_digest() for record in fair):
        sys.exit(
            "The search was played with other code. Play it again: duelwise reproduce all --protocol fair"
        )
    found = [edge for record in fair for edge in edges(record)]
    searches = sum(tried.chosen for record in fair for tried in record.tried)
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table(found, searches)}\n{END}{rest.split(END)[1]}")

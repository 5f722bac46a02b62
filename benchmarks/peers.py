"""Newer peers beside the paper's preset: with their default width, and with one tuned on other runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from duelwise.lab.paper.protocols import FairProtocol
from duelwise.lab.play.delays import DelayModel
from duelwise.types import Array

PEERS = ("thompson", "feel-good", "vacdb")
MAPPINGS = ("none", "abs")
FAIR = FairProtocol()

Regret = Callable[[str, str, DelayModel, range, int, float | None], Array]
"""(R,) of a method on a mapping under a delay, for these runs up to a horizon, with a width or its own."""


def tuned_width(regret: Regret, name: str, mapping: str, delay: DelayModel) -> float:
    """The width of the fair protocol's search, on runs that no table shows."""
    held_out = range(FAIR.held_out[0], FAIR.held_out[-1] + 1)

    def judged(width: float) -> float:
        return float(regret(name, mapping, delay, held_out, FAIR.search_horizon, width).mean())

    return min(FAIR.widths, key=judged)


def lines(
    regret: Regret, shown: Callable[[Array, Array], str], delays: Mapping[str, DelayModel], *,
    runs: int, horizon: int,
) -> Iterable[str]:  # fmt: skip
    yield "\n## Newer peers\n\nRegret over the paper's preset, distinct pairs, lies first, full MLE."
    yield " Tuned: the width that did best on other runs, with its value.\n\n"
    columns = " | ".join(f"{name} | {name}, tuned" for name in PEERS)
    yield f"| φ | delay | {columns} |\n|---|---|{'---|' * 2 * len(PEERS)}\n"
    for mapping in MAPPINGS:
        for named, delay in delays.items():
            at = (mapping, delay, range(runs), horizon)
            preset = regret("rcdp-ucb", *at, None)
            cells: list[str] = []
            for name in PEERS:
                width = tuned_width(regret, name, mapping, delay)
                cells += [shown(regret(name, *at, None), preset)]
                cells += [f"{shown(regret(name, *at, width), preset)} at {width:g}"]
            yield f"| {mapping} | {named} | {' | '.join(cells)} |\n"

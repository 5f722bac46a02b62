"""How fast the library is, as ratios taken in this run.

    python -m benchmarks [--part laboratory|live] [--repeats 3] [--json FILE] [--page docs/performance.md]

`--page` writes the tables into a page, between the marks that stand there.

Literal: benchmarks/literal.py, Algorithm 1 as written, one thread, one run after another. Its
runs with the paper's network are timed on one run and counted ten times.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numba
import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks import laboratory, live, wide
from benchmarks.timing import Row, write_between_marks
from duelwise.learning.core.deferred_compilation import patience

LABORATORY = {
    "linear": laboratory.linear,
    "spline": laboratory.spline,
    "mlp": laboratory.network,
    "replay": laboratory.replay,
    "endless": laboratory.endless,
    "dimension": laboratory.dimension,
    "monitors": laboratory.monitors_on,
    "monitors-off": laboratory.monitors_off,
}
LIVE = {
    "mabwiser": live.against_mabwiser,
    "vowpal": live.against_vowpal_wabbit,
    **wide.rows(),
}
PARTS = ("laboratory", "live")


@patience(0.0)  # what is timed is compiled
def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--page", type=Path, default=None)
    parser.add_argument("--part", choices=PARTS, help="only this one")
    options = parser.parse_args()
    torch.set_num_threads(1)
    console = Console()
    begun = time.perf_counter()
    laboratory.compile_all()
    console.print(
        f"Loading or compiling the kernels took {time.perf_counter() - begun:.1f} s; not counted below."
    )
    content: dict[str, object] = {"machine": _machine()}
    if options.part != "live":
        rows = _measured(LABORATORY, options.repeats, console)
        notes, more = _notes()
        console.print("\n".join(notes))
        content |= {"rows": [row.plain() for row in rows], **more}
        if options.page is not None:
            write_between_marks(options.page, "bench", _text(rows, notes))
    if options.part != "laboratory":
        rows = _measured(LIVE, options.repeats, console)
        content["live"] = [row.plain() for row in rows]
        if options.page is not None:
            write_between_marks(options.page, "live", _text(rows, []))
    if options.json is not None:
        options.json.write_text(json.dumps(content, indent=1))


def _measured(named: Mapping[str, Callable[[int], Row]], repeats: int, console: Console) -> list[Row]:
    rows: list[Row] = []
    for name, measure in named.items():
        rows.append(measure(repeats))
        console.print(f"{name}: {rows[-1].ratio:.3g}")
    console.print(_table(rows))
    return rows


def _notes() -> tuple[list[str], dict[str, float]]:
    """What else is asked of the laboratory, in words and as numbers."""
    memory, same, network = (
        laboratory.peak_memory("dim=90"),
        laboratory.agreement(),
        laboratory.network_regrets(),
    )
    notes = [
        f"Peak memory of a process that plays 10 runs, T = 2000, d = 90: {memory:.0f} MB (asked: < 1000).",
        f"Fed the literal one's duels (linear, 2000 rounds): the same pair in {same.pairs:.2%} of rounds, "
        f"Θ̂ within {same.theta:.1e} (asked: 99.9 %, 1e-5).",
        f"Mean regret of ten runs with the paper's network: literal {network.literal:.0f}, library "
        f"{network.library:.0f}, {network.standard_errors:.1f} standard errors apart (asked: two).",
    ]
    return notes, {"peak_memory_mb": memory, "same_pairs": same.pairs, "theta": same.theta}


def _machine() -> str:
    cores, python = numba.get_num_threads(), platform.python_version()
    return f"{platform.machine()}, {cores} cores, Python {python}, NumPy {np.__version__}"


def _text(rows: list[Row], notes: list[str]) -> str:
    """A table for a page, and what stands below it."""
    head = "| work | against | asked | measured | spread | ours | theirs |\n|---|---|---|---|---|---|---|\n"
    lines = [
        f"| {r.work} | {r.against} | {r.asked} | {r.ratio:.3g}× | {r.low:.3g} to {r.high:.3g} "
        f"| {r.ours} | {r.theirs} |\n"
        for r in rows
    ]
    return head + "".join(lines) + "\n" + "".join(f"- {note}\n" for note in notes) + f"- {_machine()}\n"


def _table(rows: list[Row]) -> Table:
    table = Table("work", "against", "asked", "measured", "spread", "ours", "theirs")
    for row in rows:
        spread = f"{row.low:.3g} to {row.high:.3g}"
        table.add_row(row.work, row.against, row.asked, f"{row.ratio:.3g}", spread, row.ours, row.theirs)
    return table


if __name__ == "__main__":
    np.seterr(over="ignore")
    main()

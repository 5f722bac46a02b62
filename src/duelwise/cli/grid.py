"""`duelwise run grid`: the attack grid, kept, worst cells first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from duelwise.cli.interrupting import interruptible
from duelwise.cli.outputs import check_writable, console, write_json
from duelwise.cli.progress import announce, progress
from duelwise.errors import require

if TYPE_CHECKING:
    from duelwise.lab.cells.codec import Plain
    from duelwise.lab.grid.grid import Grid, Ratio

KEPT = "Finished curves are kept; the same command goes on from here."


def run_grid(*, runs: int, folder: Path, json_file: Path | None = None, quiet: bool = False) -> None:
    """Play the grid and show each recipe's worst places."""
    require("pyarrow", extra="lab", purpose="Keeping curves")
    from duelwise.lab.grid.grid import ratios, read_grid
    from duelwise.lab.paper.conduct import Meter
    from duelwise.lab.sweep.forecast import Work
    from duelwise.lab.sweep.runner import Runner
    from duelwise.lab.sweep.store import CurveStore

    grid = read_grid()
    check_writable(folder)
    runner, cells = Runner(store=CurveStore(folder)), grid.cells(runs)
    work = [Work(problem=cell.problem, method=cell.method, runs=runs) for cell in cells]
    announce(work, workers=runner.workers, quiet=quiet)
    with interruptible(KEPT), progress(quiet=quiet) as hear:
        meter, absent = Meter(hear), runner.missing(cells)
        meter.expect(absent, kept=len(cells) - len(absent))
        tally = runner.run(cells, progress=meter.add)
    found = ratios(grid, runs, {cell.canonical(): runner.store.read(cell) for cell in cells})
    out = console(quiet=quiet, json=json_file)
    out.print(worst_first(grid, found))
    out.print(
        f"{tally.computed} cells played, {tally.reused} reused; kept in {folder}. "
        f"The page: python -m tools.grid_page --folder {folder} --runs {runs}",
        soft_wrap=True,
    )
    write_json(json_file, lambda: {"runs": runs, "ratios": [as_plain(one) for one in found]})


def worst_first(grid: Grid, found: Sequence[Ratio]) -> Table:
    """A line for each place, the recipes' ratios beside each other, the worst of the last first."""
    names = [row.name for row in grid.rows[1:]]
    shown = Table("place", *names, title=f"{grid.title}: regret over that of {grid.rows[0].name}")
    by_place = {(one.place.name, one.row): one for one in found}
    order = sorted(
        {one.place.name for one in found},
        key=lambda name: -max(by_place[name, row].ratio for row in names if (name, row) in by_place),
    )
    for name in order:
        shown.add_row(name, *(_cell(by_place.get((name, row))) for row in names))
    return shown


def _cell(one: Ratio | None) -> str:
    if one is None:
        return ""
    interval = "" if math.isnan(one.low) else f" [{one.low:.2f}, {one.high:.2f}]"  # one run has none
    return f"{one.ratio:.2f}{interval}"


def as_plain(one: Ratio) -> dict[str, Plain]:
    """A ratio as JSON knows it."""
    return {
        "place": one.place.name, "corner": one.place.corner, "row": one.row,
        "ratio": one.ratio, "low": one.low, "high": one.high,
    }  # fmt: skip

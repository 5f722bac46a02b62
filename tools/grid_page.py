"""Write docs/grid.md from the curves of `duelwise run grid`."""

from __future__ import annotations

import argparse
from pathlib import Path

from duelwise.lab.grid.grid import Grid, Ratio, ratios, read_grid, summaries
from duelwise.lab.sweep.store import CurveStore

HEAD = """# The attack grid

Every recipe in every place of the grid, as its regret over that of the paper's preset in the same runs
({runs} fresh runs each, two different candidates in every duel, 95 % intervals). A place is one change to a
base: lies first (C = 25), strategic delay (Λ = 10,000), T = 2000, φ̂ a spline. The grid stands in
`duelwise/lab/grid/grid.toml`.

    duelwise run grid --runs {runs}
    python -m tools.grid_page --runs {runs}
"""


def page(grid: Grid, found: list[Ratio], runs: int) -> str:
    """The whole page."""
    parts = [HEAD.format(runs=runs), "\n## In one line each\n\n", SUMMARY_HEAD]
    for one in summaries(found):
        parts.append(
            f"| {one.row} | {one.bases:.2f} | {one.no_lies:.2f} "
            f"| {one.worst.ratio:.2f} ({one.worst.place.name}) "
            f"| {one.worst_corner.ratio:.2f} ({one.worst_corner.place.name}) |\n"
        )
    for row in grid.rows[1:]:
        own = sorted((one for one in found if one.row == row.name), key=lambda one: -one.ratio)
        parts.append(f"\n## {row.name}, worst first\n\n| place | ratio | 95 % |\n|---|---|---|\n")
        for one in own:
            name = f"{one.place.name}{' (corner)' if one.place.corner else ''}"
            parts.append(f"| {name} | {one.ratio:.2f} | {one.low:.2f} to {one.high:.2f} |\n")
    return "".join(parts)


SUMMARY_HEAD = """| recipe | the paper's eight, mean | without lies, mean | worst place | worst corner |
|---|---|---|---|---|
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("results"))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--page", type=Path, default=Path("docs/grid.md"))
    given = parser.parse_args()
    grid, store = read_grid(), CurveStore(given.folder)
    curves = {cell.canonical(): store.read(cell) for cell in grid.cells(given.runs)}
    given.page.write_text(page(grid, ratios(grid, given.runs, curves), given.runs), encoding="utf-8")


if __name__ == "__main__":
    main()

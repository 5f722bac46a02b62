"""The attack grid as data: its cells, played by a runner, and each recipe's ratio to the first.

The file grid.toml names bases, changes and rows; a place of the grid is a change to a base.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from duelwise.lab.cells.codec import Plain, Table, decode, table_at
from duelwise.lab.cells.experiment import Cell, Method
from duelwise.lab.cells.playing import Curve
from duelwise.lab.cells.problem import Problem, decode_problem
from duelwise.types import Array

PARTS = ("world", "delay", "corruption", "contexts")
AS_IT_IS = "as it is"
NORMAL_95 = 1.959964


@dataclass(frozen=True, kw_only=True)
class Place:
    """One cell of the grid, without saying who plays it."""

    base: str
    change: str
    problem: Problem
    corner: bool

    @property
    def name(self) -> str:
        return f"{self.base}: {self.change}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A recipe of the grid."""

    name: str
    method: Method
    bases_only: bool = False

    def plays(self, place: Place) -> bool:
        """Whether the recipe is played there."""
        return not self.bases_only or place.change == AS_IT_IS


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Places and rows."""

    title: str
    places: tuple[Place, ...]
    rows: tuple[Row, ...]

    def cell(self, place: Place, row: Row, runs: int) -> Cell:
        """One recipe at one place."""
        return Cell(problem=place.problem, method=row.method, runs=tuple(range(runs)))

    def cells(self, runs: int) -> list[Cell]:
        """All of it."""
        return [self.cell(place, row, runs) for place in self.places for row in self.rows if row.plays(place)]


class Ratio(NamedTuple):
    """A recipe's mean regret over the first row's in the same runs, with a 95 % interval."""

    place: Place
    row: str
    ratio: float
    low: float
    high: float


def read_grid() -> Grid:
    """The grid of the package."""
    return decode_grid(
        tomllib.loads(files("duelwise.lab.grid").joinpath("grid.toml").read_text(encoding="utf-8"))
    )


def decode_grid(table: Table) -> Grid:
    """The grid that tables describe."""
    horizon, seed = _whole(table["horizon"]), _whole(table["seed"])
    bases, changes = table_at(table["base"], "base"), table_at(table["change"], "change")
    places: list[Place] = []
    for base, parts in bases.items():
        for change, replaced in changes.items():
            new = table_at(replaced, f"change.{change}")
            if base in _names(new.get("only", list(bases))):
                problem = decode_problem(
                    _changed(table_at(parts, f"base.{base}"), new), horizon=horizon, seed=seed
                )
                corner = bool(new.get("corner", False))
                places.append(Place(base=base, change=change, problem=problem, corner=corner))
    rows = tuple(
        _row(name, table_at(row, f"row.{name}")) for name, row in table_at(table["row"], "row").items()
    )
    return Grid(title=str(table["title"]), places=tuple(places), rows=rows)


def _changed(base: Table, new: Table) -> Table:
    """A base's parts with those of a change in their place; `size` changes single entries of the world."""
    parts: dict[str, Plain] = {name: part for name in PARTS if (part := new.get(name, base.get(name)))}
    world = {**table_at(parts["world"], "world"), **table_at(new.get("size", {}), "size")}
    return {**parts, "world": world}


def _row(name: str, table: Table) -> Row:
    own = {key: value for key, value in table.items() if key != "bases_only"}
    method = decode({"post_serving": "spline", "distinct_pair": True, **own}, Method, where=f"row.{name}")
    return Row(name=name, method=method, bases_only=bool(table.get("bases_only", False)))


def ratios(grid: Grid, runs: int, curve_of: Mapping[str, Curve]) -> list[Ratio]:
    """Every recipe against the first, where it was played; curves by the cell's canonical text."""
    found: list[Ratio] = []
    first = grid.rows[0]
    for place in grid.places:
        below = curve_of[grid.cell(place, first, runs).canonical()].distinct_regret
        for row in grid.rows[1:]:
            if row.plays(place):
                above = curve_of[grid.cell(place, row, runs).canonical()].distinct_regret
                found.append(Ratio(place, row.name, *ratio_of_means(above, below)))
    return found


def ratio_of_means(above: Array, below: Array) -> tuple[float, float, float]:
    """mean(above)/mean(below) of paired runs (R,), with a 95 % interval by the delta method."""
    ratio = float(above.mean() / below.mean())
    if len(above) < 2:
        return ratio, math.nan, math.nan
    rest = above - ratio * below
    error = float(rest.std(ddof=1) / math.sqrt(len(rest)) / abs(below.mean()))
    return ratio, ratio - NORMAL_95 * error, ratio + NORMAL_95 * error


class Summary(NamedTuple):
    """A recipe over the whole grid: means of its ratios, and the worst of them."""

    row: str
    bases: float  # as it is, and with stochastic delays, lies first: the paper's settings
    no_lies: float
    worst: Ratio
    worst_corner: Ratio


def summaries(found: Sequence[Ratio]) -> list[Summary]:
    """One for each recipe that was played everywhere."""
    out: list[Summary] = []
    for name in dict.fromkeys(one.row for one in found):
        own = [one for one in found if one.row == name]
        plain, corners = [o for o in own if not o.place.corner], [o for o in own if o.place.corner]
        if corners:
            papers = [o.ratio for o in plain if _is_published(o.place.change)]
            honest = [o.ratio for o in own if "no lies" in o.place.change]
            out.append(
                Summary(
                    name, float(np.mean(papers)), float(np.mean(honest)),
                    max(plain, key=lambda o: o.ratio), max(corners, key=lambda o: o.ratio),
                )
            )  # fmt: skip
    return out


def _is_published(change: str) -> bool:
    """Whether a change is one of the paper's eight settings."""
    return change.removesuffix(", stochastic delay") in (AS_IT_IS, "polynomial", "sinusoidal") or (
        change == "stochastic delay"
    )


def _whole(value: Plain) -> int:
    assert isinstance(value, int)
    return value


def _names(value: Plain) -> list[str]:
    assert isinstance(value, Sequence)
    return [str(one) for one in value]

"""The attack grid: its places and rows from tables, and recipes' ratios in numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from small import made_up

from duelwise.cli.grid import worst_first
from duelwise.lab.cells.problem import Synthetic
from duelwise.lab.grid.grid import (
    AS_IT_IS,
    Place,
    Ratio,
    decode_grid,
    ratio_of_means,
    ratios,
    read_grid,
    summaries,
)
from duelwise.lab.play.delays import GaussianDelay, NoDelay

TABLE = {
    "title": "A small grid",
    "horizon": 50,
    "seed": 3,
    "base": {
        "plain": {"world": {"kind": "synthetic", "context_dim": 3}},
        "large": {"world": {"kind": "synthetic", "context_dim": 5}},
    },
    "change": {
        AS_IT_IS: {},
        "stochastic delay": {"delay": {"kind": "stochastic", "mean": 5.0, "std": 1.0}, "only": ["plain"]},
        "few arms, no lies": {"size": {"arms": 2}, "corner": True},
    },
    "row": {
        "own": {"name": "rcdb"},
        "other": {"name": "colstim", "post_serving": "none", "distinct_pair": False},
        "sometimes": {"name": "max-inp", "bases_only": True},
    },
}
GRID = decode_grid(TABLE)


def test_a_place_is_a_change_to_a_base() -> None:
    assert [place.name for place in GRID.places] == [
        "plain: as it is",
        "plain: stochastic delay",
        "plain: few arms, no lies",
        "large: as it is",
        "large: few arms, no lies",
    ]
    assert [place.corner for place in GRID.places] == [False, False, True, False, True]
    plain, late, few = (place.problem for place in GRID.places[:3])
    assert (plain.world, plain.delay) == (Synthetic(context_dim=3), NoDelay())
    assert (plain.horizon, plain.seed) == (50, 3)
    assert late == replace(plain, delay=GaussianDelay(mean=5.0, std=1.0))
    assert few == replace(plain, world=Synthetic(context_dim=3, arms=2))


def test_a_row_is_a_recipe_that_learns_and_shows_different_pairs_unless_it_says_otherwise() -> None:
    own, other, sometimes = GRID.rows
    assert (own.method.post_serving, own.method.distinct_pair) == ("spline", True)
    assert (other.method.post_serving, other.method.distinct_pair) == ("none", False)
    assert [sometimes.plays(place) for place in GRID.places] == [True, False, False, True, False]
    cells = GRID.cells(4)
    assert len(cells) == 2 * 5 + 2
    assert {cell.runs for cell in cells} == {(0, 1, 2, 3)}


def test_the_grid_of_the_package_is_played_by_its_first_row_everywhere() -> None:
    grid = read_grid()
    assert not grid.rows[0].bases_only
    assert len({place.name for place in grid.places}) == len(grid.places) > 20
    assert any(place.corner for place in grid.places)


def test_a_ratio_of_means_with_its_interval() -> None:
    """Means 6 and 4; the rests 4 - 1.5·2, 8 - 1.5·6 and 6 - 1.5·4 are 1, -1 and 0."""
    ratio, low, high = ratio_of_means(np.array([4.0, 8.0, 6.0]), np.array([2.0, 6.0, 4.0]))
    error = 1.959964 * 1.0 / math.sqrt(3) / 4.0
    assert (ratio, low, high) == pytest.approx((1.5, 1.5 - error, 1.5 + error))
    alone = ratio_of_means(np.array([3.0]), np.array([2.0]))
    assert alone[0] == 1.5
    assert math.isnan(alone[1])
    assert math.isnan(alone[2])


def test_ratios_are_those_to_the_first_row_in_the_same_place() -> None:
    curve = made_up({("1", "Strategic", "rcdb"): [1.0, 2.0]}).lines[0].curve
    regret = {"rcdb": np.array([2.0, 4.0]), "colstim": np.array([3.0, 6.0]), "max-inp": np.array([1.0, 2.0])}
    curves = {
        cell.canonical(): replace(curve, cell=cell, distinct_regret=regret[cell.method.name])
        for cell in GRID.cells(2)
    }
    found = ratios(GRID, 2, curves)
    assert [(one.place.name, one.row, one.ratio) for one in found[:3]] == [
        ("plain: as it is", "other", 1.5),
        ("plain: as it is", "sometimes", 0.5),
        ("plain: stochastic delay", "other", 1.5),
    ]
    assert len(found) == 5 + 2


def test_a_summary_has_the_papers_settings_honest_voters_and_the_worst() -> None:
    def ratio(change: str, value: float, *, corner: bool = False, row: str = "steady") -> Ratio:
        place = Place(base="plain", change=change, problem=GRID.places[0].problem, corner=corner)
        return Ratio(place, row, value, value, value)

    found = [
        ratio(AS_IT_IS, 1.0), ratio("stochastic delay", 2.0), ratio("polynomial, stochastic delay", 3.0),
        ratio("sinusoidal", 4.0), ratio("no lies", 0.5), ratio("lies last", 9.0),
        ratio("no lies, far", 1.5, corner=True), ratio("far", 7.0, corner=True),
        ratio(AS_IT_IS, 99.0, row="bases only"),
    ]  # fmt: skip
    (summary,) = summaries(found)
    assert (summary.row, summary.bases, summary.no_lies) == ("steady", 2.5, 1.0)
    assert summary.worst.place.change == "lies last"
    assert summary.worst_corner.place.change == "far"


def test_one_run_is_told_of_without_an_interval() -> None:
    place, row = GRID.places[0], GRID.rows[1].name
    lone = worst_first(GRID, [Ratio(place, row, 1.5, math.nan, math.nan)])
    both = worst_first(GRID, [Ratio(place, row, 1.5, 1.25, 1.75)])
    assert [list(shown.columns[1].cells) for shown in (lone, both)] == [["1.50"], ["1.50 [1.25, 1.75]"]]

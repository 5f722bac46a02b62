"""Experiments small enough for a test, and results made up to test what is counted from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from duelwise.lab.cells.experiment import Cell, Method
from duelwise.lab.cells.playing import Curve
from duelwise.lab.cells.problem import Problem, Synthetic
from duelwise.lab.paper.figures import FIGURES, Figure, Panel
from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import StrategicDelay
from duelwise.lab.report.results import PlacedCurve, Results

PROBLEM = Problem(
    world=Synthetic(context_dim=3, arms=4),
    delay=StrategicDelay(budget=100),
    corruption=StrategicCorruption(budget=3),
    horizon=40,
)


def cells(methods: tuple[str, ...] = ("rcdp-ucb", "rcdb"), *, seeds: tuple[int, ...] = (0, 1)) -> list[Cell]:
    """One cell for each method and seed."""
    return [
        Cell(problem=replace(PROBLEM, seed=seed), method=Method(name=name), runs=(0, 1, 2))
        for seed in seeds
        for name in methods
    ]


def shrunk(number: str, *, horizon: int = 30) -> Figure:
    """A figure of the paper with a short horizon."""
    figure = FIGURES[number]
    panels = tuple(replace(panel, problem=replace(panel.problem, horizon=horizon)) for panel in figure.panels)
    return replace(figure, panels=panels)


def made_up(finals: dict[tuple[str, str, str], list[float]], *, power: float = 0.5) -> Results:
    """Results with given final regrets by figure, panel title and method; curves grow as t^power."""
    return Results([_line(*place, np.array(final), power) for place, final in finals.items()])


def _line(figure: str, title: str, method: str, final: np.ndarray, power: float) -> PlacedCurve:
    panel: Panel = next(panel for panel in FIGURES[figure].panels if panel.title == title)
    runs, zeros = tuple(range(len(final))), np.zeros(len(final))
    rounds = np.arange(10, 2001, 10)
    curve = Curve(
        cell=Cell(problem=panel.problem, method=Method(name=method), runs=runs),
        rounds=rounds, regret=final[:, None] * (rounds / 2000.0) ** power, distinct_regret=final,
        self_duels=zeros, told=zeros.astype(int), flips_spent=zeros.astype(int),
        delay_spent=zeros.astype(int), recorded_share=zeros, seconds=1.0, machine="none",
    )  # fmt: skip
    return PlacedCurve(
        study="paper-spline-10", protocol="paper", post_serving="spline", figure=figure, panel=title,
        variant="as published", method=method, curve=curve,
    )  # fmt: skip

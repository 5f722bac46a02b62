"""What an experiment is when nothing is said of it: the paper's where it says, and kept curves rest on it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from duelwise import LinearWorld
from duelwise.lab.cells.problem import LateTable, Problem, Synthetic
from duelwise.lab.paper.asked import asked
from duelwise.lab.paper.protocols import FairProtocol, PaperProtocol
from duelwise.lab.paper.standings import Standing
from duelwise.lab.paper.study import Study
from duelwise.lab.play.contexts import LateContexts
from duelwise.lab.play.corruptions import LeverageCorruption, LyingRaters
from duelwise.lab.play.delays import NoDelay
from duelwise.lab.report.tables import Budgets
from duelwise.lab.sweep.runner import Runner
from duelwise.lab.sweep.store import CurveStore
from duelwise.lab.worlds.hard import BasisArms, Hypercube, UnitBall
from duelwise.lab.worlds.labelled import Labelled, Spreadsheet
from duelwise.lab.worlds.recorded import StrengthFit
from duelwise.lab.worlds.trains import TrainChoices

FILE = "choices.csv"
STORE = CurveStore(Path("results"))
PARTS = [
    (
        Synthetic(),
        Synthetic(
            mapping="none", context_dim=10, arms=10, scaling="published", parameters="drawn", noise=0.0,
            link="logistic", norm_bound=1.0,
        ),
    ),
    (
        LateTable(),
        LateTable(late="no", mean=0.0, std=0.0, missing_sides=0.0, missing_values=0.0, deadline=50),
    ),
    (LateContexts(), LateContexts(delay=NoDelay(), missing_sides=0.0, missing_values=0.0, deadline=50)),
    (LeverageCorruption(budget=9), LeverageCorruption(budget=9, threshold=0.5)),
    (LyingRaters(), LyingRaters(raters=100, liars=0.1)),
    (Hypercube(), Hypercube(dim=4, gap=0.25, link_slope=1.0)),
    (UnitBall(), UnitBall(dim=4, gap=0.125, link_slope=1.0)),
    (BasisArms(), BasisArms(dim=8, gap=0.25, link_slope=1.0)),
    (StrengthFit(), StrengthFit(ridge=1.0)),
    (TrainChoices(path=FILE), TrainChoices(path=FILE, arms=6)),
    (Labelled(name="spambase"), Labelled(name="spambase", arms=30, vote="btl")),
    (PaperProtocol(), PaperProtocol(name="paper", variants=("as published",))),
    (
        FairProtocol(),
        FairProtocol(
            name="fair", variants=("self-duels allowed", "distinct pairs"),
            widths=(0.03, 0.1, 0.3, 1.0, 3.0, 10.0), held_out=tuple(range(1000, 1010)), search_horizon=1000,
        ),
    ),
    (Budgets(), Budgets(dim=20, horizon=2000, corruption_budget=25.0, delay_budget=1e4, mean_delay=100.0)),
    (Runner(store=STORE), Runner(store=STORE, jobs=-1, cluster=None, monitors=False)),
]  # fmt: skip
CALLED: dict[Callable[..., object], dict[str, object]] = {
    Problem: {"horizon": 2000, "seed": 0},
    Study: {"variants": (), "post_serving": "spline", "runs": 10, "link": None},
    Standing: {"compiling": 0.0},
    Spreadsheet: {"arms": 10, "vote": "btl", "separator": ","},
    asked: {
        "corruption_budget": 25, "context_dim": 10, "arms": 10, "horizon": 2000, "runs": 10, "seed": 0,
        "post_serving": "spline", "link": "logistic",
    },
    LinearWorld: {
        "runs": 10, "context_dim": 10, "arms": 10, "mapping": "none", "seed": 0, "scaling": "published",
        "parameters": "drawn", "noise": 0.0, "post_dim": None, "link": "logistic", "norm_bound": 1.0,
        "context_scale": 0.1, "post_scale": 5.0,
    },
}  # fmt: skip


@pytest.mark.parametrize(("plain", "spelt_out"), PARTS, ids=lambda part: type(part).__name__)
def test_a_part_without_settings_is_the_one_that_is_documented(plain: object, spelt_out: object) -> None:
    assert plain == spelt_out


@pytest.mark.parametrize("part", CALLED, ids=lambda part: part.__name__)
def test_what_a_call_may_leave_out(part: Callable[..., object]) -> None:
    taken = inspect.signature(part).parameters
    assert {name: taken[name].default for name in CALLED[part]} == CALLED[part]

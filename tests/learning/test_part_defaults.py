"""What a part is when nothing is said of it: results rest on it, so a change is meant and noted."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest

from duelwise.learning.core.links import link_code
from duelwise.learning.estimation import FullMLE, OnePass, OneStep
from duelwise.learning.learner import GEOMETRIES, DuelingLearner
from duelwise.learning.peers.layered import Layered
from duelwise.learning.post_serving import (
    BestOf,
    Fourier,
    Neighbours,
    Neural,
    NoPostServing,
    Ridge,
    Spline,
)
from duelwise.learning.radii import delay_complexity
from duelwise.learning.recipes import Settings
from duelwise.learning.selection.built_in import MostInformative, PerturbedLeader
from duelwise.learning.weighting import Uniform
from duelwise.learning.weighting.audit import AuditedRamp
from duelwise.learning.weighting.ramps import ArrivalRamp, ServingRamp
from duelwise.learning.weighting.unknown_budgets import UnknownBudgets
from duelwise.learning.widths import ConstantWidth, ObservedWidth, TheoryWidth

PI = math.pi
PARTS = [
    (FullMLE(), FullMLE(tolerance=1e-6, most_passes=200)),
    (OnePass(), OnePass(step_size=1.0, norm_bound=math.inf)),
    (Layered(), Layered(layers=6)),
    (BestOf([Ridge()]), BestOf([Ridge(ridge=1.0)], half_life=100.0)),
    (Fourier(), Fourier(features=500, scale=2.0, ridge=1e-2)),
    (Neighbours(), Neighbours(count=10, memory=4096)),
    (Neural(), Neural(hidden=64, learning_rate=1e-3, steps=2, replay=None)),
    (Spline(), Spline(knots=13, low=-PI, high=PI, ridge=1e-3, roughness=0.1)),
    (MostInformative(), MostInformative(leader_first=True)),
    (PerturbedLeader(), PerturbedLeader(clip=5.0, share_rate=None)),
    (AuditedRamp(corruption_budget=9), AuditedRamp(corruption_budget=9, power=3.0)),
    (ServingRamp(length=9.0), ServingRamp(length=9.0, power=3.0)),
    (ArrivalRamp(), ArrivalRamp(length=100.0, power=1.0)),
    (UnknownBudgets(), UnknownBudgets(horizon=None, counts_pending=True)),
    (
        TheoryWidth(corruption_budget=9, delay=8, clip=1.0),
        TheoryWidth(
            corruption_budget=9, delay=8, clip=1.0, norm_bound=1.0, confidence=0.05, feature_bound=1.0
        ),
    ),
    (
        ObservedWidth(corruption_budget=9, clip=1.0),
        ObservedWidth(corruption_budget=9, clip=1.0, norm_bound=1.0, confidence=0.05),
    ),
]


@pytest.mark.parametrize(("plain", "spelt_out"), PARTS, ids=lambda part: type(part).__name__)
def test_a_part_without_settings_is_the_one_that_is_documented(plain: object, spelt_out: object) -> None:
    assert plain == spelt_out


def test_a_recipe_leaves_this_as_it_is() -> None:
    settings = Settings(exploration_width=0.5)
    assert {field.name: getattr(settings, field.name) for field in fields(settings)} == {
        "exploration_width": 0.5,
        "clip": math.inf,
        "curvature": 1.0,
        "regularisation": 1.0,
        "estimate": "one-step",
        "features": "predicted",
        "geometry": "arrived",
        "distinct_pair": False,
        "link": "logistic",
        "corruption_budget": 25.0,
        "delay": 100.0,
        "norm_bound": 1.0,
        "confidence": 0.05,
        "feature_bound": 1.0,
        "horizon": None,
        "ramp_votes": 100.0,
        "ramp_power": 1.0,
        "distrust_votes": 30,
        "provisional": True,
    }


def test_a_learner_without_settings_is_algorithm_1s() -> None:
    """It explores all served duels, builds Δz from y, allows a duel of one arm with itself; κ = 1/4."""
    rules = DuelingLearner(
        runs=2, context_dim=3, post_dim=0, select=MostInformative(), weigh=Uniform(), estimate=OneStep(),
        post_serving=NoPostServing(), width=ConstantWidth(value=1.0),
    ).rules  # fmt: skip
    assert (rules.geometry, rules.link) == (GEOMETRIES["served"], link_code("logistic"))
    assert (rules.observed, rules.provisional, rules.distinct) == (True, True, False)
    assert (rules.regularisation.tolist(), rules.curvature.tolist()) == ([1.0, 1.0], [0.25, 0.25])


def test_no_delay_is_no_complexity() -> None:
    assert delay_complexity() == 0.0
    assert delay_complexity(delay_budget=400.0) == 20.0
    assert delay_complexity(mean_delay=7.0) == 7.0

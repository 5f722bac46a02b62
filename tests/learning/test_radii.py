"""The constants of the theory, and the widths made of them, against literal arithmetic."""

import math
from typing import cast

import numpy as np
import pytest

from duelwise.errors import InvalidInput
from duelwise.learning import radii
from duelwise.learning.recipes import Tuning, max_pair_ucb, rcdp_ucb
from duelwise.learning.widths import ConstantWidth, ObservedWidth, TheoryWidth
from duelwise.testing.life import Life, live


def test_budgets() -> None:
    assert radii.delay_complexity(delay_budget=10_000) == 100
    assert radii.delay_complexity(delay_budget=10_000, mean_delay=120) == 120
    assert radii.pending_bound(10_000) == math.sqrt(20_000)
    assert radii.clip(16, 125) == 4 / 125
    assert radii.clip(16, 0) == math.inf


@pytest.mark.parametrize("budget", range(40))
def test_the_blind_phase_is_the_longest_the_budget_buys(budget: int) -> None:
    length = 0
    while (length + 1) * (length + 2) / 2 <= budget:
        length += 1
    assert radii.blind_phase(budget) == length


def test_the_radius_is_its_four_terms() -> None:
    for t, d, ridge in [(1, 3, 0.5), (2000, 20, 1.0)]:
        noise = 0.5 * math.sqrt(d * math.log((1 + t / (d * ridge)) / 0.05))
        assert radii.statistical_term(t, dim=d, regularisation=ridge, confidence=0.05) == pytest.approx(noise)
        for factor in (1.0, 3.0):
            literal = noise + math.sqrt(ridge) * 2.0 + 0.1 * 25 + factor * 0.1 * 100
            assert radii.radius(
                t, dim=d, regularisation=ridge, confidence=0.05, norm_bound=2.0, alpha=0.1,
                corruption_budget=25, delay=100, delay_factor=factor,
            ) == pytest.approx(literal)  # fmt: skip


def test_the_corrected_radius_is_its_four_terms() -> None:
    t, d, ridge, kappa = 500, 6, 2.0, 0.1
    noise = math.sqrt(d * math.log(1 + kappa * t * 4 / (d * ridge)) + 2 * math.log(20)) / (
        2 * math.sqrt(kappa)
    )
    place = {"dim": d, "regularisation": ridge, "curvature": kappa, "confidence": 0.05, "feature_bound": 2.0}
    assert radii.corrected_statistical_term(t, **place) == pytest.approx(noise)
    beta = radii.corrected_radius(t, **place, norm_bound=3.0, alpha=0.1, corruption_budget=5, pending=7)
    assert beta == pytest.approx(noise + math.sqrt(2) * 3 + 0.1 * 12)
    log = math.log(1000 / 0.05)
    bound = radii.stochastic_pending_bound(40.0, horizon=1000, confidence=0.05)
    assert bound == pytest.approx(40 + math.sqrt(80 * log) + log / 3)


def test_longer_features_enter_the_printed_radius_as_more_rounds() -> None:
    place = {"dim": 4, "regularisation": 1.0, "confidence": 0.1}
    long = radii.statistical_term(10, **place, feature_bound=3.0)
    assert long == pytest.approx(radii.statistical_term(90, **place))


def test_a_radius_for_each_run_is_the_radius_of_each() -> None:
    ridge, alpha = np.array([0.5, 2.0]), np.array([0.1, 0.3])

    def beta(ridge: float | np.ndarray, alpha: float | np.ndarray) -> np.ndarray:
        return radii.radius(
            7, dim=3, regularisation=ridge, confidence=0.1, norm_bound=1.0, alpha=alpha,
            corruption_budget=2, delay=5,
        )  # fmt: skip

    np.testing.assert_allclose(beta(ridge, alpha), [beta(0.5, 0.1), beta(2.0, 0.3)])


def test_the_observed_radius_is_what_the_learner_sees() -> None:
    learner = rcdp_ucb(runs=2, context_dim=3, clip=0.2, curvature=0.3, regularisation=0.7, distinct_pair=True)
    live(learner, Life([0, 1], candidates=4, context_dim=3, post_dim=0), rounds=25)
    width = ObservedWidth(corruption_budget=4.0, clip=0.2, norm_bound=1.5, confidence=0.1).at(learner.core)
    V = learner.served_geometry.matrix
    for run in range(2):
        pull = 0.0
        waiting = learner.snapshot()
        before = waiting["pending.count"][:run].sum()
        for row in range(before, before + waiting["pending.count"][run]):
            seen = waiting["pending.state"][row] == 2
            if seen and waiting["pending.heard"][row] == 0:
                dz = waiting["pending.dz"][row]
                leverage = math.sqrt(dz @ np.linalg.solve(V[run], dz))
                pull += waiting["pending.weight"][row] * leverage
        assert pull > 0
        growth = np.linalg.slogdet(V[run])[1] - 3 * math.log(0.7)
        literal = math.sqrt(growth + 2 * math.log(10)) / (2 * math.sqrt(0.3))
        literal += math.sqrt(0.7) * 1.5 + 0.2 * 4 + pull
        assert width[run] == pytest.approx(2 * literal)


def test_the_theory_width_is_twice_the_radius() -> None:
    learner = rcdp_ucb(runs=2, context_dim=3, regularisation=np.array([0.5, 2.0]))
    live(learner, Life([0, 1], candidates=4, context_dim=3, post_dim=0), rounds=9)
    width = TheoryWidth(corruption_budget=2, delay=5, clip=0.1).at(learner.core)
    for run, ridge in enumerate((0.5, 2.0)):
        assert width[run] == pytest.approx(
            2 * radii.radius(
                10, dim=3, regularisation=ridge, confidence=0.05, norm_bound=1.0, alpha=0.1,
                corruption_budget=2, delay=5,
            )
        )  # fmt: skip


def test_the_appendix_has_three_times_the_delay_and_features_longer_than_one() -> None:
    learner = rcdp_ucb(
        runs=1, context_dim=3, exploration_width="theory", clip=0.1, corruption_budget=2, delay=3 * 5,
        norm_bound=1.5, feature_bound=4.0,
    )  # fmt: skip
    live(learner, Life([0], candidates=4, context_dim=3, post_dim=0), rounds=9)
    assert learner.parts.width.at(learner.core)[0] == pytest.approx(
        2 * radii.radius(
            10, dim=3, regularisation=1.0, confidence=0.05, norm_bound=1.5, alpha=0.1,
            corruption_budget=2, delay=5, delay_factor=3.0, feature_bound=4.0,
        )
    )  # fmt: skip
    with pytest.raises(InvalidInput, match="feature_bound is 0"):
        rcdp_ucb(context_dim=3, exploration_width="theory", clip=0.1, feature_bound=0.0)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("corruption_budget", -1.0, "corruption_budget is -1.0; expected a finite number of at least 0"),
        ("delay", -0.5, "delay is -0.5"),
        ("norm_bound", math.inf, "norm_bound is inf"),
        ("confidence", 1.0, "confidence is 1.0"),
        ("clip", math.inf, "Give a finite clip"),
    ],
)
def test_a_radius_refuses_what_it_cannot_be_made_of(name: str, value: float, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        rcdp_ucb(context_dim=3, **cast("Tuning", {"exploration_width": "theory", name: value}))
    if name != "delay":  # the observed radius needs no D
        with pytest.raises(InvalidInput, match=message):
            rcdp_ucb(context_dim=3, **cast("Tuning", {"exploration_width": "data", name: value}))


def test_a_width_is_finite_and_not_negative() -> None:
    for value in (-0.1, math.nan, math.inf, np.array([0.1, -0.1])):
        with pytest.raises(InvalidInput, match="exploration_width"):
            ConstantWidth(value=value)
    with pytest.raises(InvalidInput, match="Give a finite clip"):
        max_pair_ucb(context_dim=3, exploration_width="theory")


def test_the_observed_radius_of_numbers() -> None:
    beta = radii.observed_radius(
        log_det_growth=np.array([3.0]), pending_pull=np.array([0.7]), curvature=np.array([0.25]),
        regularisation=np.array([4.0]), confidence=0.1, norm_bound=1.5, alpha=np.array([0.2]),
        corruption_budget=5.0,
    )  # fmt: skip
    assert beta.tolist() == pytest.approx([math.sqrt(3 + 2 * math.log(10)) + 2 * 1.5 + 0.2 * 5 + 0.7])

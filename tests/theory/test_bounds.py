"""Bounds against literal arithmetic, and the advice made of them."""

import math
from dataclasses import replace

import numpy as np
import pytest

from duelwise.errors import InvalidInput
from duelwise.theory.advice import advise, broken_assumptions
from duelwise.theory.bounds import (
    Sizes,
    generalised_potential_bound,
    largest_growth,
    lower_bound,
    upper_bound,
)
from duelwise.theory.links import least_slope, logistic_slope

SIZES = Sizes(context_dim=6, horizon=1000, corruption_budget=10, delay_budget=400, curvature=least_slope(1.0))


def test_the_upper_bound_is_its_terms() -> None:
    alpha = math.sqrt(6) / 30
    kappa = math.exp(-1) / (1 + math.exp(-1)) ** 2
    beta = math.sqrt(6 * math.log(1 + kappa * 1000 / 6) + 2 * math.log(20)) / (2 * math.sqrt(kappa))
    beta += 1.0 + alpha * (10 + math.sqrt(800))
    Q = 2 / kappa * 6 * math.log(1 + kappa * 1000 / 6)
    bound = upper_bound(SIZES)
    assert SIZES.radius == pytest.approx(beta)
    assert bound.statistical == pytest.approx(1.5 * beta * math.sqrt(1000 * Q))
    assert bound.clipped == pytest.approx(1.5 * beta * Q / alpha)
    assert bound.mapping == 0.0
    assert bound.total == pytest.approx(bound.statistical + bound.clipped)


def test_learning_the_map_costs_more_when_it_is_slow() -> None:
    fast = replace(SIZES, post_dim=6, learning_constant=0.1)
    slow = replace(fast, learning_rate=0.25)
    assert 0 < upper_bound(fast).mapping < upper_bound(slow).mapping


def test_without_lies_and_delays_nothing_is_clipped() -> None:
    plain = Sizes(context_dim=4)
    assert upper_bound(plain).clipped == 0.0
    assert plain.alpha == 1.0
    assert math.isfinite(plain.radius)


def test_the_lower_bound_is_its_terms() -> None:
    bound = lower_bound(replace(SIZES, mean_delay=30.0))
    assert bound.statistical == pytest.approx(6 * math.sqrt(1000) / 28)
    assert bound.corruption == pytest.approx(60 / 8)
    assert bound.adversarial == pytest.approx(27 * 0.125 * math.sqrt(6))  # 27·28/2 = 378 ≤ 400
    assert bound.stochastic == pytest.approx(30 * 0.25 * 6)


def test_hard_instances_keep_the_norm_bound() -> None:
    small = lower_bound(replace(SIZES, norm_bound=0.01))
    assert small.adversarial == pytest.approx(27 * 0.01)


def test_the_trace_bounds_the_determinant() -> None:
    random = np.random.default_rng(0)
    dz = random.standard_normal((300, 5))
    dz /= np.maximum(1.0, np.linalg.norm(dz, axis=1, keepdims=True))
    V = 0.5 * np.eye(5) + 0.2 * dz.T @ dz
    growth = np.linalg.slogdet(V)[1] - 5 * math.log(0.5)
    assert growth <= largest_growth(300, dim=5, curvature=0.2, regularisation=0.5)


def test_the_generalised_bound_needs_noise_everywhere() -> None:
    place = {"rounds": 100, "dim": 2, "feature_bound": 1.0, "noise_bound": 0.5, "confidence": 0.05}
    growth = np.array([3.0])
    share = 0.5**2 * 1.5**2 / 0.1**2
    tail = 8 * share * math.log(64 * share / 0.05)
    half = generalised_potential_bound(growth, power=0.5, least_variance=0.1, **place)
    assert half[0] == pytest.approx(math.sqrt(2 * 100 * 3) + tail)
    assert generalised_potential_bound(growth, power=1.0, least_variance=0.0, **place)[0] == math.inf


def test_the_least_slope_is_the_slope_at_the_largest_margin() -> None:
    assert least_slope(1.5, 2.0) == pytest.approx(float(logistic_slope(np.array(3.0))))


def test_advice_prices_one_more_lie_and_longer_delays() -> None:
    told = advise(SIZES)
    more = upper_bound(replace(SIZES, corruption_budget=11)).total
    assert told.one_more_lie == pytest.approx(more - told.upper.total)
    assert told.longer_delay > 0
    assert told.width == 2 * told.radius
    assert told.alpha == pytest.approx(math.sqrt(6) / 30)


def test_each_assumption_is_named_when_it_breaks() -> None:
    def told(**other: float) -> str:
        bound = other.pop("feature_bound", 1.0)
        return " ".join(broken_assumptions(replace(SIZES, horizon=10**9, **other), feature_bound=bound))

    assert told() == ""
    assert "‖Δz‖ ≤ 1 fails" in told(feature_bound=20.0)
    assert "ġ ≥ κ fails" in told(curvature=0.25)
    assert "Exactly one delay regime" in told(mean_delay=10.0)
    assert "φ̂'s error" in told(post_dim=3)
    short = " ".join(broken_assumptions(replace(SIZES, horizon=50, mean_delay=60.0)))
    assert "μ < T" in short
    assert "T ≥ max" in short
    assert "says nothing" in short


def test_negative_budgets_are_refused() -> None:
    with pytest.raises(InvalidInput, match="corruption_budget is -1"):
        advise(replace(SIZES, corruption_budget=-1))

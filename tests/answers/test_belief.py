"""The belief against exact integration, in any unit, and after a restart."""

from __future__ import annotations

import numpy as np
import pytest

from duelwise.answers import belief
from duelwise.types import Array


def votes(count: int, dim: int, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    theta, dz = rng.normal(size=dim), rng.normal(size=(count, dim))
    return theta, dz, (rng.random(count) < 1 / (1 + np.exp(-dz @ theta))).astype(float)


def learned(dz: Array, outcome: Array) -> belief.Belief:
    held = belief.belief(runs=1, dim=dz.shape[1])
    belief.learn(held, np.zeros(len(dz), dtype=np.int64), dz, outcome)
    return held


def test_one_feature_agrees_with_exact_integration() -> None:
    _, _, outcome = votes(60, 1)
    dz = np.ones((60, 1))  # then the prior's unit never moves
    held = learned(dz, outcome)
    grid = np.linspace(-6, 6, 20001)
    log_likelihood = outcome.sum() * grid - 60 * np.logaddexp(0, grid)
    for g, scale in enumerate(held.scale.tolist()):
        weight = np.exp(log_likelihood - 0.5 * (grid / scale) ** 2 + 60 * np.log(2))
        mean = (grid * weight).sum() / weight.sum()
        deviation = np.sqrt(((grid - mean) ** 2 * weight).sum() / weight.sum())
        # Filtering vote by vote is no exact integration, least of all where the first votes say much.
        assert held.mean[0, g, 0] == pytest.approx(mean, abs=(0.15 if scale < 2 else 0.6) * deviation)
        assert np.sqrt(held.covariance[0, g, 0, 0]) == pytest.approx(deviation, rel=0.1)


def test_units_do_not_matter() -> None:
    _, dz, outcome = votes(200, 3)
    unit = np.array([1.0, 1024.0, 2.0**-8])
    plain, other = belief.posterior(learned(dz, outcome), 0), belief.posterior(learned(dz * unit, outcome), 0)
    np.testing.assert_allclose(other.mean * unit, plain.mean, rtol=1e-6)
    np.testing.assert_allclose(
        other.covariance * np.outer(unit, unit), plain.covariance, rtol=1e-5, atol=1e-9
    )


def test_it_finds_the_truth_and_says_how_surely() -> None:
    theta, dz, outcome = votes(3000, 4)
    known = belief.posterior(learned(dz, outcome), 0)
    error = np.sqrt(np.diagonal(known.covariance))
    assert (np.abs(known.mean - theta) < 3 * error).all()
    assert (error < 0.12).all()


def test_runs_in_a_batch_equal_single_ones() -> None:
    _, dz, outcome = votes(50, 3)
    both = belief.belief(runs=2, dim=3)
    for i in range(50):
        belief.learn(
            both, np.array([1, 0]), np.stack([dz[i], -dz[i]]), np.array([outcome[i], 1 - outcome[i]])
        )
    alone = learned(dz, outcome)
    np.testing.assert_array_equal(both.mean[1], alone.mean[0])
    np.testing.assert_allclose(both.mean[0], alone.mean[0], rtol=1e-9)


def test_a_snapshot_goes_on_as_if_nothing_had_happened() -> None:
    _, dz, outcome = votes(80, 3)
    whole, half = learned(dz, outcome), learned(dz[:40], outcome[:40])
    restored = belief.belief(runs=1, dim=3)
    belief.restore(restored, belief.snapshot(half))
    belief.learn(restored, np.zeros(40, dtype=np.int64), dz[40:], outcome[40:])
    for name, value in belief.snapshot(whole).items():
        np.testing.assert_array_equal(getattr(restored, name), value)


def test_a_pair_of_equals_and_a_weight_of_nought_say_nothing() -> None:
    _, dz, outcome = votes(34, 3)
    held = learned(dz, outcome)
    before = belief.posterior(held, 0)
    at = np.zeros(1, dtype=np.int64)
    belief.learn(held, at, np.zeros((1, 3)), np.ones(1))
    np.testing.assert_array_equal(belief.posterior(held, 0).mean, before.mean)
    belief.learn(held, at, dz[:1], outcome[:1])
    moved = belief.posterior(held, 0).mean
    belief.learn(held, at, dz[1:2], outcome[1:2], np.zeros(1))
    np.testing.assert_allclose(belief.posterior(held, 0).mean, moved)


@pytest.mark.parametrize("pairs", ["random", "greedy"])
def test_intervals_cover(pairs: str) -> None:
    rng = np.random.default_rng(5)
    runs, dim = 200, 4
    theta = rng.normal(size=(runs, dim)) / 2
    held = belief.belief(runs=runs, dim=dim)
    at = np.arange(runs)
    for _ in range(120):
        items = rng.normal(size=(runs, 6, dim))
        first = np.zeros(runs, dtype=np.int64)
        if pairs == "greedy":
            means = np.stack([belief.posterior(held, r).mean for r in range(runs)])
            first = np.einsum("rkd,rd->rk", items, means).argmax(axis=1)
        dz = items[at, first] - items[at, (first + 1) % 6]
        outcome = (rng.random(runs) < 1 / (1 + np.exp(-(dz * theta).sum(axis=1)))).astype(float)
        belief.learn(held, at, dz, outcome)
    inside = []
    for r in range(runs):
        known = belief.posterior(held, r)
        inside.append(np.abs(known.mean - theta[r]) < 1.96 * np.sqrt(np.diagonal(known.covariance)))
    assert 0.92 < np.mean(inside) < 0.98


def test_units_hang_on_what_was_new_not_on_what_was_asked_often() -> None:
    """A stream that settles asks one pair hundreds of times."""
    _, dz, outcome = votes(512, 4)
    dz[20:] = [10.0, 0.1, 1.0, 1.0]
    unit = learned(dz, outcome).precision[0] / (4 * (dz[:20] ** 2).mean(axis=0))
    assert (unit > 1 / 4).all()
    assert (unit < 10).all()  # by the mean over all duels the first would have 100


def test_a_feature_that_differs_late_may_have_any_unit() -> None:
    _, dz, outcome = votes(6, 3)
    dz[:4, 2] = 0.0
    unit = np.array([1.0, 1.0, 1024.0])
    plain, other = belief.posterior(learned(dz, outcome), 0), belief.posterior(learned(dz * unit, outcome), 0)
    np.testing.assert_allclose(other.mean * unit, plain.mean, rtol=1e-6)
    np.testing.assert_allclose(
        other.covariance * np.outer(unit, unit), plain.covariance, rtol=1e-5, atol=1e-9
    )


def test_evidence_follows_the_units() -> None:
    """With v made larger by a step of the grid, every scale means what the one below it meant."""
    _, _, outcome = votes(60, 1)
    held = learned(np.ones((60, 1)), outcome)
    before, means = held.evidence.copy(), held.mean.copy()
    held.square_sum[:] *= belief.SCALE_STEP**2
    belief._follow_units(held, 0)
    np.testing.assert_allclose(held.evidence[0, 1:7], before[0, :6], atol=0.2)
    np.testing.assert_allclose(held.mean[0, 1:7], means[0, :6], atol=0.1)
    held.square_sum[:] /= belief.SCALE_STEP**2
    belief._follow_units(held, 0)
    np.testing.assert_allclose(held.evidence, before, rtol=1e-6)


@pytest.mark.parametrize("margin", [-9000.0, -1143.0, -60.0, 60.0, 9000.0])
@pytest.mark.parametrize("outcome", [0.0, 0.5, 1.0])
def test_a_vote_against_all_expectation_leaves_numbers_finite(margin: float, outcome: float) -> None:
    """Newton's method must reach the mode; seven nodes then find the mean to within a standard deviation."""
    q = 7.3e6
    log_chance, mean, variance = belief._tilted(margin, q, outcome, 1.0)
    assert np.isfinite([log_chance, mean, variance]).all()
    assert variance > 0
    u = np.linspace(margin - 6 * np.sqrt(q), margin + 6 * np.sqrt(q), 400_001)
    log = outcome * u - np.logaddexp(0, u) - (u - margin) ** 2 / (2 * q)
    weights = np.exp(log - log.max())
    true = float((weights * u).sum() / weights.sum())
    assert abs(mean - true) < np.sqrt(q)


def test_a_feature_that_hardly_differs_at_first_spoils_nothing() -> None:
    dz = np.array([[1e-4, 1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    answer = belief.posterior(learned(dz, np.array([1.0, 1.0, 1.0, 0.0])), 0)
    assert np.isfinite(answer.mean).all()
    assert np.isfinite(answer.covariance).all()


def tilted_literally(m: float, q: float, outcome: float, weight: float) -> tuple[float, float, float]:
    """Seven nodes about the mode, with a logarithm for every one of them."""

    def log_value(u: float) -> float:
        return weight * (outcome * u - np.logaddexp(0.0, u)) - (u - m) ** 2 / (2.0 * q)

    def sigma(u: float) -> float:
        return float(np.exp(-np.logaddexp(0.0, -u)))

    low, high = m - weight * q, m + weight * q
    for _ in range(200):
        mode = (low + high) / 2
        low, high = (mode, high) if weight * (outcome - sigma(mode)) > (mode - m) / q else (low, mode)
    mode = (low + high) / 2
    nodes, weights = np.polynomial.hermite_e.hermegauss(7)
    width = 1.0 / np.sqrt(weight * sigma(mode) * sigma(-mode) + 1.0 / q)
    at = nodes * width
    value = weights * np.exp(
        nodes**2 / 2 + np.array([log_value(mode + step) - log_value(mode) for step in at])
    )
    total = value.sum()
    first, second = (value * at).sum() / total, (value * at * at).sum() / total
    log_chance = log_value(mode) + np.log(total * width / np.sqrt(2.0 * np.pi * q))
    return log_chance, mode + first, second - first**2


@pytest.mark.parametrize("weight", [1.0, 0.3, 0.01])
@pytest.mark.parametrize("outcome", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("far", [0.1, 3.0, 60.0, 2000.0])
def test_what_a_vote_does_is_the_sum_over_nodes(far: float, outcome: float, weight: float) -> None:
    """Narrow and wide (beyond where exponentials end), believed either way."""
    for spread in (1e-3, 0.5, 4.0, 60.0, 3e4):
        for m in (-far, far):
            found = belief._tilted(m, spread**2, outcome, weight)
            log_chance, mean, variance = tilted_literally(m, spread**2, outcome, weight)
            assert found[0] == pytest.approx(log_chance, rel=1e-7, abs=1e-7)
            assert found[1] == pytest.approx(mean, rel=1e-7, abs=1e-6 * spread)
            assert found[2] == pytest.approx(variance, rel=1e-5)

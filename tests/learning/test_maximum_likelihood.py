"""The solver against literal loops, and its solutions against scipy's minimiser."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from duelwise.learning.core import links
from duelwise.learning.estimation import FullMLE, maximum_likelihood
from duelwise.learning.estimation.full_mle import ROWS, MaximumLikelihood
from duelwise.learning.estimation.maximum_likelihood import RunVotes
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.recipes import rcdp_ucb
from duelwise.randomness import generator
from duelwise.types import Array, Contexts, Duel, Votes

MEAN: dict[str, Callable[[Array], Array]] = {
    "logistic": expit,
    "probit": ndtr,
    "clipped-linear": lambda m: np.clip(m + 0.5, 0, 1),
}
POTENTIAL: dict[str, Callable[[Array], Array]] = {  # ∫ g
    "logistic": lambda m: np.logaddexp(0, m),
    "probit": lambda m: m * ndtr(m) + np.exp(-0.5 * m * m) / np.sqrt(2 * np.pi),
    "clipped-linear": lambda m: np.where(m > 0.5, m, 0.5 * np.maximum(m + 0.5, 0) ** 2),
}


def history(seed: int, n: int, d: int) -> tuple[Array, Array, Array]:
    """Δz (n, d), ω (n,), outcomes (n,) with ties."""
    random = generator(seed, "history", 0)
    dz, weight = random.standard_normal((n, d)), random.uniform(0.05, 1.0, n)
    return dz, weight, random.choice([0.0, 0.5, 1.0], n)


def told(
    dz: Array,
    outcome: Array,
    *,
    link: str = "logistic",
    ridge: float = 1.0,
    clip: float = np.inf,
    batch: int = 1,
) -> tuple[DuelingLearner, Array]:
    """A learner that was handed these duels, and the weights it learned them with."""
    learner = rcdp_ucb(
        context_dim=dz.shape[1], link=link, regularisation=ridge, clip=clip, estimate=FullMLE(tolerance=1e-9)
    )
    weight, run = np.empty(len(dz)), np.zeros(1, np.int64)
    for t in range(len(dz)):
        x = np.stack([dz[t], np.zeros_like(dz[t])])[None]
        learner.serve(Duel(t, np.array([[0, 1]]), x, np.zeros((1, 2, 0))))
        learner.observe(Contexts(run, np.array([t]), np.zeros((1, 2, 0))))
        if (t + 1) % batch == 0 or t + 1 == len(dz):
            rounds = np.arange(t - t % batch, t + 1)
            learned = learner.tell(Votes(np.zeros(len(rounds), np.int64), rounds, outcome[rounds]))
            weight[learned.round] = learned.weight
    return learner, weight


def gradient(theta: Array, dz: Array, weight: Array, outcome: Array, link: str, ridge: float) -> Array:
    total = ridge * theta
    for s in range(len(dz)):
        total = total + weight[s] * (MEAN[link](theta @ dz[s]) - outcome[s]) * dz[s]
    return total


def potential(theta: Array, dz: Array, weight: Array, outcome: Array, link: str, ridge: float) -> float:
    m = dz @ theta
    return 0.5 * ridge * float(theta @ theta) + float(np.sum(weight * (POTENTIAL[link](m) - outcome * m)))


@pytest.mark.parametrize("ridge", [1e-6, 1e-2, 1.0, 1e4])
@pytest.mark.parametrize("link", MEAN)
@given(seed=st.integers(0, 999), n=st.integers(1, 60), d=st.integers(1, 5), batch=st.integers(1, 20))
@example(seed=827, n=10, d=3, batch=5)  # went in circles under a tiny λ and the clipped link
@settings(max_examples=8)
def test_the_estimate_is_scipys_minimiser(
    link: str, ridge: float, seed: int, n: int, d: int, batch: int
) -> None:
    dz, _, outcome = history(seed, n, d)
    learner, weight = told(dz, outcome, link=link, ridge=ridge, clip=0.4 / np.sqrt(ridge), batch=batch)
    theta = learner.theta[0]
    fit = (dz, weight, outcome, link, ridge)
    assert np.linalg.norm(gradient(theta, *fit)) < 1e-6
    scipys = minimize(potential, np.zeros(d), fit, jac=gradient, method="BFGS", options={"gtol": 1e-9})
    assert potential(theta, *fit) <= potential(scipys.x, *fit) + 1e-8
    if ridge >= 1e-2:  # else the potential is too flat for the two to stop at one place
        np.testing.assert_allclose(theta, scipys.x, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("ridge", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("link", MEAN)
def test_separable_votes_are_solved(link: str, ridge: float) -> None:
    """The leader always wins: without λ the estimate would run away."""
    random = generator(1, "separable", 0)
    dz = random.standard_normal((40, 3)) + np.array([3.0, 0.0, 0.0])
    outcome = (dz @ np.array([1.0, 0.3, -0.2]) > 0).astype(float)
    learner, weight = told(dz, outcome, link=link, ridge=ridge)
    assert np.linalg.norm(gradient(learner.theta[0], dz, weight, outcome, link, ridge)) < 1e-6
    assert (((dz @ learner.theta[0]) > 0) == (outcome > 0.5)).all()


@pytest.mark.parametrize("size", [1e-4, 1e4])
@pytest.mark.parametrize("link", MEAN)
def test_tiny_and_huge_features_are_solved(link: str, size: float) -> None:
    dz, _, outcome = history(3, 50, 4)
    learner, weight = told(size * dz, outcome, link=link)
    left = np.linalg.norm(gradient(learner.theta[0], size * dz, weight, outcome, link, 1.0))
    assert left < 1e-6 * max(1.0, size)  # the limit of the arithmetic grows with the features


def test_a_tie_pulls_both_ways() -> None:
    dz = np.array([[1.0, 2.0]])
    learner, _ = told(dz, np.array([0.5]))
    np.testing.assert_array_equal(learner.theta, 0.0)
    twice, _ = told(np.repeat(dz, 2, axis=0), np.array([0.0, 1.0]))
    np.testing.assert_allclose(twice.theta, 0.0, atol=1e-9)


def test_a_self_duel_teaches_nothing() -> None:
    dz, _, outcome = history(5, 30, 3)
    learner, _ = told(dz, outcome)
    idle = np.concatenate([np.zeros((1, 3)), dz, np.zeros((2, 3))])
    padded, weight = told(idle, np.concatenate([[1.0], outcome, [0.0, 0.5]]))
    np.testing.assert_allclose(padded.theta, learner.theta, atol=1e-9)
    np.testing.assert_array_equal(weight[[0, -1]], 1.0)
    assert padded.votes[0] == 33


@given(seed=st.integers(0, 999), n=st.integers(0, 200), d=st.integers(1, 9))
@settings(max_examples=40)
def test_the_kernels_are_their_loops(seed: int, n: int, d: int) -> None:
    dz, weight, outcome = history(seed, n, d)
    theta = generator(seed, "theta", 0).standard_normal(d)
    z, work, out = np.ascontiguousarray(dz.T), np.empty((2, n)), np.empty(d)
    m = np.empty(n)
    votes = RunVotes(z, weight, outcome, n)
    maximum_likelihood.margins(z, theta, n, m)
    np.testing.assert_allclose(m, [sum(theta[j] * dz[i, j] for j in range(d)) for i in range(n)], atol=1e-12)
    for name, code in links.LINKS.items():
        length = maximum_likelihood.score(votes, theta, 0.3, code, work[0], out)
        literal = gradient(theta, dz, weight, outcome, name, 0.3)
        np.testing.assert_allclose(out, literal, atol=1e-10)
        assert length == pytest.approx(float(np.linalg.norm(literal)), abs=1e-10)
        hessian = 0.3 * np.eye(d)
        for i in range(n):
            hessian += weight[i] * links.slope(code, m[i]) * np.outer(dz[i], dz[i])
        inverse = np.empty((d, d))
        maximum_likelihood.inverse_hessian(votes, theta, 0.3, code, work, inverse)
        np.testing.assert_allclose(inverse @ hessian, np.eye(d), atol=1e-8)


@given(seed=st.integers(0, 999), d=st.integers(1, 6))
def test_a_correction_meets_the_secant_equation(seed: int, d: int) -> None:
    """H' change = step, H' symmetric; the textbook product form of BFGS."""
    random = generator(seed, "bfgs", 0)
    root = random.standard_normal((d, d))
    inverse, step = root @ root.T + np.eye(d), random.standard_normal(d)
    change = step + 0.3 * random.standard_normal(d)
    before, along = inverse.copy(), float(step @ change)
    maximum_likelihood.correct_along(inverse, step, change)
    if along <= 0:
        np.testing.assert_array_equal(inverse, before)
        return
    left = np.eye(d) - np.outer(step, change) / along
    literal = left @ before @ left.T + np.outer(step, step) / along
    np.testing.assert_allclose(inverse, literal, rtol=1e-6, atol=1e-6 * np.abs(literal).max())


def test_each_run_stops_on_its_own_gradient() -> None:
    """A hard run beside an easy one changes neither its estimate nor its passes, to the last bit."""
    dz, _, outcome = history(8, 120, 4)
    scale = np.array([1e-3, 1.0, 30.0])

    def play(scales: Array) -> tuple[Array, Array]:
        runs = len(scales)
        learner = rcdp_ucb(runs=runs, context_dim=4, clip=0.5)
        run = np.arange(runs)
        for t in range(len(dz)):
            x = np.zeros((runs, 2, 4))
            x[:, 0] = scales[:, None] * dz[t]
            learner.serve(Duel(t, np.tile([0, 1], (runs, 1)), x, np.zeros((runs, 2, 0))))
            learner.observe(Contexts(run, np.full(runs, t), np.zeros((runs, 2, 0))))
            learner.tell(Votes(run, np.full(runs, t), np.full(runs, outcome[t])))
        return learner.theta, learner.snapshot()["estimate.passes"]

    together, passes = play(scale)
    for row in range(3):
        alone, own = play(scale[row : row + 1])
        np.testing.assert_array_equal(together[row], alone[0])
        assert passes[row] == own[0]
    assert len(set(passes.tolist())) > 1


@pytest.mark.parametrize("seed", [2025, 2229, 4191, 7899, 9363, 8695, 9223, 38, 830, 1757])
def test_saturated_votes_are_solved(seed: int) -> None:
    """Huge features and a small λ, where ‖gradient‖ rises on the way to the minimum."""
    random = generator(seed, "fuzz", 0)
    n, d = int(random.integers(1, 150)), int(random.integers(1, 8))
    ridge, size = 10.0 ** random.uniform(-8, 3), 10.0 ** random.uniform(-3, 2.5)
    dz = size * random.standard_normal((n, d))
    if seed % 5 == 0:
        dz = np.round(dz)
    even = seed % 2 == 0
    outcome = (
        (dz @ random.standard_normal(d) > 0).astype(float) if even else random.choice([0.0, 0.5, 1.0], n)
    )
    link = list(MEAN)[seed % 3]
    clip, batch = 10.0 ** random.uniform(-3, 1), int(random.integers(1, 30))
    learner, weight = told(dz, outcome, link=link, ridge=ridge, clip=clip, batch=batch)
    left = np.linalg.norm(gradient(learner.theta[0], dz, weight, outcome, link, ridge))
    assert left < 1e-6 * max(1.0, size)


def started(runs: int = 2) -> MaximumLikelihood:
    each = np.ones(runs)
    return FullMLE().start(runs=runs, dim=3, link=0, regularisation=each, curvature=each)


def test_a_snapshot_holds_the_votes_there_are_and_no_room_for_more() -> None:
    estimate = started()
    assert {name: estimate.snapshot()[name].shape[-1] for name in ROWS} == dict.fromkeys(ROWS, 0)
    estimate.history.held[:] = 2, 5
    state = estimate.snapshot()
    assert state["z"].shape == (2, 3, 5)
    assert state["weight"].shape == (2, 5)
    assert started(0).snapshot()["weight"].shape == (0, 0)


def test_room_for_votes_doubles_and_a_restored_estimate_has_enough() -> None:
    estimate = started()
    assert estimate.compiled(64).weight.shape == (2, 64)
    estimate.history.held[:] = 2, 60
    assert estimate.compiled(4).weight.shape == (2, 64)
    estimate.history.weight[1, :60] = 7.0
    assert estimate.compiled(5).weight.shape == (2, 128)
    assert estimate.compiled(200).scratch.shape == (2, 2, 512)
    assert np.flatnonzero(estimate.history.weight[1]).tolist() == list(range(60))
    fresh = started()
    fresh.history.weight[:] = 9.0  # a past that restoring must wipe out
    fresh.restore(estimate.snapshot())
    assert fresh.history.weight.shape == (2, 64)
    np.testing.assert_array_equal(fresh.history.weight[1], np.repeat([7.0, 0.0], [60, 4]))

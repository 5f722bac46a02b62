"""FGTS.CDB and VACDB: against a literal program, and against posteriors that are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import root

from duelwise.errors import InvalidInput
from duelwise.learning.estimation.maximum_likelihood import RunVotes
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.peers.feel_good import FeelGoodDraws, FeelGoodEstimate, walk
from duelwise.learning.peers.layered import Layers, layered_pair
from duelwise.learning.recipes import RECIPES, recipe
from duelwise.learning.selection.rule import View
from duelwise.stream import StreamSettings
from duelwise.types import Array, Contexts, Votes

DIM, ARMS = 3, 5
PEERS = ["feel-good", "vacdb"]


def logistic(m: Array | float) -> Array:
    return 1.0 / (1.0 + np.exp(-np.asarray(m)))


def hear(learner: DuelingLearner, round: int, *outcome: float) -> None:
    """The votes on a round, one for each run."""
    run, rounds = np.arange(len(outcome)), np.full(len(outcome), round)
    learner.observe(Contexts(run, rounds, np.empty((len(outcome), 2, 0))))
    learner.tell(Votes(run, rounds, np.array(outcome)))


class LiteralVACDB:
    """The paper's algorithm line by line, with votes at once; no care for speed."""

    def __init__(self, *, width: float, kappa: float = 0.25, layers: int = 6) -> None:
        self.size = [2.0**-layer for layer in range(1, layers + 1)]
        self.sigma = [size**2 * np.eye(DIM) for size in self.size]
        self.theta = [np.zeros(DIM) for _ in self.size]
        self.votes: list[list[tuple[Array, float, float]]] = [[] for _ in self.size]
        self.width, self.kappa = width, kappa

    def apart(self, dz: Array, layer: int) -> float:
        return float(np.sqrt(dz @ np.linalg.inv(self.sigma[layer]) @ dz))

    def radius(self, layer: int) -> float:
        spread = sum(w * (o - logistic(self.theta[layer] @ dz)) ** 2 for dz, w, o in self.votes[layer])
        return self.width * 16.0 / self.kappa * self.size[layer] * (1.0 + float(np.sqrt(spread)))

    def choose(self, z: Array) -> tuple[int, int, int | None]:
        left, value = list(range(len(z))), np.zeros(len(z))
        for layer, size in enumerate(self.size):
            value = z @ self.theta[layer]
            wide = [(a, b) for b in left for a in left if a < b and self.apart(z[a] - z[b], layer) > size]
            if wide:
                first, second = max(wide, key=lambda p: value[p[0]] + value[p[1]])
                return first, second, layer
            best = max(value[k] for k in left)
            left = [k for k in left if value[k] >= best - size * self.radius(layer)]
        last = len(self.size) - 1
        pairs = [(a, b) for b in left for a in left if a <= b]
        first, second = max(
            pairs,
            key=lambda p: value[p[0]] + value[p[1]] + self.radius(last) * self.apart(z[p[0]] - z[p[1]], last),
        )
        return first, second, None

    def learn(self, dz: Array, layer: int, outcome: float) -> None:
        weight = (self.size[layer] / self.apart(dz, layer)) ** 2
        self.votes[layer].append((dz, weight, outcome))
        self.sigma[layer] += weight * np.outer(dz, dz)
        past = self.votes[layer]

        def equation(theta: Array) -> Array:
            pull = sum(w * (logistic(theta @ dz) - o) * dz for dz, w, o in past)
            return self.size[layer] ** 2 * self.kappa * theta + pull

        self.theta[layer] = root(equation, self.theta[layer], tol=1e-12).x


@pytest.mark.parametrize("width", [0.02, 1.0])
def test_vacdb_is_the_papers_line_by_line(width: float) -> None:
    rng, truth = np.random.default_rng(3), np.array([2.0, -1.0, 0.5])
    learner = recipe("vacdb")(context_dim=DIM, exploration_width=width)
    literal = LiteralVACDB(width=width)
    for t in range(250):
        z = rng.uniform(-1, 1, (ARMS, DIM))
        first, second, layer = literal.choose(z)
        duel = learner.choose(z[None])
        assert tuple(duel.arms[0]) == (first, second), t
        learner.serve(duel)
        outcome = float(rng.random() < logistic(truth @ (z[first] - z[second])))
        hear(learner, t, outcome)
        if layer is not None:
            literal.learn(z[first] - z[second], layer, outcome)
    layers = learner.estimate
    assert isinstance(layers, Layers)
    held = layers.votes.history.held
    assert [len(votes) for votes in literal.votes] == held.tolist()
    assert (held > 0).sum() >= 2
    np.testing.assert_allclose(layers.thetas[0], literal.theta, atol=1e-4)


def draws(votes: RunVotes, inverse: Array, *, start: Array, optimism: float, count: int) -> Array:
    """(count, d) by walks of twenty steps."""
    rng = np.random.default_rng(0)
    seen, other = np.array([[[1.0, 0.0], [-1.0, 0.0]]]), np.array([1])
    return np.array(
        [
            walk(votes, start, inverse, seen, other, rng.standard_normal((21, 2)), 1.0, 0, optimism, 1.0)
            for _ in range(count)
        ]
    )


def test_a_walk_without_optimism_draws_from_the_posterior() -> None:
    """A ridge and votes that say nothing: N(0, I). Many votes: the numbers of a grid integral."""
    nothing = RunVotes(np.zeros((2, 1)), np.zeros(1), np.zeros(1), 0)
    drawn = draws(nothing, np.eye(2), start=np.zeros(2), optimism=0.0, count=4000)
    np.testing.assert_allclose(drawn.mean(0), 0.0, atol=0.06)
    np.testing.assert_allclose(np.cov(drawn.T), np.eye(2), atol=0.2)  # steps of a half overshoot by 1/7
    rng = np.random.default_rng(1)
    dz = rng.normal(size=(2, 60))
    outcome = (rng.random(60) < logistic(np.array([1.0, -0.5]) @ dz)).astype(float)
    axis = np.linspace(-3, 3, 121)
    theta = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    loss = np.logaddexp(0, -(2 * outcome - 1) * (theta @ dz)).sum(1) + 0.5 * (theta**2).sum(1)
    chance = np.exp(loss.min() - loss)
    chance /= chance.sum()
    mean = chance @ theta
    covariance = (chance[:, None] * (theta - mean)).T @ (theta - mean)
    votes = RunVotes(dz, np.ones(60), outcome, 60)
    drawn = draws(votes, covariance, start=theta[np.argmin(loss)], optimism=0.0, count=4000)
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.04)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.04)


def test_optimism_favours_parameters_under_which_the_best_arm_is_far_ahead() -> None:
    """Of arms ±e₁, with the second the other's: exp(μ max(2θ₁, 0)) tilts the first coordinate alone."""
    nothing = RunVotes(np.zeros((2, 1)), np.zeros(1), np.zeros(1), 0)
    drawn = draws(nothing, np.eye(2), start=np.zeros(2), optimism=1.0, count=4000)
    axis = np.linspace(-8, 8, 4001)
    chance = np.exp(-0.5 * axis**2 + np.maximum(2 * axis, 0.0))
    expected = (axis * chance).sum() / chance.sum()
    assert expected > 1.5
    np.testing.assert_allclose(drawn.mean(0), [expected, 0.0], atol=0.15)


def test_what_feels_good_looks_back_evenly_at_what_the_other_draw_chose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two of five rounds stand for all: the first and the third, each for two and a half."""
    learner = recipe("feel-good")(context_dim=DIM, horizon=100, exploration_width=0.5)
    rule, posterior = learner.parts.select, learner.estimate
    assert isinstance(rule, FeelGoodDraws)
    assert isinstance(posterior, FeelGoodEstimate)
    rng = np.random.default_rng(6)
    offered = [rng.standard_normal((1, ARMS if t else 2, DIM)) for t in range(5)]
    for t, candidates in enumerate(offered):
        posterior.offered(candidates, np.array([[0, 1 + t % 2 * 2]]))
    walks: list[tuple[Array, ...]] = []

    def draw(*taken: Array) -> Array:
        walks.append(taken)
        return np.eye(DIM)[len(walks) - 1]

    monkeypatch.setattr("duelwise.learning.peers.feel_good.walk", draw)
    z = rng.standard_normal((1, ARMS, DIM))
    view = View(
        5, z, np.ones((1, DIM)), np.eye(DIM)[None], np.array([0.5]), False, learner.noise,
        np.zeros(1, np.int64), np.zeros(1, np.int64), posterior,
    )  # fmt: skip
    arms = replace(rule, looks_back=2).pairs(view)
    assert arms.tolist() == [[z[0, :, 0].argmax(), z[0, :, 1].argmax()]]
    for own, (_, _, _, seen, other, noise, _, _, optimism, spread) in enumerate(walks):
        np.testing.assert_array_equal(seen[1], offered[2][0])
        np.testing.assert_array_equal(seen[0, :2], offered[0][0])
        np.testing.assert_array_equal(other, [1, 1] if own == 0 else [0, 0])
        np.testing.assert_array_equal(seen[0, 2:], np.tile(offered[0][0, other[0]], (ARMS - 2, 1)))
        assert noise.shape == (11, DIM)
        assert (optimism, spread) == (pytest.approx(0.1 * 5 / 2), 0.5)
    assert (walks[0][5] != walks[1][5]).all()  # each draw has noise of its own


def test_what_feels_good_is_drawn_with_the_regularisation_of_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = recipe("feel-good")(context_dim=DIM, runs=2, regularisation=np.array([0.5, 4.0]))
    ridges: list[Array] = []

    def draw(*taken: Array) -> Array:
        ridges.append(taken[6])
        return np.zeros(DIM)

    monkeypatch.setattr("duelwise.learning.peers.feel_good.walk", draw)
    learner.choose(np.random.default_rng(6).standard_normal((2, ARMS, DIM)))
    assert ridges == [0.5, 0.5, 4.0, 4.0]


@pytest.mark.parametrize("name", PEERS)
def test_choosing_again_changes_nothing_and_a_snapshot_goes_on(name: str) -> None:
    rng = np.random.default_rng(5)
    learner, other = (recipe(name)(context_dim=DIM, runs=2, distinct_pair=True, seed=4) for _ in range(2))
    for t in range(40):
        x = rng.uniform(-1, 1, (2, ARMS, DIM))
        learner.choose(rng.uniform(-1, 1, (2, ARMS, DIM)))
        duel = learner.choose(x)
        assert (duel.arms[:, 0] != duel.arms[:, 1]).all()
        learner.serve(duel)
        if t == 20:
            other.restore(learner.snapshot())
        if t > 20:
            again = other.choose(x)
            np.testing.assert_array_equal(again.arms, duel.arms)
            other.serve(again)
        if t >= 20:
            hear(other, t, 1.0, 0.0)
        hear(learner, t, 1.0, 0.0)
    assert learner.theta.any()
    np.testing.assert_array_equal(learner.theta, other.theta)


@pytest.mark.parametrize("name", PEERS)
def test_they_are_for_the_laboratory(name: str) -> None:
    assert name in RECIPES
    with pytest.raises(InvalidInput, match=rf"'{name}' is for the laboratory.*rcdp-ucb"):
        StreamSettings(context_dim=2, recipe=name).start()
    with pytest.raises(InvalidInput, match=r"estimate of its own.*'one-pass'"):
        recipe(name)(context_dim=2, estimate="one-pass")


def test_a_rule_without_its_estimate_says_so() -> None:
    for name in PEERS:
        select = recipe(name)(context_dim=DIM).parts.select
        lost = recipe("rcdp-ucb")(context_dim=DIM, select=select)
        with pytest.raises(InvalidInput, match="Make the learner with estimate="):
            lost.choose(np.zeros((1, ARMS, DIM)))


@pytest.mark.parametrize(("width", "pair"), [(2.0, (0, 2)), (1.0, (0, 1))])
def test_where_no_layer_tells_two_apart_its_last_radius_weighs_spread_against_value(
    width: float, pair: tuple[int, int]
) -> None:
    """β = width/2: the second of value 0 at a distance of 0.1, or that of value -0.2 at 0.4."""
    z = np.array([[0.0, 0.0], [0.0, 0.1], [-0.2, np.sqrt(0.12)]])
    theta, inverse, variance = np.array([[1.0, 0.0]]), np.eye(2)[None], np.zeros(1)
    assert layered_pair(z, theta, inverse, variance, width, True) == pair

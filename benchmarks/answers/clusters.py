"""How often intervals hold the crowd's taste where raters differ in theirs; knowing the rater mends it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.answers.coverage import Z95
from benchmarks.answers.resuming import Measured, nothing_measured
from benchmarks.answers.worlds import ITEMS, linear
from duelwise.answers.belief import Posterior, belief, learn, posterior
from duelwise.answers.clustering import clustered
from duelwise.answers.raters import fit
from duelwise.types import Array

VOTES_EACH = 20
LARGE = 20_000  # votes, each of another rater, that the crowd's taste is read from


def rows(runs: int, seed: int, measured: Measured = nothing_measured) -> Iterator[dict[str, float]]:
    """A line for each number of features and raters, and how far their tastes lie apart."""
    for dim in (5, 20):
        for raters in (30, 100):
            for apart in (0.0, 0.5, 1.0):
                if not measured({"d": dim, "raters": raters, "apart": apart, "runs": runs}):
                    yield _measure(dim, raters, apart, range(seed, seed + runs))


def _measure(dim: int, raters: int, apart: float, runs: range) -> dict[str, float]:
    plain, wider = [], []
    for run in runs:
        rng = np.random.default_rng([run, dim, raters, int(10 * apart)])
        world = linear(rng, runs=1, dim=dim, scale=1 / np.sqrt(dim))
        items, taste = world.items[0], world.theta[0]
        votes = VOTES_EACH * raters
        tastes = taste + apart * rng.normal(size=(raters, dim)) / np.sqrt(dim)
        source, dz = rng.integers(raters, size=votes), random_pairs(rng, items, votes)
        outcome = (rng.random(votes) < logistic((dz * tastes[source]).sum(axis=1))).astype(np.float64)
        held = belief(runs=1, dim=dim)
        learn(held, np.zeros(votes, dtype=np.int64), dz, outcome)
        answer, truth = posterior(held, 0), _crowd(rng, items, taste, apart)
        plain.append(covered(answer, items, truth))
        wider.append(covered(clustered(answer, dz, outcome, source, raters), items, truth))
    return {
        "d": dim, "raters": raters, "apart": apart, "votes": VOTES_EACH * raters, "runs": len(runs),
        "plain": float(np.mean(plain)), "clustered": float(np.mean(wider)),
    }  # fmt: skip


def random_pairs(rng: np.random.Generator, items: Array, count: int) -> Array:
    first = rng.integers(ITEMS, size=count)
    return items[first] - items[(first + 1 + rng.integers(ITEMS - 1, size=count)) % ITEMS]


def _crowd(rng: np.random.Generator, items: Array, taste: Array, apart: float) -> Array:
    """What the votes of everybody together say: less steep than any one rater's taste."""
    dz = random_pairs(rng, items, LARGE)
    own = taste + apart * rng.normal(size=dz.shape) / np.sqrt(len(taste))
    return fit(dz, logistic((dz * own).sum(axis=1)), np.ones(LARGE), np.full(len(taste), 1e6))[0]


def covered(answer: Posterior, items: Array, truth: Array) -> float:
    """The share of utility differences whose 95 % interval holds the truth."""
    first, second = np.triu_indices(ITEMS, 1)
    apart = items[first] - items[second]
    error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", apart, answer.covariance, apart), 0.0))
    return float((np.abs(apart @ (answer.mean - truth)) <= Z95 * error).mean())


def logistic(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))

"""How often intervals hold the truth where a tenth of the raters lie, and without those that are found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.answers.clusters import covered, logistic, random_pairs
from benchmarks.answers.resuming import Measured, nothing_measured
from benchmarks.answers.worlds import linear
from duelwise.answers.belief import belief, learn, posterior
from duelwise.answers.trust import distrusted

RATERS, LIARS, VOTES = 100, 10, 2000


def rows(runs: int, seed: int, measured: Measured = nothing_measured) -> Iterator[dict[str, float]]:
    """A line for each number of features and size of utilities."""
    for dim in (5, 20):
        for scale in (1.0, 3.0):
            if not measured({"d": dim, "scale": scale, "runs": runs}):
                yield _measure(dim, scale, range(seed, seed + runs))


def _measure(dim: int, scale: float, runs: range) -> dict[str, float]:
    plain, without, found, accused = [], [], [], []
    for run in runs:
        rng = np.random.default_rng([run, dim, int(10 * scale)])
        world = linear(rng, runs=1, dim=dim, scale=scale / np.sqrt(dim))
        items, theta = world.items[0], world.theta[0]
        source, dz = rng.integers(RATERS, size=VOTES), random_pairs(rng, items, VOTES)
        honest = rng.random(VOTES) < logistic(dz @ theta)
        outcome = (honest != (source < LIARS)).astype(np.float64)
        out = distrusted(dz, outcome, source, RATERS)
        found.append(out[:LIARS].mean())
        accused.append(out[LIARS:].mean())
        for kept, shares in ((np.ones(VOTES, np.bool_), plain), (~out[source], without)):
            held = belief(runs=1, dim=dim)
            learn(held, np.zeros(int(kept.sum()), np.int64), dz[kept], outcome[kept])
            shares.append(covered(posterior(held, 0), items, theta))
    return {
        "d": dim, "scale": scale, "votes": VOTES, "runs": len(runs), "plain": float(np.mean(plain)),
        "without": float(np.mean(without)), "found": float(np.mean(found)),
        "accused": float(np.mean(accused)),
    }  # fmt: skip

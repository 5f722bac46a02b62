"""Many features, many candidates: a choice beside the matrix product of the same quadratic forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.timing import Row, compare
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.recipes import live, rcdp_ucb
from duelwise.types import Array, Contexts, Votes

SIZES = ((768, 20), (200, 50), (64, 10_000), (64, 100_000))  # features, candidates
VOTES = 120  # heard before: the default recipe shows the widest pair during the first hundred
FORMS = 20_000_000  # coordinates that one timed call goes through, at least


def rows() -> dict[str, Callable[[int], Row]]:
    """By name: `make bench` runs them all."""
    recipes = {"rcdp-ucb": partial(rcdp_ucb, estimate="one-pass"), "live": live}
    return {
        f"wide-{name}-{dim}-{arms}": partial(_row, name, make, dim, arms)
        for name, make in recipes.items()
        for dim, arms in SIZES
    }


def _row(name: str, make: Callable[..., DuelingLearner], dim: int, arms: int, repeats: int) -> Row:
    rng = np.random.default_rng(dim)
    x = rng.normal(size=(1, arms, dim)) / np.sqrt(dim)
    learner = _grown(make, dim, rng)
    inverse = np.linalg.inv(np.eye(dim) + x[0, :dim].T @ x[0, :dim])
    times = max(1, FORMS // (arms * dim))

    def ours() -> None:
        for _ in range(times):
            learner.choose(x)

    def product() -> None:
        for _ in range(times):
            _forms(x[0], inverse)

    return compare(
        f"choose, {name}, d = {dim}, K = {arms}, {times} times", "matrix product of the same forms", "≥ 0.5×",
        ours, product, repeats=repeats,
    )  # fmt: skip


def _grown(make: Callable[..., DuelingLearner], dim: int, rng: np.random.Generator) -> DuelingLearner:
    learner = make(context_dim=dim, distinct_pair=True)
    run, nothing = np.zeros(1, dtype=np.int64), np.zeros((1, 2, 0))
    for _ in range(VOTES):
        duel = learner.choose(rng.normal(size=(1, 4, dim)) / np.sqrt(dim))
        learner.serve(duel)
        round = np.array([duel.round])
        learner.observe(Contexts(run, round, nothing))
        learner.tell(Votes(run, round, np.ones(1)))
    return learner


def _forms(z: Array, inverse: Array) -> Array:
    """‖z_k - z_0‖² in the geometry of V, k = 0, …, K-1."""
    dz = z - z[0]
    return np.einsum("kd,kd->k", dz @ inverse, dz)

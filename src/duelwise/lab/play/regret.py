"""What a round cost, counted in expected utilities."""

from __future__ import annotations

import numpy as np

from duelwise.learning.core.jit import compiled
from duelwise.types import Array, IntArray


@compiled
def pair_regret(expected: Array, first: int, second: int) -> tuple[float, float]:
    """How far a pair is below the best arm served twice, and below the best two different arms.

    The paper's:      r = ½ ((u* - u_a) + (u* - u_b)),  u* = max_k u_k
    without self-duels: r = ½ (u_(1) + u_(2) - u_a - u_b),  u_(1) ≥ u_(2) the two largest

    The second is negative where a good arm was served against itself. expected (K,)
    """
    best, next_best = -np.inf, -np.inf
    for value in expected:
        if value > best:
            best, next_best = value, best
        elif value > next_best:
            next_best = value
    lost = best - expected[first]
    return 0.5 * (lost + (best - expected[second])), 0.5 * (lost + (next_best - expected[second]))


@compiled
def regrets(expected: Array, arms: IntArray) -> tuple[Array, Array]:
    """`pair_regret` of every run: expected (R, K), arms (R, 2) → (R,), (R,)."""
    twice, distinct = np.empty(len(arms)), np.empty(len(arms))
    for r in range(len(arms)):
        twice[r], distinct[r] = pair_regret(expected[r], arms[r, 0], arms[r, 1])
    return twice, distinct

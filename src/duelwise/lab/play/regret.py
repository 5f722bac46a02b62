"""What a round cost, counted in expected utilities."""

from __future__ import annotations

import numpy as np

from duelwise.learning.compiled import compiled
from duelwise.types import Array, IntArray


@compiled
def regret(expected: Array, arms: IntArray) -> Array:
    """The paper's regret: how far the pair is below the best arm served twice.

    r = ½ ((u* - u_a) + (u* - u_b)),  u* = max_k u_k

    expected (R, K), arms (R, 2) → (R,)
    """
    cost = np.empty(len(arms))
    for r in range(len(arms)):
        best = expected[r].max()
        cost[r] = 0.5 * ((best - expected[r, arms[r, 0]]) + (best - expected[r, arms[r, 1]]))
    return cost


@compiled
def distinct_regret(expected: Array, arms: IntArray) -> Array:
    """How far the pair is below the best two different arms: what can be avoided without self-duels.

    r = ½ (u_(1) + u_(2) - u_a - u_b),  u_(1) ≥ u_(2) the two largest

    Negative where a good arm was served against itself. expected (R, K), arms (R, 2) → (R,)
    """
    cost = np.empty(len(arms))
    for r in range(len(arms)):
        best, second = -np.inf, -np.inf
        for u in expected[r]:
            if u > best:
                best, second = u, best
            elif u > second:
                second = u
        cost[r] = 0.5 * ((best - expected[r, arms[r, 0]]) + (second - expected[r, arms[r, 1]]))
    return cost

"""The built-in selection rules by code, and the compiled loop over runs that applies one."""

from __future__ import annotations

import numpy as np

from duelwise.learning.compiled import compiled
from duelwise.learning.equations import (
    first_arm,
    informative_arm,
    informative_pair,
    joint_pair,
    perturbed_arm,
    second_arm,
)
from duelwise.types import Array, IntArray

LEADER_CHALLENGER, JOINT, INFORMATIVE_ARM, INFORMATIVE_PAIR, PERTURBED = 0, 1, 2, 3, 4


@compiled
def pair_of(
    rule: int, z: Array, theta: Array, inverse: Array, width: float, distinct: bool, noise: Array
) -> tuple[int, int]:
    """The pair of one run: z (K, d), theta (d,), inverse (d, d), noise (K,) for PERTURBED."""
    if rule == JOINT:
        return joint_pair(z, theta, inverse, width, distinct)
    if rule == INFORMATIVE_PAIR:
        return informative_pair(z, theta, inverse, width, distinct)
    first = perturbed_arm(z, theta, inverse, noise) if rule == PERTURBED else first_arm(z, theta)
    if rule == INFORMATIVE_ARM:
        return first, informative_arm(z, theta, inverse, first, width)
    return first, second_arm(z, theta, inverse, first, width, distinct)


@compiled
def pairs(
    rule: int, z: Array, theta: Array, inverse: Array, width: Array, distinct: bool, noise: Array
) -> IntArray:
    """z (R, K, d), theta (R, d), inverse (R, d, d), width (R,), noise (R, K) → (R, 2)."""
    arms = np.empty((z.shape[0], 2), dtype=np.int64)
    for r in range(z.shape[0]):
        arms[r] = pair_of(rule, z[r], theta[r], inverse[r], width[r], distinct, noise[r])
    return arms

"""Compiled loops over runs that apply a selection equation to each."""

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

# In all: z (R, K, d), theta (R, d), inverse (R, d, d), width (R,) → (R, 2).


@compiled
def leader_challenger(z: Array, theta: Array, inverse: Array, width: Array, distinct: bool) -> IntArray:
    arms = np.empty((z.shape[0], 2), dtype=np.int64)
    for r in range(z.shape[0]):
        arms[r, 0] = first_arm(z[r], theta[r])
        arms[r, 1] = second_arm(z[r], theta[r], inverse[r], arms[r, 0], width[r], distinct)
    return arms


@compiled
def joint_ucb(z: Array, theta: Array, inverse: Array, width: Array, distinct: bool) -> IntArray:
    arms = np.empty((z.shape[0], 2), dtype=np.int64)
    for r in range(z.shape[0]):
        arms[r, 0], arms[r, 1] = joint_pair(z[r], theta[r], inverse[r], width[r], distinct)
    return arms


@compiled
def most_informative(
    z: Array, theta: Array, inverse: Array, width: Array, distinct: bool, leader_first: bool
) -> IntArray:
    arms = np.empty((z.shape[0], 2), dtype=np.int64)
    for r in range(z.shape[0]):
        if leader_first:
            arms[r, 0] = first_arm(z[r], theta[r])
            arms[r, 1] = informative_arm(z[r], theta[r], inverse[r], arms[r, 0], width[r])
        else:
            arms[r, 0], arms[r, 1] = informative_pair(z[r], theta[r], inverse[r], width[r], distinct)
    return arms


@compiled
def perturbed_leader(
    z: Array, theta: Array, inverse: Array, width: Array, distinct: bool, noise: Array
) -> IntArray:
    arms = np.empty((z.shape[0], 2), dtype=np.int64)
    for r in range(z.shape[0]):
        arms[r, 0] = perturbed_arm(z[r], theta[r], inverse[r], noise[r])
        arms[r, 1] = second_arm(z[r], theta[r], inverse[r], arms[r, 0], width[r], distinct)
    return arms

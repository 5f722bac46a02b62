"""How far the utilities of many items lie above that of one place, and how sure that is, in one pass.

    Δ_k = z_k - c:   ⟨Θ̂, Δ_k⟩,  Δ_kᵀPΔ_k,  Δ_kᵀP₀Δ_k        P₀ the prior's, diagonal

A hundred thousand rows are taken some hundreds at a time, so that Δ and ΔP stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from duelwise.answers.belief import Posterior
from duelwise.learning.core.jit import compiled
from duelwise.types import Array

ROWS = 512  # at a time


class UtilityDifferences(NamedTuple):
    """Every array is (K,)."""

    above: Array  # utility above the place
    variance: Array
    before: Array  # the same variance before any vote


def differences_from(answer: Posterior, z: Array, place: Array) -> UtilityDifferences:
    """Items z (K, d) from a place (d,)."""
    return UtilityDifferences(
        *_differences(
            np.ascontiguousarray(z), place, answer.mean, np.ascontiguousarray(answer.covariance),
            answer.prior_variance,
        )
    )  # fmt: skip


def held_equal(answer: Posterior, columns: Sequence[int]) -> Posterior:
    """As if all items were alike in these features: they have no part in any utility, nor in its spread."""
    if not columns:
        return answer
    at = list(columns)
    mean, covariance, prior = answer.mean.copy(), answer.covariance.copy(), answer.prior_variance.copy()
    mean[at] = prior[at] = covariance[at] = covariance[:, at] = 0.0
    return answer._replace(mean=mean, covariance=covariance, prior_variance=prior)


@compiled
def _differences(
    z: Array, place: Array, theta: Array, covariance: Array, prior: Array
) -> tuple[Array, Array, Array]:
    count, d = z.shape
    above, variance, before = np.empty(count), np.empty(count), np.empty(count)
    rows = min(ROWS, count)
    apart, pulled = np.empty((rows, d)), np.empty((rows, d))
    for start in range(0, count, rows):
        n = min(rows, count - start)
        for i in range(n):
            for j in range(d):
                apart[i, j] = z[start + i, j] - place[j]
        np.dot(apart[:n], covariance, pulled[:n])
        for i in range(n):
            value, square, first = 0.0, 0.0, 0.0
            for j in range(d):
                value += theta[j] * apart[i, j]
                square += pulled[i, j] * apart[i, j]
                first += prior[j] * apart[i, j] * apart[i, j]
            above[start + i], variance[start + i], before[start + i] = value, max(square, 0.0), first
    return above, variance, before

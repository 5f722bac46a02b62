"""The rule for finding the best with few votes: ask what the verdict hangs on, not what serves well.

The verdict hangs on the leader a and the item b that is hardest to tell from it, in the same posterior
that `settled` reads. Of all pairs the one is asked that says most about c = z_a - z_b:

    critical pair   argmin  ⟨Θ, c⟩ / √(cᵀPc)                            a of the `top` best, b outside, c ≠ 0
    asked pair      argmax  σ̇(⟨Θ, Δz⟩) (cᵀPΔz)² / (1 + σ̇ ΔzᵀPΔz)        how much a vote lowers cᵀPc

Duels whose vote is out count as if it had come: each shrinks P by what it is expected to say, so that the
next question is another one.
"""

from __future__ import annotations

import math

import numpy as np

from duelwise.answers.belief import Belief, posterior
from duelwise.learning.core.equations import move_inverse, widths_from
from duelwise.learning.core.jit import compiled
from duelwise.types import Array, IntArray

MOST_AHEAD = 256  # duels whose vote is out that are counted; the latest ones
PAIRED = (
    64  # items whose pairs are looked at: of more, the best and those that pull most on what is in question
)


def settling_pairs(held: Belief, z: Array, out: Array, *, top: int = 1) -> IntArray:
    """(R, 2) the pairs to ask about: items z (R, K, d), Δz (R, m, d) of duels whose vote is out.

    -1 where utilities beyond all bounds leave no pair.
    """
    return _pairs(
        held, np.ascontiguousarray(z), np.ascontiguousarray(out[:, -MOST_AHEAD:]), min(top, z.shape[1] - 1)
    )


@compiled
def _pairs(held: Belief, z: Array, out: Array, top: int) -> IntArray:
    pairs = np.empty((z.shape[0], 2), dtype=np.int64)
    for r in range(z.shape[0]):
        mean, covariance, _, votes = posterior(held, r)
        _look_ahead(mean, covariance, out[r])
        pairs[r] = _pair(mean, covariance, z[r], top, votes == 0)
    return pairs


@compiled
def _look_ahead(mean: Array, covariance: Array, out: Array) -> None:
    """The covariance once the votes that are out have come, in place: Δz out (m, d)."""
    for i in range(out.shape[0]):
        p = 1.0 / (1.0 + math.exp(-np.dot(mean, out[i])))
        move_inverse(covariance, out[i], p * (1.0 - p))


@compiled
def _pair(mean: Array, covariance: Array, z: Array, top: int, tied: bool) -> IntArray:
    """The most telling pair about the critical one: z (K, d)."""
    value = np.dot(z, mean)
    leaders = _highest(value, top)
    leader, other = _critical(value, z, covariance, leaders, tied)
    # Of each item: how it would move what is in question.
    along = np.dot(z, np.dot(covariance, z[leader] - z[other]))
    chosen = _paired(value, along, leader, other)
    if chosen.shape[0] < 2:
        return np.array([-1, -1])
    first, second = _most_telling(value[chosen], z[chosen], covariance, along[chosen])
    return np.array([chosen[first], chosen[second]])


@compiled
def _paired(value: Array, along: Array, leader: int, other: int) -> IntArray:
    """The items whose pairs are looked at."""
    if value.shape[0] <= PAIRED:
        return np.flatnonzero(value == value)
    named = np.concatenate((np.array([leader, other]), _highest(value, PAIRED // 2)))
    ends = np.concatenate((_highest(along, PAIRED // 4), _highest(-along, PAIRED // 4)))
    return _without_repeats(np.concatenate((named, ends)))


@compiled
def _without_repeats(positions: IntArray) -> IntArray:
    """Each position once."""
    ordered = np.sort(positions)
    keep = np.ones(ordered.shape[0], dtype=np.bool_)
    for i in range(1, ordered.shape[0]):
        keep[i] = ordered[i] != ordered[i - 1]
    return ordered[keep]


@compiled
def _highest(value: Array, count: int) -> IntArray:
    """Positions of the highest values, highest first."""
    found = np.empty(count, dtype=np.int64)
    for n in range(count):  # few of many: a pass each is quicker than sorting all
        best = -1
        for k in range(value.shape[0]):
            if best >= 0 and value[k] <= value[best]:
                continue
            taken = False
            for m in range(n):
                taken = taken or found[m] == k
            if not taken:
                best = k
        found[n] = best
    return found


@compiled
def _critical(value: Array, z: Array, covariance: Array, leaders: IntArray, tied: bool) -> tuple[int, int]:
    """A leader and an item outside that are hardest to tell apart; before any vote the widest pair."""
    inside = np.zeros(z.shape[0], dtype=np.bool_)
    inside[leaders] = True
    least, leader, other = np.inf, 0, 1
    for a in leaders:
        spread = widths_from(z, covariance, z[a])
        for b in range(z.shape[0]):
            if inside[b] or spread[b] == 0.0:  # equal items: no vote on any pair tells them apart
                continue
            hardness = -spread[b] if tied else (value[a] - value[b]) / spread[b]
            if hardness < least:
                least, leader, other = hardness, a, b
    return leader, other


@compiled
def _most_telling(value: Array, z: Array, covariance: Array, along: Array) -> tuple[int, int]:
    """The pair among these items of highest σ̇ (cᵀPΔz)² / (1 + σ̇ ΔzᵀPΔz)."""
    gram = np.dot(np.dot(z, covariance), z.T)
    own = np.diag(gram)
    most, first, second = -1.0, 0, 1
    for a in range(z.shape[0]):
        for b in range(a + 1, z.shape[0]):
            p = 1.0 / (1.0 + math.exp(value[b] - value[a]))
            slope = p * (1.0 - p)
            gain = slope * (along[a] - along[b]) ** 2 / (1.0 + slope * (own[a] + own[b] - 2.0 * gram[a, b]))
            if gain > most:
                most, first, second = gain, a, b
    return first, second

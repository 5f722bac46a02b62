"""What a run shows of the theory's assumptions, counted duel by duel where it is asked for."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from duelwise.learning.core.jit import compiled
from duelwise.learning.core.links import slope
from duelwise.learning.core.pending import Pending
from duelwise.types import Array, IntArray

WINDOWS = 48  # of doubling length: more duels than a stream will see


class Monitors(NamedTuple):
    """Of R runs that are watched; of none where monitors are off."""

    duels: IntArray  # (R,) whose context became known
    flat: IntArray  # (R,) of them with ġ(⟨Θ̂, Δz⟩) < κ at the estimate of that time
    estimate: Array  # (R,) the largest ‖Θ̂‖²
    feature: Array  # (R,) the largest ‖z‖² of a served candidate
    error: Array  # (R, WINDOWS) Σ‖ŷ - y‖ over served candidates, window w from the 2^w-th duel on
    counted: IntArray  # (R, WINDOWS) candidates in it


def monitors(*, runs: int) -> Monitors:
    """Nothing seen yet; with runs = 0 nothing will be."""
    return Monitors(
        duels=np.zeros(runs, np.int64), flat=np.zeros(runs, np.int64), estimate=np.zeros(runs),
        feature=np.zeros(runs), error=np.zeros((runs, WINDOWS)), counted=np.zeros((runs, WINDOWS), np.int64),
    )  # fmt: skip


@compiled
def watch(
    m: Monitors, p: Pending, r: int, slot: int, imputed: bool, theta: Array, link: int, curvature: float
) -> None:
    """All of a served pair is known, or φ̂ stands in for it, and its Δz is fixed: theta (d,)."""
    if m.duels.shape[0] > 0:
        _note(m, p, r, slot, imputed, theta, slope(link, _product(theta, p.dz[r, slot])) < curvature)


@compiled
def _product(one: Array, other: Array) -> float:
    total = 0.0
    for j in range(one.shape[0]):
        total += one[j] * other[j]
    return total


@compiled
def _note(m: Monitors, p: Pending, r: int, slot: int, imputed: bool, theta: Array, is_flat: bool) -> None:
    m.duels[r] += 1
    m.flat[r] += is_flat
    m.estimate[r] = max(m.estimate[r], _product(theta, theta))
    window, first = 0, m.duels[r]
    while first > 1:
        window += 1
        first //= 2
    for side in range(2):
        x, y = p.x[r, slot, side], p.y[r, slot, side]
        m.feature[r] = max(m.feature[r], _product(x, x) + _product(y, y))
        if y.shape[0] > 0 and not imputed:
            apart = 0.0
            for j in range(y.shape[0]):
                miss = y[j] - p.predicted[r, slot, side, j]
                apart += miss * miss
            m.error[r, window] += math.sqrt(apart)
            m.counted[r, window] += 1

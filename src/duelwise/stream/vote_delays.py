"""How long votes take, counted in bins that grow with the delay."""

from __future__ import annotations

import math

import numpy as np

from duelwise.types import Array, IntArray

DELAY_FLOOR = 1e-3  # seconds; shorter delays fall into the first bin
DELAY_BINS_PER_DOUBLING = 4
DELAY_BINS = 160  # up to 2^40 ms, 35 years
NEAR_AN_EDGE = 1e-6  # of a bin's width


def delay_bin(seconds: float) -> int:
    """The bin of one delay."""
    if seconds <= DELAY_FLOOR:
        return 0
    return min(int(math.log2(seconds / DELAY_FLOOR) * DELAY_BINS_PER_DOUBLING), DELAY_BINS - 1)


def delay_bins(seconds: Array) -> IntArray:
    """The bins of many (n,), each as if alone: near an edge, where the last bit decides, one by one."""
    doublings = np.log2(np.maximum(seconds, DELAY_FLOOR) / DELAY_FLOOR) * DELAY_BINS_PER_DOUBLING
    bins = np.minimum(doublings, DELAY_BINS - 1).astype(np.int64)
    for i in np.flatnonzero(np.abs(doublings - np.rint(doublings)) < NEAR_AN_EDGE):
        bins[i] = delay_bin(float(seconds[i]))
    return bins


def delay_quantile(delays: IntArray, share: float) -> float | None:
    """The delay in seconds that this share of votes did not exceed, to within a fifth."""
    total = int(delays.sum())
    if total == 0:
        return None
    reached = int(np.searchsorted(np.cumsum(delays), share * total))
    return DELAY_FLOOR * 2.0 ** ((min(reached, DELAY_BINS - 1) + 1) / DELAY_BINS_PER_DOUBLING)

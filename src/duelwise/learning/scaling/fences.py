"""A range from what was seen: the fences of Tukey's box plot, one voice for each ask.

An ask speaks through the least and the greatest value that it offered, however many candidates it
has. A quarter of all asks may be hostile: what they offered lies beyond the quartiles.
"""

from __future__ import annotations

import numpy as np

from duelwise.types import Array

QUARTER = 0.25
WHISKER = 1.5  # Tukey's: a fence stands so many inter-quartile ranges beyond its quartile
SPARSE_WIDTH = 2.0  # of a feature that is nearly always the same, in typical departures from it
NOISE = 1e-9  # a spread this small beside the values is rounding


def fences(low: Array, high: Array) -> tuple[Array, Array]:
    """Least and greatest of n asks (n, R, d), NaN where unknown → centre, half (R, d); NaN if never seen."""
    if not len(low):
        return np.full(low.shape[1:], np.nan), np.full(low.shape[1:], np.nan)
    bottom, top = _fence(low)[0], _fence(high)[1]
    centre, half = 0.5 * bottom + 0.5 * top, 0.5 * top - 0.5 * bottom
    flat = half <= NOISE * np.maximum(np.abs(bottom), np.abs(top))
    for r, j in np.argwhere(flat).tolist():
        half[r, j] = _sparse_half(low[:, r, j], high[:, r, j], centre[r, j])
    return centre, half


def _fence(values: Array) -> tuple[Array, Array]:
    """Both fences of values (n, R, d); the quartiles lean inwards, so that a quarter of n is cut off."""
    ordered, last = np.sort(values, axis=0), np.sum(~np.isnan(values), axis=0) - 1  # NaN comes last
    unseen = last < 0
    lower = np.where(unseen, 0, np.ceil(QUARTER * last)).astype(np.int64)
    upper = np.where(unseen, 0, np.floor((1.0 - QUARTER) * last)).astype(np.int64)
    one = np.take_along_axis(ordered, lower[None], axis=0)[0]
    other = np.take_along_axis(ordered, upper[None], axis=0)[0]
    first, third = np.minimum(one, other), np.maximum(one, other)  # of two values the outer ones
    return first - WHISKER * (third - first), third + WHISKER * (third - first)


def _sparse_half(low: Array, high: Array, centre: float) -> float:
    """Nearly always the same, such as a flag that is seldom set: as wide as its departures are."""
    departure = np.fmax(np.abs(low - centre), np.abs(high - centre))
    departure = departure[departure > NOISE * max(abs(centre), 1.0)]
    return SPARSE_WIDTH * float(np.median(departure)) if len(departure) else 1.0

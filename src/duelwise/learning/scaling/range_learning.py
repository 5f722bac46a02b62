"""From what was offered and seen to ranges: anew while they are learned, a little wider afterwards.

A range reaches to the fences of Tukey's box plot. An ask speaks through the least and the greatest value
that it offered, however many candidates it has. A quarter of all asks may be hostile: what they offered
lies beyond the quartiles.
"""

from __future__ import annotations

import numpy as np

from duelwise.learning.scaling.ranges import Ranges
from duelwise.types import Array, BoolArray

QUARTER = 0.25
WHISKER = 1.5  # Tukey's: a fence stands so many inter-quartile ranges beyond its quartile
SPARSE_WIDTH = 2.0  # of a feature that is nearly always the same, in typical departures from it
NOISE = 1e-9  # a spread this small beside the values is rounding
WIDENING = 2.0  # the most by which a range is widened each time the asks have doubled
WIDEST = 8.0  # units: one duel's pull stays bounded however long a stream lives


def estimated(old: Ranges, learned: BoolArray, offers: Array, contexts: Array) -> Ranges:
    """Units and bounds of the learned features: offers (n, R, 2, dx), contexts (m, R, 2, dy).

    A feature that was never seen keeps what it had.
    """
    centre, half = _fences(offers, contexts)
    seen = learned & np.isfinite(centre)
    return old._replace(centre=np.where(seen, centre, old.centre), half=np.where(seen, half, old.half))


def widened(old: Ranges, learned: BoolArray, offers: Array, contexts: Array) -> Ranges:
    """The same units; bounds far enough for what was seen lately, but not much further than before."""
    centre, half = _fences(offers, contexts)
    needed = (np.abs(centre - old.centre) + half) / old.half
    most = np.minimum(WIDENING * old.reach, WIDEST)
    reach = np.where(learned & np.isfinite(needed), np.clip(needed, old.reach, most), old.reach)
    return old._replace(reach=reach)


def _fences(offers: Array, contexts: Array) -> tuple[Array, Array]:
    """centre, half (R, d) of x and y together."""
    of_x, of_y = fences(offers[:, :, 0], offers[:, :, 1]), fences(contexts[:, :, 0], contexts[:, :, 1])
    centre, half = (np.concatenate(both, axis=1) for both in zip(of_x, of_y, strict=True))
    return centre, half


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

"""From what was offered and seen to ranges: anew while they are learned, a little wider afterwards."""

from __future__ import annotations

import numpy as np

from duelwise.learning.scaling.fences import fences
from duelwise.learning.scaling.ranges import Ranges
from duelwise.types import Array, BoolArray

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

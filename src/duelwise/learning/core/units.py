"""Features in units of their ranges: where they lie, and a single value in them."""

from __future__ import annotations

from typing import NamedTuple

from duelwise.learning.core.jit import compiled
from duelwise.types import Array


class Units(NamedTuple):
    """Where the features of x, then those of y, lie: units and bounds."""

    centre: Array  # (1, d)
    half: Array  # (1, d)
    reach: Array  # (1, d)


@compiled
def in_units(value: float, centre: float, half: float, reach: float) -> tuple[float, bool]:
    """(value - centre) / half, within ±reach, and whether it lay beyond; NaN stays NaN."""
    unit = (value - centre) / half
    if unit > reach:
        return reach, True
    if unit < -reach:
        return -reach, True
    return unit, False

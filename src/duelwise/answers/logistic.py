"""The logistic function σ of an array."""

from __future__ import annotations

import numpy as np

from duelwise.types import Array


def logistic(x: Array) -> Array:
    """σ(x) = 1 / (1 + e⁻ˣ), beyond ±500 as there: nothing overflows."""
    return 1.0 / (1.0 + np.exp(-np.clip(x, -500, 500)))

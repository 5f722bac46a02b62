"""The link on arrays, for sums that the analysis writes down."""

from __future__ import annotations

import math

import numpy as np

from duelwise.lab.play.checks import check_number
from duelwise.types import Array


def logistic(margin: Array) -> Array:
    """g(m) = 1/(1 + e^-m)."""
    return 1.0 / (1.0 + np.exp(-np.clip(margin, -700.0, 700.0)))


def logistic_slope(margin: Array) -> Array:
    """ġ(m) = g(m)(1 - g(m))."""
    p = logistic(margin)
    return p * (1.0 - p)


def least_slope(norm_bound: float, feature_bound: float = 1.0) -> float:
    """κ = ġ(ML): the least slope of the logistic link while ‖Θ‖ ≤ M and ‖Δz‖ ≤ L."""
    check_number("norm_bound", norm_bound, least=0.0)
    check_number("feature_bound", feature_bound, least=0.0)
    tail = math.exp(-norm_bound * feature_bound)
    return tail / (1.0 + tail) ** 2

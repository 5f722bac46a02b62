"""What a simulation measured, with its 95 % interval, and whether a bound withstands it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, stdtrit

from duelwise.types import Array, BoolArray

ROUNDING = 1e-9  # what arithmetic may add to a ratio that is exactly 1
SURE = 4.0  # standard errors: an equation is doubted only beyond them, so that no seed does it by chance


class Measured(NamedTuple):
    """A statistic, its 95 % interval, the runs behind it, and what it says of a bound."""

    value: float
    low: float
    high: float
    runs: int
    kept: bool  # the bound withstands
    room: bool  # by a factor of two


def rate(violated: BoolArray, *, confidence: float) -> Measured:
    """The share of runs (R,) in which a bound failed, against the δ it may fail with.

    The interval is Clopper and Pearson's. The bound fails when even the lower limit exceeds δ.
    """
    n, k = len(violated), int(np.sum(violated))
    low = float(betaincinv(k, n - k + 1, 0.025)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0
    return Measured(k / n, low, high, n, low <= confidence, high <= confidence / 2.0)


def always(worst: Array) -> Measured:
    """An inequality that must hold on every path: worst (R,) is each run's largest share of the bound."""
    value, low, high = interval(worst)
    largest = float(worst.max())
    return Measured(value, low, high, len(worst), largest <= 1.0 + ROUNDING, max(largest, high) <= 0.5)


def at_most(values: Array, bound: float) -> Measured:
    """A mean that must not exceed a bound: values (R,)."""
    value, low, high = interval(values)
    return Measured(value, low, high, len(values), low <= bound, high <= bound / 2.0)


def at_least(values: Array, bound: float) -> Measured:
    """A mean that must reach a bound: values (R,). With room: it reaches twice the bound."""
    value, low, high = interval(values)
    return Measured(value, low, high, len(values), high >= bound, low >= 2.0 * bound)


def equal(values: Array, target: float) -> Measured:
    """A mean that must be a number: values (R,)."""
    value, low, high = interval(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Measured(value, low, high, len(values), abs(value - target) <= SURE * error + ROUNDING, False)


def interval(values: Array) -> tuple[float, float, float]:
    """Mean and 95 % t interval of (n,) values."""
    n, mean = len(values), float(np.mean(values))
    half = float(stdtrit(n - 1, 0.975)) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return mean, mean - half, mean + half


def exponents(sizes: Array, values: Array) -> Array:
    """(R,) slopes of log values on log sizes, a line for each run: sizes (n,), values (R, n)."""
    x = np.log(sizes) - np.log(sizes).mean()
    return np.log(np.maximum(values, 1e-300)) @ x / (x @ x)


def exponent_of_means(sizes: Array, values: Array, *, groups: int = 10) -> Array:
    """(groups,) slopes of the log of mean values: runs (R, n) are averaged in groups before the logarithm.

    One run's regret may be near zero, where its logarithm is nothing but noise.
    """
    means = np.stack([part.mean(axis=0) for part in np.array_split(values, groups)])
    return exponents(sizes, means)

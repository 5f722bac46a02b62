"""A range for every feature: raw values in its units, clamped to its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.types import Array, BoolArray, IntArray


class Ranges(NamedTuple):
    """Where the features of x, then those of y, lie, for R runs."""

    centre: Array  # (R, d)
    half: Array  # (R, d) half the width of a range: one unit
    reach: Array  # (R, d) values are clamped to ±reach units; 1 until a range is widened

    def part(self, start: int, stop: int) -> Ranges:
        """The ranges of some features."""
        return Ranges(*(values[:, start:stop] for values in self))

    def of(self, run: IntArray) -> Ranges:
        """The ranges of some runs: run (n,)."""
        return Ranges(*(values[run] for values in self))

    def units(self, values: Array) -> Array:
        """values (R, n, d) in units of the range, wherever they lie."""
        with np.errstate(over="ignore"):  # what overflows lies outside
            return (values - self.centre[:, None]) / self.half[:, None]

    def clamped(self, units: Array) -> Array:
        """units (R, n, d) within the bounds; NaN stays NaN."""
        reach = self.reach[:, None]
        return np.clip(units, -reach, reach)

    def scaled(self, values: Array) -> Array:
        """values (R, n, d) in units of the range and within its bounds."""
        return self.clamped(self.units(values))

    def raw(self, units: Array) -> Array:
        """units (R, n, d) back in the features' own numbers."""
        return self.centre[:, None] + self.half[:, None] * units

    def outside(self, units: Array) -> BoolArray:
        """Which of units (R, n, d) lie beyond the bounds."""
        return np.abs(units) > self.reach[:, None]


def unlimited(*, runs: int, dim: int) -> Ranges:
    """Every value as it is."""
    return Ranges(np.zeros((runs, dim)), np.ones((runs, dim)), np.full((runs, dim), np.inf))


def declared(limits: Mapping[int, tuple[float, float]], *, runs: int, dim: int) -> Ranges:
    """[low, high] of some features by position; [-1, 1] for the others."""
    centre, half = np.zeros(dim), np.ones(dim)
    for feature, (low, high) in limits.items():
        if not (0 <= feature < dim and np.isfinite(low) and np.isfinite(high) and low < high):
            raise InvalidInput(
                f"The range of feature {feature} is [{low}, {high}]; expected two finite numbers, the "
                f"smaller first, for a feature from 0 to {dim - 1}."
            )
        centre[feature], half[feature] = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    each = np.ones((runs, 1))
    return Ranges(each * centre, each * half, np.ones((runs, dim)))

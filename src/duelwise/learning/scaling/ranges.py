"""A range for every feature: raw values in its units, clamped to its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.jit import compiled_when_it_pays
from duelwise.learning.core.units import in_units
from duelwise.types import Array, IntArray


class Ranges(NamedTuple):
    """Where the features of x, then those of y, lie, for R runs."""

    centre: Array  # (R, d)
    half: Array  # (R, d) half the width of a range: one unit
    reach: Array  # (R, d) values are clamped to ±reach units; 1 until a range is widened

    def part(self, start: int, stop: int) -> Ranges:
        """The ranges of some features."""
        return Ranges(*(np.ascontiguousarray(values[:, start:stop]) for values in self))

    def of(self, run: IntArray) -> Ranges:
        """The ranges of some runs: run (n,)."""
        if len(self.centre) == len(run) == 1:  # a stream is one run
            return self
        return Ranges(*(values[run] for values in self))

    def scaled(self, values: Array) -> Array:
        """values (R, n, d) in units of the range and within its bounds; NaN stays NaN."""
        return self.measured(values)[0]

    def measured(self, values: Array) -> tuple[Array, IntArray]:
        """The same, and (R, d) how many of each feature lie beyond the bounds."""
        return _measured(np.ascontiguousarray(values), self.centre, self.half, self.reach)

    def raw(self, units: Array) -> Array:
        """units (R, n, d) back in the features' own numbers."""
        return self.centre[:, None] + self.half[:, None] * units


@compiled_when_it_pays
def _measured(values: Array, centre: Array, half: Array, reach: Array) -> tuple[Array, IntArray]:
    scaled, beyond = np.empty_like(values), np.zeros(centre.shape, dtype=np.int64)
    for r in range(values.shape[0]):
        for i in range(values.shape[1]):
            for j in range(values.shape[2]):
                unit, is_beyond = in_units(values[r, i, j], centre[r, j], half[r, j], reach[r, j])
                beyond[r, j] += 1 if is_beyond else 0
                scaled[r, i, j] = unit
    return scaled, beyond


@compiled_when_it_pays
def spread(x: Array) -> Array:
    """(R, 2, d) the least and the greatest of x (R, K, d) by feature; NaN where one is."""
    found = np.empty((x.shape[0], 2, x.shape[2]))
    for r in range(x.shape[0]):
        for j in range(x.shape[2]):
            low, high, unknown = np.inf, -np.inf, False
            for i in range(x.shape[1]):
                value = x[r, i, j]
                low, high, unknown = min(low, value), max(high, value), unknown or np.isnan(value)
            found[r, 0, j], found[r, 1, j] = (np.nan, np.nan) if unknown else (low, high)
    return found


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

"""Position bias: what being shown on the left is worth, as one more coefficient before all others.

    P(left wins) = g(⟨Θ, z_l - z_r⟩ + b)

b is the coefficient of a feature that is ½ on the left and -½ on the right, so Δz has ±1 there. A candidate
that is not shown has 0: to a choice, a ranking and a chance to win all are alike in it, and b is out of them.
φ̂ sees the side too, since what becomes known after serving may depend on it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from duelwise.types import Array, BoolArray

LEFT, RIGHT = 0.5, -0.5


class Sides(Protocol):
    """Whether a model knows sides."""

    columns: int  # that it has before the features

    def shown(self, x: Array, *, swapped: bool | BoolArray) -> Array:
        """x (..., 2, dx) of pairs on screen; `swapped` (...): the first is on the right."""
        ...

    def unshown(self, x: Array) -> Array:
        """x (..., dx) of candidates that are on no side."""
        ...


class NoSides:
    """Features alone."""

    columns = 0

    def shown(self, x: Array, *, swapped: bool | BoolArray) -> Array:
        return x

    def unshown(self, x: Array) -> Array:
        return x


class WithSides:
    """A column for the side before the features."""

    columns = 1

    def shown(self, x: Array, *, swapped: bool | BoolArray) -> Array:
        first = np.where(swapped, RIGHT, LEFT)
        return np.concatenate((np.stack((first, -first), axis=-1)[..., None], x), axis=-1)

    def unshown(self, x: Array) -> Array:
        return np.concatenate((np.zeros((*x.shape[:-1], 1)), x), axis=-1)

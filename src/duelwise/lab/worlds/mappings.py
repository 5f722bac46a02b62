"""What becomes of a context once it is served: the maps φ from x to the mean of y.

All maps here act the same way on every arm, run and round; coordinates are
x_1 … x_dx, each in [-π, π], and neighbours wrap around.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from duelwise.errors import InvalidInput, check_known
from duelwise.types import Array


@dataclass(frozen=True, kw_only=True)
class Mapping:
    """A pure function φ: (..., dx) → (..., dy), named."""

    name: str
    function: Callable[[Array], Array]
    largest: float | None = None
    """A bound on every |y_j| while |x_i| ≤ π; only the normalised scaling asks for it."""

    def __call__(self, x: Array) -> Array:
        """φ(x)  # (..., dx) → (..., dy)"""
        return self.function(x)

    def post_dim(self, context_dim: int) -> int:
        """dy, the natural size of y for a context of this size."""
        return self.function(np.zeros(context_dim)).shape[-1]


def mapping_named(mapping: str | Mapping) -> Mapping:
    """The mapping itself, or the one registered under a name."""
    if isinstance(mapping, Mapping):
        return mapping
    check_known("mapping", mapping, MAPPINGS)
    return MAPPINGS[mapping]


def bound_of(mapping: Mapping) -> float:
    """The mapping's bound on |y_j|, or an error that says how to give one."""
    if mapping.largest is None:
        raise InvalidInput(
            f"The mapping {mapping.name!r} says no bound on y, and the normalised scaling needs one "
            "to keep ‖z‖ ≤ ½. Give Mapping(largest=...): the largest |y| over contexts in [-π, π]."
        )
    return mapping.largest


def _none(x: Array) -> Array:
    return x[..., :0]


def _polynomial(x: Array) -> Array:
    return np.concatenate([x * x, np.sqrt(np.abs(x))], axis=-1)


def _sinusoidal(x: Array) -> Array:
    return np.concatenate([np.cos(x), np.sin(x)], axis=-1)


def _piecewise(x: Array) -> Array:
    return np.where(x < 0.0, -1.0, x)


def _interaction(x: Array) -> Array:
    return x * np.roll(x, -1, axis=-1)


def _linear(x: Array) -> Array:
    return 0.5 * (x + np.roll(x, -1, axis=-1))


def _bump(x: Array) -> Array:
    return np.exp(-0.5 * (x * x + np.roll(x, -1, axis=-1) ** 2))


def _rough(x: Array) -> Array:
    return sum((2.0 ** (-j / 2) * np.cos(2.0**j * x) for j in range(ROUGH_TERMS)), np.zeros_like(x))


ROUGH_TERMS = 14  # the finest wave is shorter than the distance of any two served items


MAPPINGS: dict[str, Mapping] = {
    mapping.name: mapping
    for mapping in (
        Mapping(name="none", function=_none, largest=0.0),  # no y at all: the paper's linear task
        Mapping(name="polynomial", function=_polynomial, largest=math.pi**2),  # [x², √|x|]
        Mapping(name="sinusoidal", function=_sinusoidal, largest=1.0),  # [cos x, sin x]
        Mapping(name="abs", function=np.abs, largest=math.pi),  # |x|
        Mapping(name="cosine", function=np.cos, largest=1.0),  # cos x
        Mapping(
            name="piecewise", function=_piecewise, largest=math.pi
        ),  # -1 below 0, x above: a jump, a kink
        Mapping(name="interaction", function=_interaction, largest=math.pi**2),  # x_i x_{i+1}: not additive
        Mapping(name="linear", function=_linear, largest=math.pi),  # (x_i + x_{i+1}) / 2
        Mapping(name="bump", function=_bump, largest=1.0),  # exp(-(x_i² + x_{i+1}²)/2): in a Gaussian RKHS
        Mapping(name="rough", function=_rough, largest=3.5),  # Σ 2^{-j/2} cos(2^j x): Hölder ½, no slope
    )
}

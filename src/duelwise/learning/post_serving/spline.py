"""φ̂ as a sum of piecewise linear functions, one for each coordinate of x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi
from typing import NamedTuple

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.roles import absorb, learns_parts, predict
from duelwise.learning.post_serving.kernel_model import KernelModel
from duelwise.learning.post_serving.recursive import absorb_known, expect, least_squares
from duelwise.types import Array, IntArray


class SplineState(NamedTuple):
    """Recursive least squares in hats on a grid."""

    inverse: Array  # as least squares lay A out
    coefficients: Array  # (R, p, dy)
    low: float
    high: float
    knots: int


@compiled
def hats(x: Array, low: float, high: float, knots: int) -> tuple[IntArray, Array]:
    """The two active hats of each coordinate: x (m, dx) → position, value (m, 2dx).

    The values of a coordinate sum to one. Outside [low, high] the last cell's line goes on.
    """
    m, dim = x.shape
    position = np.empty((m, 2 * dim), dtype=np.int64)
    value = np.empty((m, 2 * dim))
    per_unit = (knots - 1) / (high - low)
    for b in range(m):
        for i in range(dim):
            place = (x[b, i] - low) * per_unit
            cell = int(min(max(np.floor(place), 0.0), knots - 2.0))
            position[b, 2 * i] = i * knots + cell
            position[b, 2 * i + 1] = i * knots + cell + 1
            value[b, 2 * i] = 1.0 - (place - cell)
            value[b, 2 * i + 1] = place - cell
    return position, value


@kernel(predict, SplineState)
def predict_spline(model: SplineState, r: int, x: Array, out: Array) -> None:
    """fᵀB of every candidate."""
    position, value = hats(x, model.low, model.high, model.knots)
    expect(model.coefficients[r], position, value, out)


@kernel(absorb, SplineState)
def absorb_spline(model: SplineState, r: int, x: Array, y: Array) -> None:
    """Recursive least squares, the first of the pair before the second."""
    position, value = hats(x, model.low, model.high, model.knots)
    absorb_known(model.inverse[r], model.coefficients[r], position, value, y)


@kernel(learns_parts, SplineState)
def each_value_by_itself(model: SplineState) -> bool:
    """Least squares take what is there."""
    return True


@dataclass(frozen=True, kw_only=True)
class Spline:
    """Additive hat functions on a fixed grid, fitted by recursive least squares.

    φ̂(x) = Σ_i Σ_k B[i, k] h_k(x_i), with `knots` hats on [low, high] for each
    coordinate and straight lines beyond; the prior's precision is
    Λ = ridge·I + roughness·DᵀD, D the second differences along a coordinate.

    An additive basis suits maps that act on each coordinate by itself, as the
    paper's do. It cannot learn interactions such as x₁·x₂: take `Fourier` there.
    """

    knots: int = 13  # odd: a kink at the middle of the range, as |x| has, falls on a knot
    low: float = -pi  # the paper's contexts are uniform on [-π, π]
    high: float = pi
    ridge: float = 1e-3
    roughness: float = 0.1

    def __post_init__(self) -> None:
        if self.knots < 2 or not self.low < self.high or self.ridge <= 0 or self.roughness < 0:
            raise InvalidInput(
                f"A spline needs at least 2 knots, low < high, ridge > 0 and roughness ≥ 0; got {self}."
            )

    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> KernelModel:
        precision = np.kron(np.eye(context_dim), _roughness_prior(self)).astype(np.float64)
        fit = least_squares(runs=len(runs), precision=precision, outputs=post_dim)
        state = SplineState(fit.inverse, fit.coefficients, float(self.low), float(self.high), self.knots)
        return KernelModel(state, post_dim=post_dim)


def _roughness_prior(settings: Spline) -> Array:
    """ridge·I + roughness·DᵀD for one coordinate: (knots, knots)."""
    bends = np.diff(np.eye(settings.knots), n=2, axis=0)
    return settings.ridge * np.eye(settings.knots) + settings.roughness * bends.T @ bends

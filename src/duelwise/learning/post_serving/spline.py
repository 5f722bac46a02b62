"""φ̂ as a sum of piecewise linear functions, one for each coordinate of x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.compiled import compiled
from duelwise.learning.post_serving.recursive import RecursiveLeastSquares
from duelwise.types import Array, IntArray, Snapshot


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

    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> SplineModel:
        return SplineModel(self, len(runs), context_dim, post_dim)


class SplineModel:
    """The hats' coefficients for R runs."""

    def __init__(self, settings: Spline, runs: int, context_dim: int, post_dim: int) -> None:
        self.settings = settings
        precision = np.kron(np.eye(context_dim), _roughness_prior(settings)).astype(np.float64)
        self.fit = RecursiveLeastSquares(runs=runs, precision=precision, outputs=post_dim)

    @property
    def post_dim(self) -> int:
        return self.fit.outputs

    def predict(self, x: Array) -> Array:
        return self.fit.predict(*self._hats(x))

    def learn(self, run: IntArray, x: Array, y: Array) -> None:
        self.fit.learn(run, *self._hats(x), y)

    def snapshot(self) -> Snapshot:
        return self.fit.snapshot()

    def restore(self, state: Snapshot) -> None:
        self.fit.restore(state)

    def _hats(self, x: Array) -> tuple[IntArray, Array]:
        settings = self.settings
        return hats(np.ascontiguousarray(x), settings.low, settings.high, settings.knots)


def _roughness_prior(settings: Spline) -> Array:
    """ridge·I + roughness·DᵀD for one coordinate: (knots, knots)."""
    bends = np.diff(np.eye(settings.knots), n=2, axis=0)
    return settings.ridge * np.eye(settings.knots) + settings.roughness * bends.T @ bends


@compiled
def hats(x: Array, low: float, high: float, knots: int) -> tuple[IntArray, Array]:
    """The two active hats of each coordinate: x (n, m, dx) → position, value (n, m, 2dx).

    The values of a coordinate sum to one. Outside [low, high] the last cell's line goes on.
    """
    n, m, dim = x.shape
    position = np.empty((n, m, 2 * dim), dtype=np.int64)
    value = np.empty((n, m, 2 * dim))
    per_unit = (knots - 1) / (high - low)
    for a in range(n):
        for b in range(m):
            for i in range(dim):
                place = (x[a, b, i] - low) * per_unit
                cell = int(min(max(np.floor(place), 0.0), knots - 2.0))
                position[a, b, 2 * i] = i * knots + cell
                position[a, b, 2 * i + 1] = i * knots + cell + 1
                value[a, b, 2 * i] = 1.0 - (place - cell)
                value[a, b, 2 * i + 1] = place - cell
    return position, value

"""φ̂ in random Fourier features: smooth maps of all coordinates together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.post_serving import recursive
from duelwise.learning.post_serving.recursive import absorb_pairs, dense, expect_runs, least_squares
from duelwise.randomness import generator
from duelwise.types import Array, IntArray, Snapshot


@dataclass(frozen=True, kw_only=True)
class Fourier:
    """Random features of a Gaussian kernel, fitted by recursive least squares.

    φ̂(x) = Bᵀ[1, x, √(2/D)·cos(Ωx + b)] with rows of Ω ~ N(0, I/(dx·scale²)) and
    b ~ U[0, 2π], D = `features` (Rahimi and Recht, 2007). It costs O(D²) a pair.
    """

    features: int = 500
    scale: float = 2.0  # how far one coordinate goes before the map changes much
    ridge: float = 1e-2

    def __post_init__(self) -> None:
        if self.features < 1 or self.scale <= 0 or self.ridge <= 0:
            raise InvalidInput(
                f"Fourier features need at least 1 feature, scale > 0 and ridge > 0; got {self}."
            )

    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> FourierModel:
        return FourierModel(self, runs, context_dim, post_dim, seed)


class FourierModel:
    """The frequencies and coefficients of R runs; frequencies follow from the seed."""

    learns_parts = True

    def __init__(
        self, settings: Fourier, runs: Sequence[int], context_dim: int, post_dim: int, seed: int
    ) -> None:
        random = [generator(seed, "fourier features", run) for run in runs]
        shape = (context_dim, settings.features)
        width = settings.scale * np.sqrt(context_dim)
        self._frequency = np.stack([g.normal(size=shape) for g in random]) / width  # (R, dx, D)
        self._phase = np.stack([g.uniform(0, 2 * pi, (1, settings.features)) for g in random])  # (R, 1, D)
        precision = settings.ridge * np.eye(1 + context_dim + settings.features)
        self._fit = least_squares(runs=len(runs), precision=precision, outputs=post_dim)

    @property
    def post_dim(self) -> int:
        return self._fit.coefficients.shape[2]

    def predict(self, x: Array) -> Array:
        return expect_runs(self._fit, *dense(_waves(x, self._frequency, self._phase)))

    def learn(self, run: IntArray, x: Array, y: Array) -> None:
        if self.post_dim == 0:
            return
        if recursive.needs_separation(self._fit, y):
            self._fit = recursive.separated(self._fit, self.post_dim)
        features = _waves(x, self._frequency[run], self._phase[run])
        absorb_pairs(self._fit, run, *dense(features), np.ascontiguousarray(y))

    def snapshot(self) -> Snapshot:
        return recursive.snapshot(self._fit)

    def restore(self, state: Snapshot) -> None:
        self._fit = recursive.restored(self._fit, state)


def _waves(x: Array, frequency: Array, phase: Array) -> Array:
    """[1, x, √(2/D)·cos(Ωx + b)]: (n, m, dx) → (n, m, 1 + dx + D)."""
    height = np.sqrt(2.0 / phase.shape[2])
    waves = height * np.cos(np.matmul(x, frequency) + phase)
    return np.concatenate([np.ones((*x.shape[:2], 1)), x, waves], axis=2)

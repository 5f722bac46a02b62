"""Variance-aware layered elimination (VACDB), after Di, Jin, Wu, Zhao, Farnoud and Gu (ICLR 2024).

Layer ℓ = 1 … L has an estimate and a geometry Σ_ℓ of its own, which starts at 2^(-2ℓ) λI. In a round
the layers are gone through: where two candidates differ by more than 2^(-ℓ) in Σ_ℓ⁻¹ the most promising
of such pairs is shown, and its vote teaches that layer alone, with the weight w² that makes
w‖Δz‖ = 2^(-ℓ); where none do, candidates that are worse than the best by more than 2^(-ℓ) β_ℓ are out,
and the next layer decides. After the last one the pair of highest joint bound among those left is shown.

    β_ℓ = c (16/κ) 2^(-ℓ) (1 + √Var_ℓ),   Var_ℓ = Σ w²(o - g(Θ_ℓᵀ Δz))² over the layer's votes

is the paper's radius but for its logarithms, which c stands for. The layer of a vote is found
when it arrives, from Δz and the layers as they are then: with votes at once this is the layer that chose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.equations import leverage, move_inverse
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.links import mean
from duelwise.learning.core.round import admit, knows_nothing
from duelwise.learning.core.state import Arrivals, Fit, under
from duelwise.learning.estimation.full_mle import FullMLE, append_vote
from duelwise.learning.estimation.maximum_likelihood import VoteHistory, margins, solve
from duelwise.learning.selection.rule import View
from duelwise.types import Array, BoolArray, IntArray, Snapshot

RADIUS_FACTOR = 16.0  # in β_ℓ, the paper's


@compiled
def layered_pair(
    z: Array, theta: Array, inverse: Array, variance: Array, width: float, distinct: bool
) -> tuple[int, int]:
    """The pair of z (K, d) by layers' theta (L, d), inverse (L, d, d) and variance (L,)."""
    layers, arms = theta.shape[0], z.shape[0]
    left = np.ones(arms, dtype=np.bool_)
    value = np.empty(arms)
    for layer in range(layers):
        size = 2.0 ** -(layer + 1)
        best = -np.inf
        for k in range(arms):
            value[k] = 0.0
            for j in range(z.shape[1]):
                value[k] += theta[layer, j] * z[k, j]
            if left[k]:
                best = max(best, value[k])
        first, second = _apart(z, value, inverse[layer], left, size)
        if first != second:
            return first, second
        lag = size * radius(width, layer, variance[layer])
        for k in range(arms):
            left[k] = left[k] and value[k] >= best - lag
    return _joint(z, value, inverse[-1], left, radius(width, layers - 1, variance[-1]), distinct)


@compiled
def radius(width: float, layer: int, variance: float) -> float:
    """β_ℓ; layers are counted from 0."""
    return width * 2.0 ** -(layer + 1) * (1.0 + math.sqrt(variance))


@compiled
def _apart(z: Array, value: Array, inverse: Array, left: BoolArray, size: float) -> tuple[int, int]:
    """Of the pairs that differ by more than `size`, the one of highest value; twice the same where none do.

    Which of them the paper leaves open.
    """
    first, second, best = 0, 0, -np.inf
    for a in range(z.shape[0]):
        for b in range(a):
            if left[a] and left[b] and value[a] + value[b] > best and leverage(z[a] - z[b], inverse) > size:
                first, second, best = b, a, value[a] + value[b]
    return first, second


@compiled
def _joint(
    z: Array, value: Array, inverse: Array, left: BoolArray, width: float, distinct: bool
) -> tuple[int, int]:
    """argmax ⟨Θ, z_a + z_b⟩ + β‖z_a - z_b‖ among those left; anybody where one alone is, and two must be."""
    first, second, best, few = 0, 0, -np.inf, distinct and left.sum() < 2
    for a in range(z.shape[0]):
        for b in range(a if distinct else a + 1):
            if (left[a] and left[b]) or few:
                bound = value[a] + value[b] + width * leverage(z[a] - z[b], inverse)
                if bound > best:
                    first, second, best = b, a, bound
    return first, second


@compiled
def teach_layer(
    history: VoteHistory, fit: Fit, theta: Array, inverse: Array, variance: Array, r: int, arrivals: Arrivals
) -> None:
    """Votes of run r go to their layers: theta (R, L, d), inverse (R, L, d, d) and variance (R, L) follow.

    The history has a row of votes for each layer of each run.
    """
    layers, link = theta.shape[1], fit.rules.link
    for i in range(arrivals.outcome.shape[0]):
        admit(fit, r, arrivals, i)
        for layer in range(layers):
            apart, size = leverage(arrivals.dz[i], inverse[r, layer]), 2.0 ** -(layer + 1)
            if apart <= size or knows_nothing(arrivals.dz[i]):
                continue
            arrivals.weight[i] = (size / apart) ** 2
            row = r * layers + layer
            append_vote(history, row, arrivals, i)
            move_inverse(inverse[r, layer], arrivals.dz[i], arrivals.weight[i])
            ridge = fit.rules.regularisation[r] * fit.rules.curvature[r] * size * size
            solve(history, row, theta[r, layer], ridge, link)
            variance[r, layer] = _spread(history, row, theta[r, layer], link)
            break


@compiled
def _spread(history: VoteHistory, row: int, theta: Array, link: int) -> float:
    """Σ w²(o - g(Θᵀ Δz))²."""
    n, margin, total = int(history.held[row]), history.scratch[row, 0], 0.0
    margins(history.z[row], theta, n, margin)
    for i in range(n):
        total += history.weight[row, i] * (history.outcome[row, i] - mean(link, margin[i])) ** 2
    return total


@dataclass(frozen=True, kw_only=True)
class LayeredPair:
    """Selection: a pair that its layer can learn from, else the best of those that are left."""

    curvature: float | Array  # κ

    def pairs(self, view: View) -> IntArray:
        layers = view.estimate
        if not isinstance(layers, Layers):
            raise InvalidInput("LayeredPair looks into its layers. Make the learner with estimate=Layered().")
        arms, width = np.empty((len(view.z), 2), dtype=np.int64), view.width * RADIUS_FACTOR / self.curvature
        for r, z in enumerate(view.z):
            arms[r] = layered_pair(
                np.ascontiguousarray(z), layers.thetas[r], layers.inverse[r], layers.variance[r],
                float(width[r]), view.distinct,
            )  # fmt: skip
        return arms


@dataclass(frozen=True, kw_only=True)
class Layered:
    """Estimation: maximum likelihood in each of the layers. A layer takes some d 4^ℓ votes."""

    layers: int = 6  # L

    def __post_init__(self) -> None:
        if not 1 <= self.layers <= 20:
            raise InvalidInput(f"layers is {self.layers}; expected a number from 1 to 20.")

    def start(self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array) -> Layers:
        shrunk = np.array([4.0**-layer for layer in range(1, self.layers + 1)])
        return Layers(
            ridge=regularisation[:, None] * shrunk, curvature=curvature, dim=dim,
        )  # fmt: skip


class Layers:
    """The layers of R runs; Θ̂ is that of the layer which learned last."""

    def __init__(self, *, ridge: Array, curvature: Array, dim: int) -> None:
        runs, layers = ridge.shape
        self.theta = np.zeros((runs, dim))
        self.inverse = np.eye(dim) / ridge[:, :, None, None]  # (R, L, d, d) of Σ_ℓ
        self.variance = np.zeros((runs, layers))
        rows = (ridge * curvature[:, None]).reshape(-1)
        self.votes = FullMLE().start(runs=runs * layers, dim=dim, link=0, regularisation=rows, curvature=rows)
        self.thetas = self.votes.theta.reshape(runs, layers, dim)  # a view of the same numbers

    def learn(self, fit: Fit, r: int, arrivals: Arrivals) -> None:
        held = self.votes.history.held.copy()
        history = self.votes.compiled(len(arrivals.outcome))
        teach_layer(history, fit, self.thetas, self.inverse, self.variance, r, arrivals)
        layers = self.thetas.shape[1]
        taught = np.flatnonzero((history.held > held)[r * layers : (r + 1) * layers])
        if taught.size:
            self.theta[r] = self.thetas[r, taught[-1]]

    def snapshot(self) -> Snapshot:
        own = {"theta": self.theta, "sigma": self.inverse, "variance": self.variance}
        return {f"layer.{name}": held for name, held in self.votes.snapshot().items()} | own

    def restore(self, state: Snapshot) -> None:
        self.votes.restore(under(state, "layer."))
        self.theta[...], self.variance[...] = state["theta"], state["variance"]
        self.inverse[...] = state["sigma"]

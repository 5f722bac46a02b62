"""Θ̂ in one pass: an online mirror-descent step for each vote, without history."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.cholesky import invert
from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.geometry import Geometry, geometry, move
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.links import mean, slope
from duelwise.learning.core.roles import learn
from duelwise.learning.core.round import admit
from duelwise.learning.core.state import Arrivals, Fit
from duelwise.learning.estimation.estimator import KernelEstimate
from duelwise.types import Array


class PassState(NamedTuple):
    """The curvature H of the votes so far, η and B."""

    hessian: Geometry
    step_size: float
    norm_bound: float


@kernel(learn, PassState)
def descend(state: PassState, fit: Fit, r: int, arrivals: Arrivals) -> None:
    """One mirror-descent step for each vote in the curvature H of the votes before it."""
    theta, d, link = fit.theta[r], fit.theta.shape[1], fit.rules.link
    hessian, inverse, eta = state.hessian.matrix[r], state.hessian.inverse[r], state.step_size
    v = np.empty(d)
    for i in range(arrivals.outcome.shape[0]):
        admit(fit, r, arrivals, i)
        dz, weight = arrivals.dz[i], arrivals.weight[i]
        m, quadratic = 0.0, 0.0
        for j in range(d):
            m += theta[j] * dz[j]
            v[j] = 0.0
            for k in range(d):
                v[j] += inverse[j, k] * dz[k]
            quadratic += dz[j] * v[j]
        # H̃⁻¹z = H⁻¹z / (1 + ηωσ̇ zᵀH⁻¹z)
        ahead = eta * weight * slope(link, m)
        pull = eta * weight * (arrivals.outcome[i] - mean(link, m)) / (1.0 + ahead * quadratic)
        square = 0.0
        for j in range(d):
            theta[j] += pull * v[j]
            square += theta[j] * theta[j]
        if square > state.norm_bound * state.norm_bound:
            metric = hessian.copy()
            for j in range(d):
                for k in range(d):
                    metric[j, k] += ahead * dz[j] * dz[k]
            project(theta, metric, state.norm_bound)
        m = 0.0
        for j in range(d):
            m += theta[j] * dz[j]
        move(state.hessian, r, dz, weight * slope(link, m))


@compiled
def project(theta: Array, metric: Array, bound: float) -> None:
    """The point of ‖θ‖ ≤ B nearest to theta (d,) in the norm of `metric` H̃ (d, d), in place.

    It is (H̃ + μI)⁻¹ H̃ θ with the μ ≥ 0 that makes its length B, found by bisection.
    """
    d = theta.shape[0]
    pulled = np.zeros(d)
    for j in range(d):
        for k in range(d):
            pulled[j] += metric[j, k] * theta[k]
    low, high = 0.0, 1.0
    while _length_shrunk(metric, pulled, high, theta) > bound:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        if _length_shrunk(metric, pulled, middle, theta) > bound:
            low = middle
        else:
            high = middle
    _length_shrunk(metric, pulled, high, theta)


@compiled
def _length_shrunk(metric: Array, pulled: Array, shift: float, out: Array) -> float:
    """(H̃ + μI)⁻¹ `pulled` into out (d,); returns its length."""
    d = out.shape[0]
    shifted = metric.copy()
    for j in range(d):
        shifted[j, j] += shift
    inverse = np.empty((d, d))
    invert(shifted, inverse)
    square = 0.0
    for j in range(d):
        out[j] = 0.0
        for k in range(d):
            out[j] += inverse[j, k] * pulled[k]
        square += out[j] * out[j]
    return math.sqrt(square)


@dataclass(frozen=True, kw_only=True)
class OnePass:
    """One online mirror-descent step per vote in its own curvature: O(d²) time, no history.

    g = ω(σ(zᵀθ) - o)z;  H̃ = H + ηω σ̇(zᵀθ) zzᵀ;  θ' = θ - ηH̃⁻¹g, projected on ‖θ'‖ ≤ B
    in the norm of H̃;  H ← H + ω σ̇(zᵀθ') zzᵀ. After Li, Qian, Zhao and Zhou; the weight ω is ours.
    """

    step_size: float = 1.0  # η
    norm_bound: float = np.inf  # B

    def start(
        self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array
    ) -> KernelEstimate:
        if not self.step_size > 0 or not self.norm_bound > 0:
            raise InvalidInput(
                f"step_size is {self.step_size} and norm_bound {self.norm_bound}; both must be positive."
            )
        hessian = geometry(runs=runs, dim=dim, regularisation=regularisation)
        state = PassState(hessian, float(self.step_size), float(self.norm_bound))
        return KernelEstimate(state, runs=runs, dim=dim)

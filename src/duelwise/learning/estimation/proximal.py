"""Θ̂ by one proximal step for each vote: the vote's own likelihood, not its tangent, and no history.

    θ' = argmin_θ ½‖θ - θ_n‖²_H - ω (o log σ(θᵀΔz) + (1 - o) log(1 - σ(θᵀΔz)))

It moves along u = H⁻¹Δz alone, θ' = θ_n + g u, where g solves g = ω(o - σ(m + g q)) with m = θ_nᵀΔz and
q = Δzᵀu. A step of Newton's would overshoot where one vote has much leverage; this one cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.geometry import Geometry, geometry, move
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.links import mean, slope
from duelwise.learning.core.roles import learn
from duelwise.learning.core.round import admit
from duelwise.learning.core.state import Arrivals, Fit
from duelwise.learning.estimation.estimator import KernelEstimate
from duelwise.types import Array

HALVINGS = 60  # of the interval that holds g: beyond the last bit


class ProximalState(NamedTuple):
    """The curvature H of the votes so far."""

    hessian: Geometry


@compiled
def proximal_pull(link: int, m: float, q: float, weight: float, outcome: float) -> float:
    """g = ω(o - σ(m + g q)) by bisection between 0 and ω(o - σ(m))."""
    low, high = 0.0, weight * (outcome - mean(link, m))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        ahead = weight * (outcome - mean(link, m + middle * q))
        if (ahead > middle) == (high > 0.0):
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@kernel(learn, ProximalState)
def step_to_the_minimum(state: ProximalState, fit: Fit, r: int, arrivals: Arrivals) -> None:
    """θ += g u; H += ω σ̇(m + g q) Δz Δzᵀ."""
    theta, d, link = fit.theta[r], fit.theta.shape[1], fit.rules.link
    inverse, u = state.hessian.inverse[r], np.empty(fit.theta.shape[1])
    for i in range(arrivals.outcome.shape[0]):
        admit(fit, r, arrivals, i)
        dz, weight = arrivals.dz[i], arrivals.weight[i]
        m, q = 0.0, 0.0
        for j in range(d):
            m += theta[j] * dz[j]
            u[j] = 0.0
            for k in range(d):
                u[j] += inverse[j, k] * dz[k]
            q += dz[j] * u[j]
        g = proximal_pull(link, m, q, weight, arrivals.outcome[i])
        for j in range(d):
            theta[j] += g * u[j]
        move(state.hessian, r, dz, weight * slope(link, m + g * q))


@dataclass(frozen=True, kw_only=True)
class Proximal:
    """One proximal step a vote: O(d²) time and memory, however many votes there are."""

    def start(
        self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array
    ) -> KernelEstimate:
        state = ProximalState(geometry(runs=runs, dim=dim, regularisation=regularisation))
        return KernelEstimate(state, runs=runs, dim=dim)

"""Θ̂ by one step for each vote: Listing 1 of the paper, and the published baselines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.links import mean
from duelwise.learning.core.roles import learn
from duelwise.learning.core.round import admit
from duelwise.learning.core.state import Arrivals, Fit
from duelwise.learning.estimation.estimator import KernelEstimate
from duelwise.types import Array


class StepState(NamedTuple):
    """A step needs nothing but Θ̂ and W."""


@kernel(learn, StepState)
def step(state: StepState, fit: Fit, r: int, arrivals: Arrivals) -> None:
    """θ ← θ + W⁻¹ ω(o - g(θᵀ Δz))Δz for each vote, W moved first."""
    theta, inverse, d = fit.theta[r], fit.arrived.inverse[r], fit.theta.shape[1]
    for i in range(arrivals.outcome.shape[0]):
        admit(fit, r, arrivals, i)
        m = 0.0
        for j in range(d):
            m += theta[j] * arrivals.dz[i, j]
        pull = arrivals.weight[i] * (arrivals.outcome[i] - mean(fit.rules.link, m))
        for j in range(d):
            v = 0.0
            for k in range(d):
                v += inverse[j, k] * arrivals.dz[i, k]
            theta[j] += pull * v


@dataclass(frozen=True, kw_only=True)
class OneStep:
    """Listing 1: θ ← θ + W⁻¹ ω(o - g(θᵀ Δz))Δz, with W after the vote was added. O(d²) per vote."""

    def start(
        self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array
    ) -> KernelEstimate:
        return KernelEstimate(StepState(), runs=runs, dim=dim)

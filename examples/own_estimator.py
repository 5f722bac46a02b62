"""An estimator of your own, with a kernel: stochastic gradient steps that grow shorter."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelwise.learning.core import Arrivals, Fit, admit, kernel, mean, roles
from duelwise.learning.estimation import KernelEstimate
from duelwise.types import Array


class GradientState(NamedTuple):
    rate: float


@kernel(roles.learn, GradientState)
def descend(state: GradientState, fit: Fit, r: int, arrivals: Arrivals) -> None:
    """θ ← θ + η/√n · ω(o - g(θᵀΔz))Δz for each vote of run r."""
    for i in range(arrivals.outcome.shape[0]):
        admit(fit, r, arrivals, i)  # fixes the vote's weight, moves W
        margin = 0.0
        for j in range(arrivals.dz.shape[1]):
            margin += fit.theta[r, j] * arrivals.dz[i, j]
        pull = arrivals.weight[i] * (arrivals.outcome[i] - mean(fit.rules.link, margin))
        for j in range(arrivals.dz.shape[1]):
            fit.theta[r, j] += state.rate / np.sqrt(1.0 + fit.votes[r]) * pull * arrivals.dz[i, j]


@dataclass(frozen=True)
class Gradient:
    rate: float = 0.1

    def start(
        self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array
    ) -> KernelEstimate:
        return KernelEstimate(GradientState(self.rate), runs=runs, dim=dim)

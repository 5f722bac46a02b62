"""Algorithm 1 and its relatives written out for one run: sums, solves and loops, nothing incremental."""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from duelwise.types import Array


@dataclass(kw_only=True)
class LiteralLearner:
    """λI + κ Σ ω Δz Δzᵀ and the online estimates of one run, by definition.

    `clip` is α at serving (RCDP-UCB), `arrived_clip` α on arrival (RCDB).
    """

    dim: int
    ridge: float = 1.0
    curvature: float = 0.25
    clip: float = np.inf
    arrived_clip: float = np.inf
    served: list[tuple[Array, float]] = field(init=False, default_factory=list)  # Δz, ω as they were seen
    arrived: list[tuple[Array, float, float]] = field(init=False, default_factory=list)  # Δz, ω, outcome

    def V(self) -> Array:
        return self._sum([(dz, weight) for dz, weight in self.served])

    def W(self) -> Array:
        return self._sum([(dz, weight) for dz, weight, _ in self.arrived])

    def see(self, dz: Array) -> float:
        """y becomes known: ω from V before this duel, then V moves."""
        weight = _clipped(self.clip, dz, self.V())
        self.served.append((dz, weight))
        return weight

    def hear(self, dz: Array, weight: float, outcome: float) -> float:
        """The vote arrives: its weight from W before it, if it is fixed only now; then W moves."""
        weight = min(weight, _clipped(self.arrived_clip, dz, self.W()))
        self.arrived.append((dz, weight, outcome))
        return weight

    def one_step(self) -> Array:
        """Listing 1 over the arrived votes: W moves first, then θ += W⁻¹ ω(o - σ(θᵀΔz))Δz."""
        theta, W = np.zeros(self.dim), self.ridge * np.eye(self.dim)
        for dz, weight, outcome in self.arrived:
            W = W + self.curvature * weight * np.outer(dz, dz)
            theta = theta + np.linalg.solve(W, weight * (outcome - expit(theta @ dz)) * dz)
        return theta

    def one_pass(self, *, step_size: float, norm_bound: float) -> Array:
        """g = ω(σ - o)z; H̃ = H + ηωσ̇zzᵀ; θ' = θ - ηH̃⁻¹g, projected in H̃; H += ωσ̇(θ')zzᵀ."""
        theta, H = np.zeros(self.dim), self.ridge * np.eye(self.dim)
        for dz, weight, outcome in self.arrived:
            slope = expit(theta @ dz) * (1 - expit(theta @ dz))
            ahead = H + step_size * weight * slope * np.outer(dz, dz)
            theta = theta - step_size * np.linalg.solve(ahead, weight * (expit(theta @ dz) - outcome) * dz)
            theta = nearest(theta, ahead, norm_bound)
            H = H + weight * expit(theta @ dz) * (1 - expit(theta @ dz)) * np.outer(dz, dz)
        return theta

    def _sum(self, duels: list[tuple[Array, float]]) -> Array:
        total = self.ridge * np.eye(self.dim)
        for dz, weight in duels:
            total = total + self.curvature * weight * np.outer(dz, dz)
        return total


def nearest(theta: Array, metric: Array, bound: float) -> Array:
    """argmin_{‖p‖ ≤ B} (p - θ)ᵀ M (p - θ): the multiplier by bisection on a plain solve."""
    if np.linalg.norm(theta) <= bound:
        return theta
    low, high = 0.0, 1e12
    eye = np.eye(len(theta))
    for _ in range(200):
        middle = 0.5 * (low + high)
        point = np.linalg.solve(metric + middle * eye, metric @ theta)
        low, high = (middle, high) if np.linalg.norm(point) > bound else (low, middle)
    return np.linalg.solve(metric + high * eye, metric @ theta).astype(np.float64)


def _clipped(alpha: float, dz: Array, geometry: Array) -> float:
    norm = float(np.sqrt(dz @ np.linalg.solve(geometry, dz)))
    return 1.0 if norm <= alpha else alpha / norm

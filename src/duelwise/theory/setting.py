"""The setting that the theory speaks of: a normalised world, budgets, and the constants that follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import DelayModel, StrategicDelay
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.lab.worlds.mappings import MAPPINGS
from duelwise.learning import radii
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.recipes import rcdp_ucb
from duelwise.theory.links import least_slope
from duelwise.types import Array


@dataclass(frozen=True, kw_only=True)
class Setting:
    """‖z‖ ≤ ½, ‖Θ*‖ = M, C lies, delays that sum to Λ, and RCDP-UCB set as the theorems ask."""

    seed: int
    runs: int = 400
    horizon: int = 200
    context_dim: int = 6
    arms: int = 6
    mapping: str = "none"
    noise: float = 0.0
    post_serving: str = "ridge"  # φ̂, where the mapping gives a y
    norm_bound: float = 1.0  # M
    regularisation: float = 1.0  # λ
    confidence: float = 0.05  # δ
    corruption_budget: int = 10  # C
    delay_budget: int = 400  # Λ
    delay: Callable[[int], DelayModel] = lambda budget: StrategicDelay(budget=budget)

    def world(self) -> LinearWorld:
        return LinearWorld(
            runs=self.runs, seed=self.seed, context_dim=self.context_dim, arms=self.arms,
            mapping=self.mapping, noise=self.noise, scaling="normalised", norm_bound=self.norm_bound,
        )  # fmt: skip

    def scenario(self) -> Scenario:
        return Scenario(
            self.world(),
            delay=self.delay(self.delay_budget),
            corruption=StrategicCorruption(budget=self.corruption_budget),
        )

    @property
    def post_dim(self) -> int:
        return MAPPINGS[self.mapping].post_dim(self.context_dim)

    @property
    def dim(self) -> int:
        return self.context_dim + self.post_dim

    @property
    def delay_complexity(self) -> float:
        """D = √Λ."""
        return radii.delay_complexity(delay_budget=self.delay_budget)

    @property
    def curvature(self) -> float:
        """κ = ġ(M), since ‖Δz‖ ≤ 1."""
        return least_slope(self.norm_bound)

    @property
    def clip(self) -> float:
        """α = √d/(C + D)."""
        return radii.clip(self.dim, self.corruption_budget + self.delay_complexity)

    def radius(self, round: int) -> float:
        """β_t as printed, t counted from 1."""
        return float(
            radii.radius(
                round, dim=self.dim, regularisation=self.regularisation, confidence=self.confidence,
                norm_bound=self.norm_bound, alpha=self.clip, corruption_budget=self.corruption_budget,
                delay=self.delay_complexity,
            )
        )  # fmt: skip

    def corrected_radius(self, round: int, *, pending: float | Array) -> Array:
        """β_t with 1/√κ, and with what bounds the votes out in the place of D."""
        return radii.corrected_radius(
            round, dim=self.dim, regularisation=self.regularisation, curvature=self.curvature,
            confidence=self.confidence, norm_bound=self.norm_bound, alpha=self.clip,
            corruption_budget=self.corruption_budget, pending=pending,
        )  # fmt: skip

    def learner(self) -> DuelingLearner:
        """RCDP-UCB with c_t = 2β_t, α = √d/(C + D) and κ = ġ(M)."""
        return rcdp_ucb(
            runs=self.runs, seed=self.seed, context_dim=self.context_dim, post_dim=self.post_dim,
            post_serving=self.post_serving if self.post_dim else "none", exploration_width="theory",
            clip=self.clip, curvature=self.curvature, regularisation=self.regularisation,
            corruption_budget=float(self.corruption_budget), delay=self.delay_complexity,
            norm_bound=self.norm_bound, confidence=self.confidence,
        )  # fmt: skip

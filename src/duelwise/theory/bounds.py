"""The bounds of the theorems, each term apart, as pure functions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.lab.play.checks import LARGEST, check_number, check_whole
from duelwise.learning import radii
from duelwise.types import Array


def potential_bound(growth: Array) -> Array:
    """2 ln(det V/λ^d): bounds Σ min(1, κω‖Δz‖²_{V⁻¹})."""
    return 2.0 * growth


def largest_growth(rounds: float, *, dim: int, curvature: float, regularisation: float) -> float:
    """d ln(1 + κT/(dλ)): the most that ln(det V/λ^d) can be after T duels with ‖Δz‖ ≤ 1 (trace)."""
    return dim * math.log1p(curvature * rounds / (dim * regularisation))


def generalised_potential_bound(
    growth: Array, *, rounds: int, power: float, dim: int, feature_bound: float, noise_bound: float,
    least_variance: float, confidence: float,
) -> Array:  # fmt: skip
    """2^p T^{1-p} ln^p(det X_T/det X_0) + (8q/σ⁴) ln(32dq/(δσ⁴)), q = L_ε²(L_ε + L_x)²; ∞ without noise."""
    if least_variance <= 0.0:
        return np.full_like(growth, np.inf)
    share = noise_bound**2 * (noise_bound + feature_bound) ** 2 / least_variance**2
    return 2.0**power * rounds ** (1.0 - power) * growth**power + 8.0 * share * math.log(
        32.0 * dim * share / confidence
    )


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What a bound is computed for. `pending` bounds the votes out at any time."""

    context_dim: int
    post_dim: int = 0
    horizon: int = 2000
    corruption_budget: float = 0.0
    delay_budget: float = 0.0
    mean_delay: float = 0.0
    norm_bound: float = 1.0  # M
    curvature: float = 0.25  # κ
    regularisation: float = 1.0  # λ
    confidence: float = 0.05  # δ
    learning_rate: float = 0.5  # a: φ̂'s error falls like t^-a
    learning_constant: float = 0.0  # C_0

    def __post_init__(self) -> None:
        check_whole("context_dim", self.context_dim, least=1, most=LARGEST)
        check_whole("post_dim", self.post_dim, least=0, most=LARGEST)
        check_whole("horizon", self.horizon, least=1, most=LARGEST)
        for name in ("corruption_budget", "delay_budget", "mean_delay", "norm_bound", "curvature"):
            check_number(name, getattr(self, name), least=0.0)
        if self.curvature == 0.0:
            raise InvalidInput(
                "curvature is 0. Expected more: where utilities are far apart the link is flat, and nothing "
                "is promised. Give a smaller norm_bound, or features in larger units."
            )

    @property
    def dim(self) -> int:
        return self.context_dim + self.post_dim

    @property
    def delay(self) -> float:
        """D = max(√Λ, μ)."""
        return radii.delay_complexity(delay_budget=self.delay_budget, mean_delay=self.mean_delay)

    @property
    def pending(self) -> float:
        """The most votes out at any time: √(2Λ), or what independent delays of mean μ keep out."""
        adversarial = radii.pending_bound(self.delay_budget)
        if self.mean_delay == 0.0:
            return adversarial
        stochastic = radii.stochastic_pending_bound(
            self.mean_delay, horizon=self.horizon, confidence=self.confidence
        )
        return max(adversarial, stochastic)

    @property
    def alpha(self) -> float:
        """α = √d/(C + D); without lies and delays no vote is clipped: α = 1/√λ bounds every leverage."""
        return min(radii.clip(self.dim, self.corruption_budget + self.delay), self.regularisation**-0.5)

    @property
    def radius(self) -> float:
        """β_T in its corrected form."""
        return float(
            radii.corrected_radius(
                self.horizon, dim=self.dim, regularisation=self.regularisation, curvature=self.curvature,
                confidence=self.confidence, norm_bound=self.norm_bound, alpha=self.alpha,
                corruption_budget=self.corruption_budget, pending=self.pending,
            )
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class UpperBound:
    """R_T ≤ (3β_T/2)(unclipped + clipped) + mapping: the regret bound with its constants, term by term."""

    statistical: float  # (3β/2)√(T(2/κ) ln det): the d√T
    clipped: float  # (3β/2)(1/α)(2/κ) ln det: the d(C + D)
    mapping: float  # (2M + 3β/√λ) C_0 √d_x ln(T/δ) T^{1-a}/(1-a): what learning φ costs

    @property
    def total(self) -> float:
        return self.statistical + self.clipped + self.mapping


def upper_bound(sizes: Sizes) -> UpperBound:
    """The regret that RCDP-UCB with c_t = 2β_t exceeds with chance at most δ; proof in docs/theory.md."""
    growth = largest_growth(
        sizes.horizon, dim=sizes.dim, curvature=sizes.curvature, regularisation=sizes.regularisation
    )
    potential = 2.0 * growth / min(sizes.curvature, sizes.regularisation)
    factor, beta = 1.5 * sizes.radius, sizes.radius
    clipped = potential / sizes.alpha if sizes.corruption_budget + sizes.delay > 0.0 else 0.0
    a = sizes.learning_rate
    errors = math.log(sizes.horizon / sizes.confidence) * sizes.horizon ** (1.0 - a) / (1.0 - a)
    errors *= sizes.learning_constant * math.sqrt(sizes.context_dim)
    return UpperBound(
        statistical=factor * math.sqrt(sizes.horizon * potential),
        clipped=factor * clipped,
        mapping=(2.0 * sizes.norm_bound + 3.0 * beta / math.sqrt(sizes.regularisation)) * errors,
    )


@dataclass(frozen=True, kw_only=True)
class LowerBound:
    """What no algorithm avoids on its own hard instance, under ‖Θ*‖ ≤ M and the ½ of the definition."""

    statistical: float  # d√T/28
    corruption: float  # dC/8
    adversarial: float  # M_Λ·Δ√d with ‖Θ*‖ = Δ√d ≤ M
    stochastic: float  # μ·Δd, likewise


HARD_GAP = 1.0 / 16.0  # Δ = HARD_GAP/√T on the hypercube
HARD_CONSTANT = 1.0 / 28.0  # of d√T there, for every algorithm: docs/theory.md
MASKED_CONSTANT = 1.0 / 8.0  # of dC among e_1 … e_d with one best arm and its lead hidden by lies


def lower_bound(sizes: Sizes) -> LowerBound:
    """The terms of the minimax lower bound; ‖Θ*‖ = Δ√d must stay within M, which bounds Δ."""
    d = sizes.dim
    ball, cube = min(0.125, sizes.norm_bound / math.sqrt(d)), min(0.25, sizes.norm_bound / math.sqrt(d))
    return LowerBound(
        statistical=HARD_CONSTANT * d * math.sqrt(sizes.horizon),
        corruption=MASKED_CONSTANT * d * sizes.corruption_budget,
        adversarial=radii.blind_phase(int(sizes.delay_budget)) * ball * math.sqrt(d),
        stochastic=sizes.mean_delay * cube * d,
    )

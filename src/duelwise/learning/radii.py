"""The constants of the theory as pure functions: D, α and the forms of β_t.

Arguments carry the paper's symbols in words; arrays broadcast. Kernels call the terms, with
plain numbers in place of arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from duelwise.learning.core.jit import also_compiled
from duelwise.types import Array


def delay_complexity(*, delay_budget: float = 0.0, mean_delay: float = 0.0) -> float:
    """D = max(√Λ, μ_τ)."""
    return max(float(np.sqrt(delay_budget)), mean_delay)


def pending_bound(delay_budget: float) -> float:
    """√(2Λ): the most votes an adversary with budget Λ can keep out at one time."""
    return float(np.sqrt(2.0 * delay_budget))


def blind_phase(delay_budget: int) -> int:
    """M = ⌊(√(1 + 8Λ) - 1)/2⌋: the longest first phase without any vote that Λ pays for."""
    return (math.isqrt(1 + 8 * delay_budget) - 1) // 2


def clip(dim: int, error_budget: float) -> float:
    """(8): α = √d/(C + D); without lies or delays nothing is clipped, α = ∞."""
    return float(np.sqrt(dim)) / error_budget if error_budget else np.inf


def stochastic_pending_bound(mean_delay: float, *, horizon: int, confidence: float) -> float:
    """μ + √(2μ ℓ) + ℓ/3, ℓ = ln(T/δ): votes out at any time of T rounds, independent delays, Bernstein."""
    log = math.log(horizon / confidence)
    return mean_delay + math.sqrt(2.0 * mean_delay * log) + log / 3.0


@also_compiled
def noise_term(growth: Any, dim: int, ridge: Any, confidence: float) -> Any:
    """½ √(d ln((1 + tL²/(dλ))/δ)), growth = tL²: the first term of β_t in Lemma 1."""
    return 0.5 * np.sqrt(dim * np.log((1.0 + growth / (dim * ridge)) / confidence))


@also_compiled
def seen_noise_term(log_det_growth: Any, curvature: Any, confidence: float) -> Any:
    """√(ln(det V/λ^d) + 2 ln(1/δ))/(2√κ): the same from the duels that were served."""
    return np.sqrt(log_det_growth + 2.0 * np.log(1.0 / confidence)) / (2.0 * np.sqrt(curvature))


@also_compiled
def bias_terms(ridge: Any, norm_bound: float, alpha: Any, wrong: Any) -> Any:
    """√λ M + α·wrong: what the prior and the votes that lie or are out may pull."""
    return np.sqrt(ridge) * norm_bound + alpha * wrong


def statistical_term(
    round: float, *, dim: int, regularisation: float | Array, confidence: float, feature_bound: float = 1.0
) -> Array:
    """½ √(d ln((1 + tL²/(dλ))/δ)), the first term of β_t in Lemma 1; the main text has L = 1."""
    return noise_term(round * feature_bound**2, dim, np.asarray(regularisation), confidence)


def corrected_statistical_term(
    round: float | Array, *, dim: int, regularisation: float | Array, curvature: float | Array,
    confidence: float, feature_bound: float = 1.0,
) -> Array:  # fmt: skip
    """√(d ln(1 + κtL²/(dλ)) + 2 ln(1/δ))/(2√κ): what the self-normalised bound gives."""
    growth = np.log1p(np.asarray(curvature) * round * feature_bound**2 / (dim * np.asarray(regularisation)))
    return np.sqrt(dim * growth + 2.0 * math.log(1.0 / confidence)) / (2.0 * np.sqrt(curvature))


def radius(
    round: float, *, dim: int, regularisation: float | Array, confidence: float, norm_bound: float,
    alpha: float | Array, corruption_budget: float, delay: float, delay_factor: float = 1.0,
    feature_bound: float = 1.0,
) -> Array:  # fmt: skip
    """(7): β_t = ½√(d ln((1 + tL²/(dλ))/δ)) + √λ M + αC + αD.

    `delay_factor` is 1 in the main text and 3 in the appendix; 1 is right. The main text has L = 1.
    """
    ridge, wrong = np.asarray(regularisation), np.asarray(corruption_budget + delay_factor * delay)
    noise = noise_term(round * feature_bound**2, dim, ridge, confidence)
    return noise + bias_terms(ridge, norm_bound, np.asarray(alpha), wrong)


def corrected_radius(
    round: float | Array, *, dim: int, regularisation: float | Array, curvature: float | Array,
    confidence: float, norm_bound: float, alpha: float | Array, corruption_budget: float,
    pending: float | Array, feature_bound: float = 1.0,
) -> Array:  # fmt: skip
    """β_t = √(d ln(1 + κtL²/(dλ)) + 2 ln(1/δ))/(2√κ) + √λ M + αC + αP.

    P bounds the votes out at any time: `pending_bound` of Λ, or `stochastic_pending_bound` of μ_τ.
    """
    noise = corrected_statistical_term(
        round, dim=dim, regularisation=regularisation, curvature=curvature, confidence=confidence,
        feature_bound=feature_bound,
    )  # fmt: skip
    return noise + np.sqrt(regularisation) * norm_bound + alpha * (corruption_budget + pending)


def observed_radius(
    *, log_det_growth: Array, pending_pull: Array, curvature: Array, regularisation: Array,
    confidence: float, norm_bound: float, alpha: Array, corruption_budget: float,
) -> Array:  # fmt: skip
    """β_t = √(ln(det V/λ^d) + 2 ln(1/δ))/(2√κ) + √λ M + αC + Σ_pending ω‖Δz‖_{V⁻¹}.

    Everything in it is seen by the learner: neither Λ nor μ_τ is needed.
    """
    bias = bias_terms(regularisation, norm_bound, alpha, np.asarray(corruption_budget))
    return seen_noise_term(log_det_growth, curvature, confidence) + bias + pending_pull

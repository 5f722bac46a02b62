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


@also_compiled
def noise_term(round: float, dim: int, ridge: Any, confidence: float) -> Any:
    """½ √(d ln((1 + t/(dλ))/δ)), the first term of β_t in Lemma 1."""
    return 0.5 * np.sqrt(dim * np.log((1.0 + round / (dim * ridge)) / confidence))


@also_compiled
def seen_noise_term(log_det_growth: Any, curvature: Any, confidence: float) -> Any:
    """√(ln(det V/λ^d) + 2 ln(1/δ))/(2√κ): the same from the duels that were served."""
    return np.sqrt(log_det_growth + 2.0 * np.log(1.0 / confidence)) / (2.0 * np.sqrt(curvature))


@also_compiled
def bias_terms(ridge: Any, norm_bound: float, alpha: Any, wrong: Any) -> Any:
    """√λ M + α·wrong: what the prior and the votes that lie or are out may pull."""
    return np.sqrt(ridge) * norm_bound + alpha * wrong


def statistical_term(round: float, *, dim: int, regularisation: float | Array, confidence: float) -> Array:
    """½ √(d ln((1 + t/(dλ))/δ)), the first term of β_t in Lemma 1."""
    return noise_term(round, dim, np.asarray(regularisation), confidence)


def radius(
    round: float, *, dim: int, regularisation: float | Array, confidence: float, norm_bound: float,
    alpha: float | Array, corruption_budget: float, delay: float, delay_factor: float = 1.0,
) -> Array:  # fmt: skip
    """(7): β_t = ½√(d ln((1 + t/(dλ))/δ)) + √λ M + αC + αD.

    `delay_factor` is 1 in the main text and 3 in the appendix; 1 is right.
    """
    ridge, wrong = np.asarray(regularisation), np.asarray(corruption_budget + delay_factor * delay)
    return noise_term(round, dim, ridge, confidence) + bias_terms(ridge, norm_bound, np.asarray(alpha), wrong)


def observed_radius(
    *, log_det_growth: Array, pending_pull: Array, curvature: Array, regularisation: Array,
    confidence: float, norm_bound: float, alpha: Array, corruption_budget: float,
) -> Array:  # fmt: skip
    """β_t = √(ln(det V/λ^d) + 2 ln(1/δ))/(2√κ) + √λ M + αC + Σ_pending ω‖Δz‖_{V⁻¹}.

    Everything in it is seen by the learner: neither Λ nor μ_τ is needed.
    """
    bias = bias_terms(regularisation, norm_bound, alpha, np.asarray(corruption_budget))
    return seen_noise_term(log_det_growth, curvature, confidence) + bias + pending_pull

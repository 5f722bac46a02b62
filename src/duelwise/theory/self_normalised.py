"""The self-normalised sum of the concentration lemmas, on its own: duels that only noise decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelwise.learning import radii
from duelwise.randomness import generator
from duelwise.theory.links import least_slope
from duelwise.types import Array


@dataclass(frozen=True, kw_only=True)
class NoiseSetting:
    """Duels with ‖Δz‖ = 1 and Δz ⊥ Θ*, so that every vote is a fair coin and η = ±½."""

    seed: int
    norm_bound: float  # M; κ = ġ(M)
    runs: int = 1000
    horizon: int = 1000
    dim: int = 10
    regularisation: float = 1.0
    confidence: float = 0.05
    clip: float = np.inf  # α of the weights


class NoiseShares(NamedTuple):
    """Each run's largest share, over all rounds, of three bounds on ‖Σ ωηΔz‖_{V⁻¹}."""

    printed: Array  # (R,) Lemma 1's ½√(d ln((1 + t/(dλ))/δ))
    trace: Array  # (R,) the appendix lemma's second form, with 1/√κ
    determinant: Array  # (R,) its first form


def noise_shares(setting: NoiseSetting) -> NoiseShares:
    """Walk all runs at once."""
    random = generator(setting.seed, "self-normalised", 0)
    R, d, kappa = setting.runs, setting.dim, least_slope(setting.norm_bound)
    true = _unit(random.standard_normal((R, d)))
    inverse = np.repeat(np.eye(d)[None] / setting.regularisation, R, axis=0)
    total, growth, worst = np.zeros((R, d)), np.zeros(R), np.zeros((3, R))
    ridge, delta = setting.regularisation, setting.confidence
    for t in range(1, setting.horizon + 1):
        dz = random.standard_normal((R, d))
        dz = _unit(dz - np.sum(dz * true, axis=1, keepdims=True) * true)
        moved = np.einsum("rij,rj->ri", inverse, dz)
        square = np.sum(moved * dz, axis=1)
        weight = np.minimum(1.0, setting.clip / np.sqrt(square))
        total += (weight * random.choice([-0.5, 0.5], R))[:, None] * dz
        scale = kappa * weight
        inverse -= (scale / (1.0 + scale * square))[:, None, None] * moved[:, :, None] * moved[:, None, :]
        growth += np.log1p(scale * square)
        length = np.sqrt(np.einsum("ri,rij,rj->r", total, inverse, total))
        bounds = (
            radii.statistical_term(t, dim=d, regularisation=ridge, confidence=delta),
            radii.corrected_statistical_term(
                t, dim=d, regularisation=ridge, curvature=kappa, confidence=delta
            ),
            np.sqrt(growth + 2.0 * np.log(1.0 / delta)) / (2.0 * np.sqrt(kappa)),
        )
        worst = np.maximum(worst, np.stack([length / bound for bound in bounds]))
    return NoiseShares(*worst)


def _unit(vectors: Array) -> Array:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

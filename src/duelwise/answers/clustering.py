"""Wider intervals where the votes of one source have more in common than chance explains.

    E = Lᵀ S/(S-1) Σ_s (g_s g_sᵀ - Σ_i r_i² Δz_iΔz_iᵀ) L       g_s = Σ_i r_i Δz_i over the votes i of source s
    covariance L (I + E₊) Lᵀ                                    LLᵀ = P, the posterior's; r = o - σ(Δzᵀθ)

E is what the votes of a source have in common beyond chance, in standard errors squared; its negative part is
dropped, so that an interval never becomes narrower. A vote without a source stands by itself.
"""

from __future__ import annotations

import numpy as np

from duelwise.answers.belief import Posterior
from duelwise.answers.logistic import logistic
from duelwise.types import Array, IntArray

LEAST_SOURCES = 5  # with fewer nothing can be said of how sources differ


def clustered(answer: Posterior, dz: Array, outcome: Array, source: IntArray, sources: int) -> Posterior:
    """The posterior with a covariance that allows for sources that differ: source (n,), -1 for none."""
    named = source >= 0
    if sources < LEAST_SOURCES or not named.any():
        return answer
    residual = outcome - logistic(dz @ answer.mean)
    scores = (residual[:, None] * dz)[named]
    sums = np.zeros((sources, int(dz.shape[1])))
    np.add.at(sums, source[named], scores)
    root = _root(answer.covariance)
    ours, single = sums @ root, scores @ root
    excess = sources / (sources - 1) * (ours.T @ ours - single.T @ single)
    values, vectors = np.linalg.eigh(excess)
    wider = np.eye(len(values)) + (vectors * np.maximum(values, 0.0)) @ vectors.T
    return answer._replace(covariance=root @ wider @ root.T)


def _root(covariance: Array) -> Array:
    """L with LLᵀ = P, for any P that is positive but for rounding."""
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    return vectors * np.sqrt(np.maximum(values, 0.0))

"""The fit that hindsight allows: a Bradley-Terry or logistic model of all votes at once.

    max over θ   Σ log P(vote) - ½ Σ θ_j² k̄ v_j / s²        v_j, k̄ over all duels
    s            the scale of highest evidence: log P - ½ Σ … + ½ log|Λ| - ½ log|H|  (Laplace)

With one indicator for each item it is Bradley and Terry's model; features are further terms.
"""

from __future__ import annotations

import numpy as np

from duelwise.answers.belief import LEAST_SCALE, SCALE_STEP, SCALES, TINY
from duelwise.answers.raters import fit
from duelwise.types import Array


def offline_fit(dz: Array, outcome: Array, weight: Array | None = None) -> Array:
    """Θ̂ (d,) from dz (n, d), outcome (n,) and weight (n,), 1 where not given."""
    counted = np.ones(len(outcome)) if weight is None else weight
    dim = int(dz.shape[1])
    found, theta, best = np.zeros(dim), np.zeros(dim), -np.inf
    if not len(outcome):
        return found
    precision = unit_precision(dz)
    for g in range(SCALES):
        prior = precision / (LEAST_SCALE * SCALE_STEP**g) ** 2
        theta, hessian = fit(dz, outcome, counted, 1.0 / prior, start=theta)
        evidence = (
            _log_likelihood(dz @ theta, outcome, counted)
            - 0.5 * float((prior * theta**2).sum())
            + 0.5 * float(np.log(prior).sum())
            - 0.5 * float(np.linalg.slogdet(hessian)[1])
        )
        if evidence > best:
            best, found = evidence, theta
    return found


def unit_precision(dz: Array) -> Array:
    """(d,) k̄ v: the prior's precision at s = 1; 1 for a feature that never differs."""
    differs = np.abs(dz) > TINY
    times = differs.sum(axis=0)
    typical = max(float(times.sum()) / len(dz), 1.0)
    return np.where(times > 0, typical * (dz**2).sum(axis=0) / np.maximum(times, 1), 1.0)


def _log_likelihood(margin: Array, outcome: Array, weight: Array) -> float:
    return float((weight * (outcome * margin - np.logaddexp(0.0, margin))).sum())

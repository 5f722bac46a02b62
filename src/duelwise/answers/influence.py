"""What a single vote, or all of a source's, did to the estimate and to the ranking."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from duelwise.answers.logistic import logistic
from duelwise.answers.raters import fit
from duelwise.learning.core.equations import leverage, move_inverse
from duelwise.learning.core.jit import compiled
from duelwise.types import Array, BoolArray, IntArray

CURVATURE = 0.25  # of the logistic at a tie: the most that a vote can say


class Influence(NamedTuple):
    """First-order effects of leaving a vote out of the final fit; every array is (n,) unless said."""

    theta: Array  # (d,) the final fit, every vote counted alike
    surprise: Array  # -log of the chance that the final fit gives to the vote
    moved: Array  # ‖θ̂ - θ̂ without the vote‖ in the metric of the fit: standard errors
    leader_changes: BoolArray  # whether another item would lead without it


def influence(dz: Array, outcome: Array, prior_variance: Array, items: Array) -> Influence:
    """Leave each vote out in turn: dz (n, d), items z (K, d), none where nothing is ranked."""
    theta, hessian = fit(dz, outcome, np.ones(len(outcome)), prior_variance)
    inverse = np.linalg.inv(hessian)
    margin = dz @ theta
    p = logistic(margin)
    seen = dz @ inverse
    own = np.einsum("ij,ij->i", seen, dz)
    pull = (p - outcome) / np.maximum(
        1.0 - p * (1 - p) * own, 1e-9
    )  # (H - σ̇ΔzΔzᵀ)⁻¹Δz = H⁻¹Δz/(1 - σ̇ΔzᵀH⁻¹Δz)
    likely = np.clip(outcome * p + (1 - outcome) * (1 - p), 1e-12, None)
    return Influence(
        theta=theta,
        surprise=-np.log(likely),
        moved=np.abs(pull) * np.sqrt(own),
        leader_changes=_leader_changes(seen, pull, theta, items),
    )


def _leader_changes(seen: Array, pull: Array, theta: Array, items: Array) -> BoolArray:
    """Whether an item overtakes the leader when θ moves by pull · H⁻¹Δz."""
    if len(items) < 2:
        return np.zeros(len(pull), dtype=np.bool_)
    utility = items @ theta
    leader = int(utility.argmax())
    gap = utility[leader] - utility
    ahead = np.argsort(gap)[:64]  # a single vote moves no item past more
    moved = (seen * pull[:, None]) @ (items[ahead] - items[leader]).T
    return (moved > gap[ahead] + 1e-12).any(axis=1)


def leaders_without(
    dz: Array, outcome: Array, source: IntArray, sources: int, prior_variance: Array, items: Array
) -> IntArray:
    """(S,) the position of the item that leads without a source, by one Newton step."""
    theta, hessian = fit(dz, outcome, np.ones(len(outcome)), prior_variance)
    p = logistic(dz @ theta)
    leaders = np.empty(sources, dtype=np.int64)
    for s in range(sources):
        rows = np.flatnonzero(source == s)
        own, slope = dz[rows], p[rows] * (1 - p[rows])
        without = theta + np.linalg.solve(hessian - (own.T * slope) @ own, own.T @ (p[rows] - outcome[rows]))
        leaders[s] = int((items @ without).argmax())
    return leaders


def leverages(dz: Array) -> Array:
    """(n,) ‖Δz‖ in I + Σ ΔzΔzᵀ/4 of the votes before."""
    return _leverages(np.ascontiguousarray(dz), np.eye(dz.shape[1]))


@compiled
def _leverages(dz: Array, inverse: Array) -> Array:
    found = np.empty(dz.shape[0])
    for i in range(dz.shape[0]):
        found[i] = leverage(dz[i], inverse)
        move_inverse(inverse, dz[i], CURVATURE)
    return found


class Minority(NamedTuple):
    """Whether a group of voters is held back, or outvoted on items that it sees otherwise."""

    votes: int
    mean_weight: float
    mean_weight_of_others: float
    held_back: float  # difference of mean weights, others less the group
    held_back_low: float  # of its 95 % interval
    held_back_high: float
    outvoted: float  # how many more of its votes than foreseen went against the model, as a share
    outvoted_low: float
    outvoted_high: float

    @property
    def alarm(self) -> bool:
        """More than chance explains."""
        return self.held_back_low > 0 or self.outvoted_low > 0


def minority(group: BoolArray, weight: Array, margin: Array, outcome: Array) -> Minority:
    """Compare a group of votes with all others; margins (n,) of the fit to all votes."""
    inside, outside = weight[group], weight[~group]
    apart = float(outside.mean() - inside.mean()) if len(inside) and len(outside) else 0.0
    error = math.sqrt(_variance_of_mean(inside) + _variance_of_mean(outside))
    p = 1.0 / (1.0 + np.exp(-np.abs(margin[group])))  # of the side that the fit favours
    against = np.where(margin[group] > 0, 1 - outcome[group], outcome[group])
    excess = float((against - (1 - p)).mean()) if len(inside) else 0.0
    spread = math.sqrt(float((p * (1 - p)).sum())) / max(len(inside), 1)
    return Minority(
        len(inside), float(inside.mean()) if len(inside) else 0.0,
        float(outside.mean()) if len(outside) else 0.0,
        apart, apart - 1.96 * error, apart + 1.96 * error,
        excess, excess - 1.96 * spread, excess + 1.96 * spread,
    )  # fmt: skip


def _variance_of_mean(values: Array) -> float:
    return float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0

"""Whom to trust: how far each source agrees with what all the others say.

    θ₋ₛ = θ̂ + H₋ₛ⁻¹ Σₛ w (p - o) Δz          the estimate without a source, by one Newton step
    m = Δzᵀθ₋ₛ,  P(o = 1) = σ(r m)             r: the source's slope; shrunk by an empirical-Bayes prior
    reliability = r / crowd's r                 1 as the crowd, 0 a coin, below 0 against it
    information = Σ KL(P ‖ ½)                   below three nats nobody could tell a liar: undecidable

The estimate is fitted three times, the second and third with weights by reliability, so that liars do not
bend the measure they are judged by. A source is `against` when the one-sided bound of its slope before it is
shrunk is below nought; `at chance` when its votes are likelier a coin's than the crowd's, slips allowed for
(coins.py: a bound of the slope at half the crowd's missed more of them), or where it agrees too little with
others on the very same pairs (consensus.py).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from duelwise.answers.coins import coins
from duelwise.answers.consensus import consensus
from duelwise.answers.logistic import logistic
from duelwise.types import Array, BoolArray, IntArray

Flag = Literal["at chance", "against", "one-sided", "too few to tell", "undecidable"]

LEAST_VOTES = 5  # fewer are too few to tell
LEAST_INFORMATION = 3.0  # nats, measured: sources of worlds that can be told apart have more
ONE_SIDED = 3.3  # standard errors of the left share from one half: one in a thousand by chance
CERTAIN = 1.645  # standard errors of a one-sided 95 % bound
SUREST = 6.0  # logits: a slip on a pair however clear weighs no more than on one of 99.8 %
WIDE = 2.0  # prior variance of a slope that is not shrunk
ROUNDS = 3  # fits, the later ones with weights


class Judged(NamedTuple):
    """Votes to judge sources by, one row each."""

    dz: Array  # (n, d)
    outcome: Array  # (n,)
    source: IntArray  # (n,) 0 … S - 1; -1 where none was named
    left_won: Array  # (n,) 1 where the side shown left won, ½ for a tie


class Raters(NamedTuple):
    """What is known of each source; every array is (S,)."""

    votes: IntArray
    agreement: Array  # share of votes for the side that the others' votes favour
    reliability: Array
    low: Array  # of its 95 % interval
    high: Array
    left_share: Array
    information: Array  # nats
    flag: list[Flag | None]
    weight: Array  # what the source's votes should count, 1 where that cannot be decided


def judge(votes: Judged, *, sources: int, prior_variance: Array) -> Raters:
    """Judge every source by the votes of the others: prior variance (d,) of the coefficients."""
    named = votes.source >= 0
    weight = np.ones(sources)
    theta = np.zeros(votes.dz.shape[1])
    slopes, margin = Slopes(*np.ones((3, sources))), np.zeros(len(votes.outcome))
    information = np.zeros(sources)
    for _ in range(ROUNDS):
        by_vote = np.where(named, weight[votes.source], 1.0)
        theta, hessian = fit(votes.dz, votes.outcome, by_vote, prior_variance, start=theta)
        margin = _margins_without(votes, theta, hessian, by_vote, sources)
        slopes = _slopes(margin, votes, sources)
        information = _sum(information_of(margin), votes.source, sources)
        weight = np.where(information >= LEAST_INFORMATION, np.clip(slopes.shrunk, 0.0, 1.0), 1.0)
    count = np.bincount(votes.source[named], minlength=sources)
    left = _sum(votes.left_won, votes.source, sources) / np.maximum(count, 1)
    same = consensus(votes.dz, votes.outcome, votes.source, sources, margin)
    alike = coins(margin, votes.outcome, votes.source, weight)
    information = np.maximum(information, alike.information)
    agrees = np.where(margin == 0, 0.5, np.where(margin > 0, votes.outcome, 1 - votes.outcome))
    return Raters(
        votes=count,
        agreement=_sum(agrees, votes.source, sources) / np.maximum(count, 1),
        reliability=slopes.shrunk,
        low=slopes.shrunk - 1.96 * slopes.error,
        high=slopes.shrunk + 1.96 * slopes.error,
        left_share=left,
        information=information,
        flag=_flags(count, left, information, slopes.upper, alike.coin, same.at_chance),
        weight=np.where(same.at_chance, np.minimum(weight, same.trust), weight),
    )


def fit(
    dz: Array, outcome: Array, weight: Array, prior_variance: Array, *, start: Array | None = None
) -> tuple[Array, Array]:
    """The weighted maximum a posteriori by Newton's method, and its Hessian."""
    theta = np.zeros(dz.shape[1]) if start is None else start.copy()
    ridge = np.diag(1.0 / prior_variance)
    hessian = ridge
    for _ in range(50):
        p = logistic(dz @ theta)
        hessian = (dz.T * (weight * p * (1 - p))) @ dz + ridge
        step = np.linalg.solve(hessian, dz.T @ (weight * (outcome - p)) - ridge @ theta)
        longest = float(np.abs(dz @ step).max(initial=0.0))
        theta += step * min(1.0, 5.0 / max(longest, 1e-300))  # no margin jumps by more than five
        if longest < 1e-8:
            break
    return theta, hessian


def _margins_without(votes: Judged, theta: Array, hessian: Array, weight: Array, sources: int) -> Array:
    """(n,) Δzᵀθ₋ₛ of every vote, s its source."""
    margin = votes.dz @ theta
    p = logistic(margin)
    order = np.argsort(votes.source, kind="stable")
    ends = np.searchsorted(votes.source[order], np.arange(sources + 1))
    for s in range(sources):
        rows = order[ends[s] : ends[s + 1]]
        if not len(rows):
            continue
        dz, slope = votes.dz[rows], weight[rows] * p[rows] * (1 - p[rows])
        without = hessian - (dz.T * slope) @ dz
        pull = dz.T @ (weight[rows] * (p[rows] - votes.outcome[rows]))
        margin[rows] = dz @ (theta + np.linalg.solve(without, pull))
    return margin


class Slopes(NamedTuple):
    """Slopes in units of the crowd's; every array is (S,)."""

    shrunk: Array
    error: Array
    upper: Array  # the one-sided bound of the slope that is not shrunk


def _slopes(margin: Array, votes: Judged, sources: int) -> Slopes:
    """Each source's slope by itself, and shrunk towards the crowd by how much sources differ."""
    margin = np.clip(margin, -SUREST, SUREST)
    everyone = np.zeros(len(margin), dtype=np.int64)
    crowd = float(_slope_fits(margin, votes.outcome, everyone, 1, np.ones(1), np.full(1, 1e4))[0][0])
    crowd = max(crowd, 1e-9)
    scaled = margin * crowd
    wide = np.full(sources, WIDE)
    first, error = _slope_fits(scaled, votes.outcome, votes.source, sources, np.ones(sources), wide)
    known = error < 1.2  # the prior alone has 1.4
    centre = float(np.median(first[known])) if known.any() else 1.0
    spread = float(np.mean((first[known] - centre) ** 2 - error[known] ** 2)) if known.any() else 1.0
    prior = np.full(sources, min(max(spread, 0.05), 4.0))
    upper = first + CERTAIN * error
    slope, error = _slope_fits(scaled, votes.outcome, votes.source, sources, np.full(sources, centre), prior)
    middle = max(float(np.median(slope[known])) if known.any() else 1.0, 1e-9)
    return Slopes(slope / middle, error / middle, upper / middle)


def _slope_fits(
    margin: Array, outcome: Array, source: IntArray, sources: int, centre: Array, variance: Array
) -> tuple[Array, Array]:
    """Each source's r under the prior N(centre, variance), all at once by Newton's method."""
    slope = centre.copy()
    curvature = 1.0 / variance
    at = np.maximum(source, 0)
    for _ in range(60):
        p = logistic(slope[at] * margin)
        gradient = _sum((outcome - p) * margin, source, sources) - (slope - centre) / variance
        curvature = _sum(p * (1 - p) * margin**2, source, sources) + 1.0 / variance
        step = np.clip(gradient / curvature, -0.3, 0.3)
        slope += step
        if np.abs(step).max(initial=0.0) < 1e-9:
            break
    return slope, 1.0 / np.sqrt(curvature)


def _flags(
    count: IntArray, left: Array, information: Array, upper: Array, coin: BoolArray, at_chance: BoolArray
) -> list[Flag | None]:
    aside = np.abs(left - 0.5) / np.sqrt(0.25 / np.maximum(count, 1)) > ONE_SIDED
    found: list[Flag | None] = []
    for s in range(len(count)):
        if count[s] < LEAST_VOTES:
            found.append("too few to tell")
        elif aside[s]:
            found.append("one-sided")
        elif information[s] < LEAST_INFORMATION and not at_chance[s]:
            found.append("undecidable")
        elif information[s] >= LEAST_INFORMATION and upper[s] < 0:
            found.append("against")
        elif coin[s] or at_chance[s]:
            found.append("at chance")
        else:
            found.append(None)
    return found


def information_of(margin: Array) -> Array:
    """KL(σ(m) ‖ ½) in nats: how well a vote on a pair of this margin tells the crowd from a coin."""
    p = np.clip(logistic(margin), 1e-12, 1 - 1e-12)
    return np.log(2.0) + p * np.log(p) + (1 - p) * np.log(1 - p)


def _sum(values: Array, source: IntArray, sources: int) -> Array:
    named: BoolArray = source >= 0
    return np.bincount(source[named], weights=values[named], minlength=sources).astype(np.float64)

"""Are these votes enough: a verdict that stays valid though one looks after every vote.

The leader is settled at level 1 - δ when for every other item k, with z_k = (u_a - u_k) / se,

    z_k² ≥ log(v₀ / se²) + 2 log(m / 2δ)        v₀: variance of u_a - u_k under the prior, m: comparisons

This is Robbins' mixture boundary (the method of mixtures: a Bayes factor against a tie is a martingale
under the tie, so by Ville's inequality it exceeds m/δ with chance at most δ/m at any time), with a union
over the m comparisons. For the logistic model it holds asymptotically; docs/answers.md has the errors
measured at near ties. For the k best, every one of them is compared with every item outside.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from duelwise.answers.belief import Posterior
from duelwise.answers.utility_differences import differences_from
from duelwise.errors import InvalidInput
from duelwise.types import Array, IntArray

LONGEST_FORECAST = 1e9  # votes; beyond it nothing useful can be said
HARDEST = 1000  # comparisons that a forecast looks at: none of the others decides it
RANGE = 0.8  # chance that the stated range of votes needed is to hold
SPREAD = 0.62  # standard errors by which a z of today is off, in effect: the pair in question may change
SPREAD_AHEAD = 0.64  # the same while votes are out
LATER_VOTES = (
    0.7  # of so many votes as those before, later ones are worth as much: they are asked knowing more
)


class Settled(NamedTuple):
    """Whether the leaders are settled, and about how many more votes that takes."""

    level: float
    settled: bool
    leaders: IntArray  # (top,) positions, best first
    votes_needed: float  # more of them; 0 once settled, inf where it cannot be foreseen
    votes_low: float  # and the range that holds it with chance 0.8
    votes_high: float


def settled(answer: Posterior, z: Array, *, level: float = 0.95, top: int = 1, out: int = 0) -> Settled:
    """The verdict on items z (K, d): who leads, and whether more votes are needed; `out` are on their way."""
    if not 0.5 < level < 1:
        raise InvalidInput(f"level is {level}; expected a probability above one half, such as 0.95.")
    if not 1 <= top < len(z):
        raise InvalidInput(f"top is {top} of {len(z)} items; expected at least 1, and fewer than there are.")
    utility = z @ answer.mean
    leaders: IntArray = np.argsort(-utility, kind="stable")[:top]
    certainty, growth = _evidence(answer, z, leaders)
    needed = growth + 2.0 * math.log(len(certainty) / (2.0 * (1.0 - level)))
    done = bool(np.all((certainty > 0) & (certainty**2 >= needed)))
    if done:
        return Settled(level, True, leaders, 0.0, 0.0, 0.0)
    hardest = _hardest(certainty, needed)
    forecast = [
        _more_votes(answer.votes, certainty[hardest], needed[hardest], off, out) for off in _offsets()
    ]
    return Settled(level, False, leaders, *forecast)


def _evidence(answer: Posterior, z: Array, leaders: IntArray) -> tuple[Array, Array]:
    """(m,) z and log(v₀/se²) of every leader against every item outside."""
    certainty: list[Array] = []
    growth: list[Array] = []
    for leader in leaders.tolist():
        above, variance, before = (np.delete(one, leaders) for one in differences_from(answer, z, z[leader]))
        variance = np.maximum(variance, 1e-300)
        certainty.append(-above / np.sqrt(variance))
        # Equal items, z - z' = 0, are told apart by no number of votes.
        growth.append(np.where(before > 0, np.log(np.maximum(before, variance) / variance), np.inf))
    return np.concatenate(certainty), np.concatenate(growth)


def _hardest(certainty: Array, needed: Array) -> IntArray:
    """Positions of the comparisons that are farthest from being decided."""
    if len(certainty) <= HARDEST:
        return np.arange(len(certainty))
    done = certainty * np.abs(certainty) / needed
    return np.argpartition(done, HARDEST)[:HARDEST]


def _offsets() -> tuple[float | None, float, float]:
    """The middle, and by how far z may be off at both ends of the range."""
    half = NormalDist().inv_cdf(0.5 + RANGE / 2)
    return None, half, -half


def _more_votes(votes: int, certainty: Array, needed: Array, off: float | None, out: int) -> float:
    """How many more votes until every comparison is decided, were z today what it is by truth.

    z² grows with the votes: N = n · needed(N) / z², where needed grows by log(N/n). A z near nought is
    raised to the mean it has given that the leader leads, z + φ(z)/Φ(z). The first votes were asked before
    any had come, as many as are out now: they told little.
    """
    if votes == 0:
        return math.inf
    if off is None:
        density = np.exp(-0.5 * certainty**2) / math.sqrt(2.0 * math.pi)
        z = certainty + density / ndtr(certainty)
    else:  # quantiles of N(z, spread²) above nought
        spread = SPREAD_AHEAD if out else SPREAD
        above = NormalDist().cdf(-off) * ndtr(certainty / spread)
        z = certainty - spread * ndtri(np.clip(above, 1e-12, 1 - 1e-12))
    square = np.maximum(z, 1e-6) ** 2
    longer = np.ones(len(z))
    for _ in range(50):
        longer = np.maximum((needed + np.log(longer)) / square, 1.0)
    telling = max(votes - out, votes / 2)
    more = LATER_VOTES * telling * (float(longer.max()) - 1.0)
    return more if more < LONGEST_FORECAST else math.inf

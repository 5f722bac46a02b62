"""Items in order of utility, with what is known and what is not: intervals, rank ranges, P(best).

Utilities are counted from the mean of the items ranked, since only differences show in votes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincinv, ndtr

from duelwise.answers.belief import Posterior
from duelwise.answers.utility_differences import differences_from, held_equal
from duelwise.errors import InvalidInput
from duelwise.randomness import generator
from duelwise.types import Array, IntArray

PAIRWISE = 400  # so many items at most are compared each with each; more by their own intervals
CONTENDERS = 512  # P(best) is drawn for so many items at most, those of highest upper bound
DRAWS = 4000  # of Θ: P(best) is good to ±.008


class Ranking(NamedTuple):
    """Items in order of rank, as many as are shown; every array is (K,)."""

    position: IntArray  # among the items as given
    utility: Array
    standard_error: Array
    low: Array
    high: Array
    rank: IntArray  # from 1
    rank_low: IntArray  # all ranges hold at once with the level's chance
    rank_high: IntArray
    probability_best: Array
    beats_next: Array  # chance that its utility is above that of the next; NaN for the last


def rank(
    answer: Posterior, z: Array, *, adjust: Sequence[int] = (), level: float = 0.95, seed: int = 0,
    shown: int | None = None,
) -> Ranking:  # fmt: skip
    """Rank items z (K, d), of which the first are shown; features in `adjust` are held equal."""
    if len(z) < 2:
        raise InvalidInput(f"There are {len(z)} items; a ranking needs at least two.")
    if not 0 < level < 1:
        raise InvalidInput(f"level is {level}; expected a probability between 0 and 1.")
    answer, middle = held_equal(answer, adjust), z.mean(axis=0)
    seen = differences_from(answer, z, middle)
    order = np.argsort(-seen.above, kind="stable")
    utility, error = seen.above[order], np.sqrt(seen.variance[order])
    low_rank, high_rank = _rank_ranges(answer, z, order, utility, error, level)
    half = NormalDist().inv_cdf(0.5 + level / 2) * error
    best = _probability_best(answer, z, order, utility + half, low_rank, seed)
    first = slice(shown)
    return Ranking(
        position=order[first],
        utility=utility[first],
        standard_error=error[first],
        low=(utility - half)[first],
        high=(utility + half)[first],
        rank=np.arange(1, len(z) + 1)[first],
        rank_low=low_rank[first],
        rank_high=high_rank[first],
        probability_best=best[first],
        beats_next=_beats_next(answer, z, order, utility, shown),
    )


def win_probability(answer: Posterior, first: Array, second: Array) -> float:
    """The chance that a vote goes to the first: E σ(u - u'), by the probit's closed form."""
    apart = first - second
    variance = float(apart @ answer.covariance @ apart)
    return 1.0 / (1.0 + math.exp(-float(apart @ answer.mean) / math.sqrt(1.0 + math.pi * variance / 8.0)))


def _spread(rows: Array, covariance: Array) -> Array:
    """√(zᵀ P z) of every row."""
    return np.sqrt(np.maximum(np.einsum("ij,ij->i", rows @ covariance, rows), 0.0))


def _critical(level: float, comparisons: int, dim: int) -> float:
    """A factor at which all intervals hold at once: Bonferroni's or Scheffé's, whichever is shorter."""
    one_by_one = NormalDist().inv_cdf(1.0 - (1.0 - level) / (2.0 * comparisons))
    return min(one_by_one, math.sqrt(2.0 * gammaincinv(dim / 2.0, level)))  # the quantile of χ²


def _rank_ranges(
    answer: Posterior, z: Array, order: IntArray, utility: Array, error: Array, level: float
) -> tuple[IntArray, IntArray]:
    """Ranks from 1 + items that are surely better to K - items that are surely worse."""
    count, dim = z.shape
    if count > PAIRWISE:
        reach = _critical(level, count, dim) * error
        low, high = np.sort(utility - reach), np.sort(utility + reach)
        better = count - np.searchsorted(low, utility + reach, side="right")
        worse = np.searchsorted(high, utility - reach, side="left")
        return 1 + better, count - worse
    centred = (z - z.mean(axis=0))[order]
    gram = centred @ answer.covariance @ centred.T
    own = np.diagonal(gram)
    apart = utility[:, None] - utility
    reach = _critical(level, count * (count - 1) // 2, dim) * np.sqrt(
        np.maximum(own[:, None] + own - 2.0 * gram, 0.0)
    )
    return 1 + (apart < -reach).sum(axis=1), count - (apart > reach).sum(axis=1)


def _probability_best(
    answer: Posterior, z: Array, order: IntArray, upper: Array, rank_low: IntArray, seed: int
) -> Array:
    """The share of draws of Θ in which an item is best, among those that can be; equal items share theirs."""
    chance = np.zeros(len(order))
    contenders = np.flatnonzero(rank_low == 1)
    if len(contenders) > CONTENDERS:
        contenders = contenders[np.argsort(-upper[contenders], kind="stable")[:CONTENDERS]]
    values, vectors = np.linalg.eigh(answer.covariance)
    noise = generator(seed, "answers/best", 0).standard_normal((DRAWS, len(values)))
    theta = answer.mean + (noise * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    counts = np.diagonal(answer.covariance) > 0  # what is held equal tells no items apart
    rows, which, times = np.unique(
        z[order[contenders]] * counts, axis=0, return_inverse=True, return_counts=True
    )
    wins = np.bincount((theta @ (rows - rows[0]).T).argmax(axis=1), minlength=len(rows))
    chance[contenders] = (wins / times)[which.reshape(-1)] / DRAWS  # a column in NumPy 2.0.0
    return chance


def _beats_next(answer: Posterior, z: Array, order: IntArray, utility: Array, shown: int | None) -> Array:
    """(shown,) the chance of each to be above the next; NaN for the last of all."""
    count = len(order) if shown is None else min(shown, len(order))
    rows = z[order[: count + 1]]
    spread = _spread(rows[:-1] - rows[1:], answer.covariance)
    chance = np.full(count, np.nan)
    lead = -np.diff(utility[: count + 1])
    chance[: len(spread)] = ndtr(lead / np.maximum(spread, 1e-300))
    return chance

"""Of the crowd or a coin: which of the two a source's votes are likelier from, where honest raters slip.

    crowd   P(o = 1) = ε + (1 - 2ε) σ(b m)       m: the margin by the others' votes
    coin    P(o = 1) = ½
    L = Σ log P(o | crowd) / ½                   mean Σ KL(P ‖ ½) and variance Σ P(1 - P) log²(P/(1 - P)),
                                                 were the source of the crowd

A vote is a guess with chance 2ε, else it follows the margin; b mends that margins are too small where some
lie. Both are fitted to all votes, each counted by its source's weight (expectation-maximisation). Without ε
one slip on a clear pair would accuse an honest source. A source is a coin when that is the likelier, and
when L is lower than chance allows in the crowd: where votes tell little, only the second decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from duelwise.answers.logistic import logistic
from duelwise.types import Array, BoolArray, IntArray

STEPS = 60  # of the fit
MOST_GUESSES = 0.5  # 2ε
LIKELIER = 0.5  # nats by which the coin must be the likelier; tuned on seeds 700 to 739
SURE = 2.6  # standard errors of L below what the crowd expects: one in two hundred by chance


class Coins(NamedTuple):
    """Every array is (S,)."""

    evidence: Array  # L in nats
    information: Array  # what L is expected to be for a source of the crowd
    coin: BoolArray


def coins(margin: Array, outcome: Array, source: IntArray, weight: Array) -> Coins:
    """Margins and outcomes (n,), source (n,) with -1 where none is named, weight (S,) of the sources."""
    decided, sources = outcome != 0.5, len(weight)  # a tie says nothing of its source
    counted = np.where(source >= 0, weight[source], 1.0) if sources else np.ones(len(source))
    guesses, slope = _fitted(np.where(outcome > 0.5, margin, -margin)[decided], counted[decided])
    chance = np.clip(0.5 * guesses + (1 - guesses) * logistic(slope * margin), 1e-12, 1 - 1e-12)
    odds = np.log(chance) - np.log1p(-chance)
    told = np.log(2.0) + np.where(outcome > 0.5, np.log(chance), np.log1p(-chance))
    expected = np.log(2.0) + chance * np.log(chance) + (1 - chance) * np.log1p(-chance)
    rows = decided & (source >= 0)

    def summed(values: Array) -> Array:
        return np.bincount(source[rows], weights=values[rows], minlength=sources).astype(np.float64)

    evidence, information = summed(told), summed(expected)
    error = np.sqrt(summed(chance * (1 - chance) * odds**2))
    return Coins(evidence, information, (evidence < -LIKELIER) & (information - evidence > SURE * error))


def _fitted(agreeing: Array, weight: Array) -> tuple[float, float]:
    """2ε and b from the margins of the sides voted for."""
    guesses, slope, total = 0.1, 1.0, max(float(weight.sum()), 1e-12)
    for _ in range(STEPS):
        p = logistic(slope * agreeing)
        guess = 0.5 * guesses / np.maximum(0.5 * guesses + (1 - guesses) * p, 1e-300)
        guesses = min(float((weight * guess).sum()) / total, MOST_GUESSES)
        own = weight * (1 - guess)
        gradient = float((own * (1 - p) * agreeing).sum())
        curvature = float((own * p * (1 - p) * agreeing**2).sum())
        slope = min(max(slope + gradient / max(curvature, 1e-12), slope / 2), 2 * slope)
    return guesses, slope

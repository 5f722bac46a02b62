"""Agreement with others on the very same question: what votes on one pair by several sources tell.

No model of the items is needed, so it sees sources that the slope of raters.py is too coarse for. A vote is
compared with the majority of other sources on its pair. How often an honest source agrees depends on how
close the pair is: what is expected is the agreement of all sources on pairs of about the same margin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from duelwise.types import Array, BoolArray, IntArray

LEAST_COMPARED = 20  # votes that somebody else's majority can be held against
SURE = 2.75  # standard errors below what is expected: one in 330 by chance
STRATA = 10  # of the margin, each with as many votes


class Consensus(NamedTuple):
    """Every array is (S,)."""

    compared: IntArray  # votes on pairs on which others have a majority
    agreement: Array  # share of them that go with it
    expected: Array  # the same of all sources on pairs as close
    at_chance: BoolArray  # surely below what is expected, and nearer to a coin

    @property
    def trust(self) -> Array:
        """(S,) from 0, a coin, to 1, as the crowd."""
        return np.clip((self.agreement - 0.5) / np.maximum(self.expected - 0.5, 1e-9), 0.0, 1.0)


def consensus(dz: Array, outcome: Array, source: IntArray, sources: int, margin: Array) -> Consensus:
    """dz (n, d), outcome, source and margin (n,); ties, and votes without a source, are not compared."""
    lead = _lead_of_others(dz, outcome, source, sources)
    rows = np.flatnonzero((source >= 0) & (lead != 0) & (outcome != 0.5))
    hit = ((outcome[rows] > 0.5) == (lead[rows] > 0)).astype(np.float64)
    usual = _usual(np.abs(margin[rows]), hit)

    def summed(values: Array) -> Array:
        return np.bincount(source[rows], weights=values, minlength=sources).astype(np.float64)

    compared = np.bincount(source[rows], minlength=sources)
    count = np.maximum(compared, 1)
    agreement, expected = summed(hit) / count, summed(usual) / count
    error = np.sqrt(np.maximum(summed(usual * (1 - usual)), 1e-12)) / count
    low = (compared >= LEAST_COMPARED) & (expected - agreement > SURE * error)
    return Consensus(compared, agreement, expected, low & (agreement < (0.5 + expected) / 2))


def _lead_of_others(dz: Array, outcome: Array, source: IntArray, sources: int) -> Array:
    """(n,) by how many votes other sources favour the first of the pair, over all votes on the same pair."""
    if not len(outcome):
        return np.zeros(0)
    mix: Array = np.random.default_rng(0).normal(size=int(dz.shape[1]))
    key = np.asarray(
        (dz * mix).sum(axis=1), dtype=np.float64
    )  # equal for equal pairs, turned round with the pair
    side = np.sign(key)
    _, pair = np.unique(np.abs(key), return_inverse=True)
    push = side * (outcome - 0.5)
    whole: Array = np.bincount(pair, weights=push).astype(np.float64)[pair]
    own_pair = pair * (sources + 1) + source + 1
    _, both = np.unique(own_pair, return_inverse=True)
    own: Array = np.bincount(both, weights=push).astype(np.float64)[both]
    return side * (whole - own)


def _usual(closeness: Array, hit: Array) -> Array:
    """(n,) the share of hits among votes of about the same closeness."""
    order = np.argsort(closeness, kind="stable")
    found = np.empty(len(hit))
    for rows in np.array_split(order, STRATA):
        if len(rows):
            found[rows] = hit[rows].mean()
    return found

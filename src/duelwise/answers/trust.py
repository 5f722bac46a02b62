"""Whose votes should count: every source is of the crowd, a coin, or against it.

    crowd     P(o = 1) = ε + (1 - 2ε) σ(m)      m = Δzᵀθ̂ within ±10 logits, ε a slip
    against   the same of the other side;  coin  ½

θ̂ is fitted to the votes, each counted by the chance that its source is of the crowd; chances and shares of
the three kinds follow from θ̂ by Bayes' rule, and so on in turn. A source is distrusted when it is less likely
than not of the crowd, and its votes can tell: Σ KL(σ(m) ‖ ½) is enough. Where votes are nearly certain, one
or two decide; where no pair is clear it takes dozens, since an early θ̂ is surer than it should be.
"""

from __future__ import annotations

import numpy as np

from duelwise.answers.offline import unit_precision
from duelwise.answers.raters import fit, information_of
from duelwise.types import Array, BoolArray, IntArray

SLIP = 0.003  # of the crowd's votes, however clear the pair
SUREST = 10.0  # logits
SCALE = 10.0  # of utility differences that the prior expects: votes may be nearly certain
ROUNDS = 4
PRIOR = (0.85, 0.05, 0.1)  # crowd, coin, against
LEAST_SHARE, MOST_SHARE, LEAST_CROWD = 0.02, 0.3, 0.5  # bounds of the shares that are learned
LEAST_TOLD = 3.0  # nats, as in raters.py: with fewer even the truth could not tell a liar,
LEAST_CLEARLY = 0.4  # unless so many come from votes on clear pairs; measured, docs/answers.md
CLEAR = 0.2  # nats of one vote, at a chance of 81 %
DISTRUSTED = 0.5  # chance to be of the crowd below which votes do not count


def distrusted(dz: Array, outcome: Array, source: IntArray, sources: int) -> BoolArray:
    """(S,) whose votes should not count: dz (n, d), outcome (n,), source (n,) with -1 where none is named."""
    crowd, share = np.ones(sources), np.array(PRIOR)
    told, clearly = np.zeros(sources), np.zeros(sources)
    if not len(outcome) or not sources:
        return np.zeros(sources, dtype=np.bool_)
    variance, theta = SCALE**2 / unit_precision(dz), np.zeros(int(dz.shape[1]))
    named = (source >= 0) & (outcome != 0.5)  # a tie says nothing of its source
    for _ in range(ROUNDS):
        counted = np.where(source >= 0, crowd[source], 1.0)
        theta, _ = fit(dz, outcome, counted, variance, start=theta)
        margin = dz @ theta
        kinds = _kinds(margin[named], outcome[named], source[named], share, sources)
        share = np.clip(kinds.mean(axis=0), LEAST_SHARE, MOST_SHARE)
        share[0] = max(float(kinds[:, 0].mean()), LEAST_CROWD)
        share /= share.sum()
        crowd = kinds[:, 0]
        nats = information_of(margin[named])
        told = np.bincount(source[named], weights=nats, minlength=sources)
        clearly = np.bincount(source[named], weights=nats * (nats >= CLEAR), minlength=sources)
    return ((told >= LEAST_TOLD) | (clearly >= LEAST_CLEARLY)) & (crowd < DISTRUSTED)


def _kinds(margin: Array, outcome: Array, source: IntArray, share: Array, sources: int) -> Array:
    """(S, 3) the chances that each source is of the crowd, a coin, or against."""
    sure = SLIP + (1 - 2 * SLIP) / (1.0 + np.exp(-np.clip(margin, -SUREST, SUREST)))
    likely = np.where(outcome > 0.5, sure, 1 - sure)
    log_chances = np.stack(
        [
            np.bincount(source, weights=each, minlength=sources)
            for each in (np.log(likely), np.full(len(likely), np.log(0.5)), np.log(1 - likely))
        ],
        axis=1,
    ) + np.log(share)
    chances: Array = np.exp(log_chances - log_chances.max(axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)

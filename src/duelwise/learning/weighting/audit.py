"""A serving ramp that is looked at again: early votes that agree with the rest come to count fully.

From 2C votes on, whenever their number has grown by a quarter, Θ is fitted with ramp weights; the early
duels, up to rank 4C, are judged in blocks of C: a block whose votes go along with that Θ counts fully, any
other keeps its ramp. This needs the votes again, so only an estimate that keeps them audits: in one pass
the ramp is all there is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.pending import Pending
from duelwise.learning.core.roles import reweigh, weigh_observed
from duelwise.learning.core.state import Fit
from duelwise.learning.estimation.maximum_likelihood import VoteHistory, margins, solve, start_over
from duelwise.learning.weighting.ramps import check_ramp
from duelwise.learning.weighting.weights import ramp_weight
from duelwise.types import Array

BLOCKS = 4  # the ramp is four blocks of C duels long
FIRST = 2.0  # in C: votes before the first audit
GROWTH = 1.25  # from one audit to the next
AGREES = 0.5  # the slope from which a block is believed: 1 as the model says, 0 a coin


class AuditedState(NamedTuple):
    """An upper bound C on the lies, and the ramp's power."""

    lies: float
    power: float


@kernel(weigh_observed, AuditedState)
def on_the_ramp(audit: AuditedState, pending: Pending, r: int, slot: int) -> float:
    """The weight of a duel until an audit finds otherwise."""
    return ramp_weight(pending.rank[r, slot], BLOCKS * audit.lies, audit.power)


@kernel(reweigh, AuditedState)
def audit_early_votes(audit: AuditedState, fit: Fit, r: int, history: VoteHistory) -> bool:
    """Weigh the early duels anew where an audit is due; True where it was."""
    if not _is_due(audit, history.known[r], history.held[r]):
        return False
    n, length = history.held[r], BLOCKS * audit.lies
    for i in range(n):
        history.weight[r, i] = history.votes[r, i] * ramp_weight(history.rank[r, i], length, audit.power)
    theta = fit.theta[r].copy()
    start_over(history, r, theta, fit.rules.regularisation[r], fit.rules.link)
    solve(history, r, theta, fit.rules.regularisation[r], fit.rules.link)
    slope = block_slopes(audit, history, r, theta)
    for i in range(n):
        if history.rank[r, i] <= length and slope[_block(audit, history.rank[r, i])] >= AGREES:
            history.weight[r, i] = history.votes[r, i]
    return True


@compiled
def block_slopes(audit: AuditedState, history: VoteHistory, r: int, theta: Array) -> Array:
    """(4,) Σ s tanh(m/2) / Σ tanh²(m/2) of each block: s = ±1 the vote, m = Θᵀ Δz its margin."""
    n, margin = history.held[r], history.scratch[r, 0]
    margins(history.z[r], theta, n, margin)
    along, square = np.zeros(BLOCKS), np.zeros(BLOCKS)
    for i in range(n):
        if history.rank[r, i] <= BLOCKS * audit.lies:
            block, lean = _block(audit, history.rank[r, i]), math.tanh(0.5 * margin[i])
            along[block] += history.votes[r, i] * (2.0 * history.outcome[r, i] - 1.0) * lean
            square[block] += history.votes[r, i] * lean * lean
    for block in range(BLOCKS):
        along[block] = along[block] / square[block] if square[block] > 0.0 else 0.0
    return along


@compiled
def _block(audit: AuditedState, rank: float) -> int:
    return min(int((rank - 1.0) / audit.lies), BLOCKS - 1)


@compiled
def _is_due(audit: AuditedState, before: int, now: int) -> bool:
    """Whether the number of duels has passed 2C · 1.25^k for some k."""
    if now < FIRST * audit.lies or now <= before:
        return False
    if before < FIRST * audit.lies:
        return True
    steps = math.log(GROWTH)
    return math.floor(math.log(now / (FIRST * audit.lies)) / steps) > math.floor(
        math.log(before / (FIRST * audit.lies)) / steps
    )


@dataclass(frozen=True, kw_only=True)
class AuditedRamp:
    """ω = min(1, i/4C)^p for the i-th duel served, and 1 for early blocks that an audit believes."""

    corruption_budget: float  # C, an upper bound
    power: float = 3.0

    def __post_init__(self) -> None:
        if not 1 <= self.corruption_budget < math.inf:
            raise InvalidInput(
                f"corruption_budget is {self.corruption_budget}; the audit judges blocks of that many "
                "duels, so it needs at least 1. Give an upper bound on the lies."
            )
        check_ramp(BLOCKS * self.corruption_budget, self.power)

    def start(self, runs: int) -> AuditedState:
        return AuditedState(float(self.corruption_budget), float(self.power))

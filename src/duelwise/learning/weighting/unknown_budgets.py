"""The clip of (4) when neither the lies nor the delays are known beforehand.

α = √d / (√T + D), where D is the most votes that have been out at once: it stands for the delays, √T for
the lies that the theorem forgives. At each new maximum of D all weights are taken again from the leverages
that were kept, where the estimate keeps its votes; V stays as it is. Without the votes of before, α is
fixed at √d / 2√T. Where the horizon is not known either, T is the next power of two of the duels served, and
2,048 at the least: in shorter epochs early lies would count in full before anything speaks against them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.equations import adaptive_weight
from duelwise.learning.core.pending import Pending
from duelwise.learning.core.roles import reweigh, weigh_observed, weigh_served
from duelwise.learning.core.state import Fit
from duelwise.learning.estimation.maximum_likelihood import VoteHistory
from duelwise.types import Array

FIRST_EPOCH = 2048.0  # rounds of the first epoch where the horizon is not known


class Clip(NamedTuple):
    """What is remembered."""

    alpha: Array  # (R,)


class UnknownState(NamedTuple):
    """α as it stands, and what it follows from."""

    memory: Clip
    horizon: float  # T, or 0 where it is not known
    counts_pending: bool  # D in the clip, else √T once more


@kernel(weigh_served, UnknownState)
def follow_the_pending(unknown: UnknownState, pending: Pending, r: int, slot: int) -> float:
    """α after one more duel is out; the duel's own weight follows when y is known."""
    horizon = unknown.horizon
    if horizon == 0.0:
        horizon = FIRST_EPOCH
        while horizon < pending.next_round[r]:
            horizon *= 2.0
    root, d = math.sqrt(horizon), pending.dz.shape[2]
    other = float(pending.most_out[r]) if unknown.counts_pending else root
    unknown.memory.alpha[r] = math.sqrt(d) / (root + other)
    return 1.0


@kernel(weigh_observed, UnknownState)
def clipped_for_now(unknown: UnknownState, pending: Pending, r: int, slot: int) -> float:
    """(4) in V before the duel, with α as it stands."""
    return adaptive_weight(pending.leverage[r, slot], unknown.memory.alpha[r])


@kernel(reweigh, UnknownState)
def clip_again(unknown: UnknownState, fit: Fit, r: int, history: VoteHistory) -> bool:
    """Every weight with α as it stands; True where that changed any that was counted."""
    changed, alpha = False, unknown.memory.alpha[r]
    for i in range(history.held[r]):
        weight = history.votes[r, i] * adaptive_weight(history.leverage[r, i], alpha)
        changed = changed or (i < history.known[r] and weight != history.weight[r, i])
        history.weight[r, i] = weight
    return changed


@dataclass(frozen=True, kw_only=True)
class UnknownBudgets:
    """ω = min(1, α/‖Δz‖_{V⁻¹}) with α = √d / (√T + D) from what is seen, T known or not."""

    horizon: int | None = None  # T
    counts_pending: bool = True  # needs an estimate that keeps its votes

    def __post_init__(self) -> None:
        if self.horizon is not None and self.horizon < 1:
            raise InvalidInput(f"horizon is {self.horizon}; expected a number of rounds, or None.")

    def start(self, runs: int) -> UnknownState:
        return UnknownState(Clip(np.ones(runs)), float(self.horizon or 0), bool(self.counts_pending))

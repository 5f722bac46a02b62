"""How much a vote counts: always 1, or clipped by the leverage of its duel.

The weight ω = min(1, α/‖Δz‖) is fixed either when the duel's y is seen, in the
geometry V of all served duels (RCDP-UCB: no delay can change it), or when its vote
arrives, in the geometry W of the arrived ones (RCDB). All three are two clips α,
at serving and on arrival; ∞ leaves the vote as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.equations import adaptive_weight, leverage
from duelwise.learning.core.pending import Pending
from duelwise.learning.core.roles import weigh_arrived, weigh_observed
from duelwise.learning.core.state import Fit
from duelwise.learning.weighting.weighting import per_run
from duelwise.types import Array


class Clips(NamedTuple):
    """α of a weight fixed at serving, and of one fixed on arrival."""

    served: Array  # (R,)
    arrived: Array  # (R,)


@kernel(weigh_observed, Clips)
def clipped_when_observed(clips: Clips, pending: Pending, r: int, slot: int) -> float:
    """(4) in V before the duel."""
    return adaptive_weight(pending.leverage[r, slot], clips.served[r])


@kernel(weigh_arrived, Clips)
def clipped_on_arrival(clips: Clips, fit: Fit, r: int, dz: Array, weight: float) -> float:
    """RCDB's weight: (4) in W before the vote."""
    if clips.arrived[r] < np.inf:
        return weight * adaptive_weight(leverage(dz, fit.arrived.inverse[r]), clips.arrived[r])
    return weight


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """ω = 1."""

    def start(self, runs: int) -> Clips:
        return Clips(np.full(runs, np.inf), np.full(runs, np.inf))


@dataclass(frozen=True, kw_only=True)
class ServedLeverage:
    """(4): ω = min(1, α/‖Δz‖_{V⁻¹}), fixed before the vote can be delayed or forged."""

    clip: float | Array  # α

    def start(self, runs: int) -> Clips:
        return Clips(per_run("clip", self.clip, runs, infinite=True), np.full(runs, np.inf))


@dataclass(frozen=True, kw_only=True)
class ArrivedLeverage:
    """RCDB: ω = min(1, α/‖Δz‖_{W⁻¹}) from W just before the vote is added."""

    clip: float | Array  # α

    def start(self, runs: int) -> Clips:
        return Clips(np.full(runs, np.inf), per_run("clip", self.clip, runs, infinite=True))

"""How much a vote counts: always 1, or clipped by the leverage of its duel.

The weight ω = min(1, α/‖Δz‖) is fixed either when the duel's y is seen, in the
geometry V of all served duels (RCDP-UCB: no delay can change it), or when its vote
arrives, in the geometry W of the arrived ones (RCDB). All three are two clips α,
at serving and on arrival; ∞ leaves the vote as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from duelwise.learning.weighting.weights import Weights, per_run, unclipped
from duelwise.types import Array


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """ω = 1."""

    def start(self, runs: int) -> Weights:
        return Weights(*unclipped(runs))


@dataclass(frozen=True, kw_only=True)
class ServedLeverage:
    """(4): ω = min(1, α/‖Δz‖_{V⁻¹}), fixed before the vote can be delayed or forged."""

    clip: float | Array  # α

    def start(self, runs: int) -> Weights:
        return Weights(per_run("clip", self.clip, runs, infinite=True), unclipped(runs)[1])


@dataclass(frozen=True, kw_only=True)
class ArrivedLeverage:
    """RCDB: ω = min(1, α/‖Δz‖_{W⁻¹}) from W just before the vote is added."""

    clip: float | Array  # α

    def start(self, runs: int) -> Weights:
        return Weights(unclipped(runs)[0], per_run("clip", self.clip, runs, infinite=True))

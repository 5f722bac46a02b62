"""Votes that count less at first, because lies that come first do the most harm.

Both ramps are w = min(1, i/n)^p. On the serving ramp i is the rank of the duel among those served of two
different candidates, so no delay can change it; on the arrival ramp it is the rank of the vote as it came,
so late lies gain nothing from having been asked for early.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from duelwise.errors import InvalidInput
from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.pending import Pending
from duelwise.learning.core.roles import weigh_arrived, weigh_observed
from duelwise.learning.core.state import Fit
from duelwise.types import Array


@compiled
def ramp_weight(rank: float, length: float, power: float) -> float:
    """w = min(1, rank/length)^power."""
    return math.pow(min(1.0, rank / length), power)


class ServingRampState(NamedTuple):
    """The length n and the power p."""

    length: float
    power: float


@kernel(weigh_observed, ServingRampState)
def by_rank_of_serving(ramp: ServingRampState, pending: Pending, r: int, slot: int) -> float:
    """The weight of a duel, whatever its Δz."""
    return ramp_weight(pending.rank[r, slot], ramp.length, ramp.power)


class ArrivalRampState(NamedTuple):
    """The length n and the power p."""

    length: float
    power: float


@kernel(weigh_observed, ArrivalRampState)
def not_yet(ramp: ArrivalRampState, pending: Pending, r: int, slot: int) -> float:
    """At serving every duel counts alike."""
    return 1.0


@kernel(weigh_arrived, ArrivalRampState)
def by_rank_of_arrival(ramp: ArrivalRampState, fit: Fit, r: int, dz: Array, weight: float) -> float:
    """The weight of the next vote that comes."""
    return weight * ramp_weight(fit.admitted[r] + 1.0, ramp.length, ramp.power)


@dataclass(frozen=True, kw_only=True)
class ServingRamp:
    """ω = min(1, i/n)^p for the i-th duel served."""

    length: float  # n, for instance 4C
    power: float = 3.0

    def __post_init__(self) -> None:
        check_ramp(self.length, self.power)

    def start(self, runs: int) -> ServingRampState:
        return ServingRampState(float(self.length), float(self.power))


@dataclass(frozen=True, kw_only=True)
class ArrivalRamp:
    """ω = min(1, i/n)^p for the i-th vote that arrives."""

    length: float = 100.0  # n
    power: float = 1.0

    def __post_init__(self) -> None:
        check_ramp(self.length, self.power)

    def start(self, runs: int) -> ArrivalRampState:
        return ArrivalRampState(float(self.length), float(self.power))


def check_ramp(length: float, power: float) -> None:
    """Refuse a ramp that is no ramp."""
    if not 0 < length < float("inf") or not 0 <= power < float("inf"):
        raise InvalidInput(
            f"A ramp has length {length} and power {power}; expected a positive number of votes and a "
            "power of at least 0."
        )

"""Votes that count less at first, because lies that come first do the most harm.

Both ramps are w = min(1, i/n)^p. On the serving ramp i is the rank of the duel among those served of two
different candidates, so no delay can change it; on the arrival ramp it is the rank of the vote as it came,
so late lies gain nothing from having been asked for early.
"""

from __future__ import annotations

from dataclasses import dataclass

from duelwise.errors import InvalidInput
from duelwise.learning.weighting.weights import Weights, unclipped


@dataclass(frozen=True, kw_only=True)
class ServingRamp:
    """ω = min(1, i/n)^p for the i-th duel served."""

    length: float  # n, for instance 4C
    power: float = 3.0

    def __post_init__(self) -> None:
        check_ramp(self.length, self.power)

    def start(self, runs: int) -> Weights:
        return Weights(*unclipped(runs), serving_ramp=float(self.length), power=float(self.power))


@dataclass(frozen=True, kw_only=True)
class ArrivalRamp:
    """ω = min(1, i/n)^p for the i-th vote that arrives."""

    length: float = 100.0  # n
    power: float = 1.0

    def __post_init__(self) -> None:
        check_ramp(self.length, self.power)

    def start(self, runs: int) -> Weights:
        return Weights(*unclipped(runs), arrival_ramp=float(self.length), power=float(self.power))


def check_ramp(length: float, power: float) -> None:
    """Refuse a ramp that is no ramp."""
    if not 0 < length < float("inf") or not 0 <= power < float("inf"):
        raise InvalidInput(
            f"A ramp has length {length} and power {power}; expected a positive number of votes and a "
            "power of at least 0."
        )

"""A corruption of your own, with a kernel: it lies where the truth is plainest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from duelwise.lab.play.adversary import Sent, flips_over_runs, wants_flip
from duelwise.learning.core import kernel
from duelwise.types import Array, BoolArray, Served


class PlainLieState(NamedTuple):
    gap: float


@kernel(wants_flip, PlainLieState)
def lie(state: PlainLieState, at: int, r: int, sent: Sent) -> bool:
    """Whether the better arm won by a wide margin."""
    lead = sent.utility[sent.first] - sent.utility[sent.second]
    return abs(lead) > state.gap and lead * (sent.outcome - 0.5) > 0.0


@dataclass(frozen=True)
class PlainLies:
    budget: int
    gap: float = 1.0

    def start(self, *, runs: Sequence[int], seed: int) -> "PlainLies":
        return self

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return flips_over_runs(self.compiled(t, len(outcome)), 0, served, outcome, utility)

    def compiled(self, begin: int, runs: int) -> PlainLieState:
        return PlainLieState(self.gap)

"""A delay of your own, with a kernel: the closer the contest, the longer people think."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from duelwise.lab.play.adversary import Sent, delays_over_runs, wanted_delay
from duelwise.lab.play.delays import UNLIMITED
from duelwise.learning.core import kernel
from duelwise.types import Array, IntArray, Served


class HesitationState(NamedTuple):
    longest: int


@kernel(wanted_delay, HesitationState)
def hesitate(state: HesitationState, at: int, r: int, sent: Sent) -> int:
    """longest / (1 + |u_a - u_b|) rounds."""
    return int(state.longest / (1.0 + abs(sent.utility[sent.first] - sent.utility[sent.second])))


@dataclass(frozen=True)
class Hesitation:
    longest: int = 20
    budget: int = UNLIMITED

    def start(self, *, runs: Sequence[int], seed: int) -> "Hesitation":
        return self

    def rounds(self, t: int, served: Served, utility: Array) -> IntArray:
        return delays_over_runs(self.compiled(t, len(utility)), 0, served, utility)

    def compiled(self, begin: int, runs: int) -> HesitationState:
        return HesitationState(self.longest)

"""A selection rule of your own, with a kernel: the two candidates of highest estimated utility."""

from dataclasses import dataclass
from typing import NamedTuple

from duelwise.learning.core import Sight, kernel, roles
from duelwise.learning.selection import View, kernel_pairs
from duelwise.types import IntArray


class TopTwoState(NamedTuple):
    """Nothing to remember."""


@kernel(roles.pair, TopTwoState)
def top_two(state: TopTwoState, sight: Sight) -> tuple[int, int]:
    """argmax and second-best of ⟨Θ, z_k⟩."""
    first, second, best, next_best = 0, 1, -1e300, -1e300
    for k in range(sight.z.shape[0]):
        value = 0.0
        for j in range(sight.z.shape[1]):
            value += sight.z[k, j] * sight.theta[j]
        if value > best:
            first, second, best, next_best = k, first, value, best
        elif value > next_best:
            second, next_best = k, value
    return first, second if second != first else 1 - first


@dataclass(frozen=True)
class TopTwo:
    def pairs(self, view: View) -> IntArray:
        return kernel_pairs(self, view)

    def compiled(self) -> TopTwoState:
        return TopTwoState()

"""Explore before believing: the widest pairs, until enough votes have come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.equations import widest_pair
from duelwise.learning.core.roles import pair
from duelwise.learning.core.state import Sight
from duelwise.learning.selection.rule import CompiledSelection, Noise, Selection, View
from duelwise.types import Array, IntArray

NEVER = -1


class DistrustState(NamedTuple):
    """How many votes Θ̂ needs before it is believed, and the rule that then chooses."""

    votes: int
    then: Any


def distrusted(rule: CompiledSelection) -> DistrustState:
    """The state of any rule, after a phase of distrust that most have not: so that all share a loop."""
    state = rule.compiled()
    return state if isinstance(state, DistrustState) else DistrustState(NEVER, state)


@kernel(pair, DistrustState)
def widest_pair_first(distrust: DistrustState, sight: Sight) -> tuple[int, int]:
    """The pair that would tell most, whatever Θ̂ says; later the other rule's."""
    if sight.votes <= distrust.votes:
        return widest_pair(sight.z, sight.inverse)
    return pair(distrust.then, sight)


@dataclass(frozen=True, kw_only=True)
class Distrust:
    """The widest pair until more than `votes` votes were learned, then what the rule `then` says.

    Lies that come first find an estimate that nobody follows yet.
    """

    votes: int
    then: Selection

    def __post_init__(self) -> None:
        if self.votes < 0:
            raise InvalidInput(f"votes is {self.votes}; expected how many votes to wait for, 0 or more.")

    def pairs(self, view: View) -> IntArray:
        arms = self.then.pairs(view).copy()
        for r in np.flatnonzero(view.votes <= self.votes).tolist():
            arms[r] = widest_pair(np.ascontiguousarray(view.z[r]), np.ascontiguousarray(view.inverse[r]))
        return arms

    def perturbation(self, noise: Noise, round: int, arms: int) -> Array:
        if hasattr(self.then, "perturbation"):
            return cast(Any, self.then).perturbation(noise, round, arms)
        return np.zeros((noise.runs, arms))

    def compiled(self) -> DistrustState:
        return DistrustState(int(self.votes), cast(CompiledSelection, self.then).compiled())

"""The rules of the paper's five algorithms, in one kernel: learners that differ in them share a loop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.equations import (
    first_arm,
    informative_arm,
    informative_pair,
    joint_pair,
    perturbed_arm,
    second_arm,
)
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.roles import pair
from duelwise.learning.core.state import Sight
from duelwise.learning.selection.rule import CompiledSelection, Noise, View, noise_of
from duelwise.types import Array, IntArray

LEADING, PERTURBED, JOINT, INFORMATIVE_ARM, INFORMATIVE_PAIR = range(5)


class BuiltIn(NamedTuple):
    """Which of the rules; none needs to remember anything."""

    rule: int


@kernel(pair, BuiltIn)
def built_in_pair(which: BuiltIn, sight: Sight) -> tuple[int, int]:
    """A leader, (5) or perturbed, with (6) or the least certain arm; or both at once."""
    if which.rule == JOINT:  # RCDB, MaxPairUCB
        return joint_pair(sight.z, sight.theta, sight.inverse, sight.width, sight.distinct)
    if which.rule == INFORMATIVE_PAIR:  # MaxInP as first defined
        return informative_pair(sight.z, sight.theta, sight.inverse, sight.width, sight.distinct)
    if which.rule == PERTURBED:  # CoLSTIM
        first = perturbed_arm(sight.z, sight.theta, sight.inverse, sight.noise)
    else:
        first = first_arm(sight.z, sight.theta)
    if which.rule == INFORMATIVE_ARM:  # MaxInP as published
        return first, informative_arm(sight.z, sight.theta, sight.inverse, first, sight.width)
    return first, second_arm(sight.z, sight.theta, sight.inverse, first, sight.width, sight.distinct)


def kernel_pairs(rule: CompiledSelection, view: View) -> IntArray:
    """(R, 2) by the rule's own kernel, for whoever has only a view."""
    noise = noise_of(rule, view.noise, [view.round], view.z.shape[1])[0]
    return _pairs(
        rule.compiled(), view.z, view.theta, view.inverse, view.width, view.distinct, noise,
        view.votes, view.out,
    )  # fmt: skip


@compiled
def _pairs(
    rule: object, z: Array, theta: Array, inverse: Array, width: Array, distinct: bool, noise: Array,
    votes: IntArray, out: IntArray,
) -> IntArray:  # fmt: skip
    arms = np.empty((z.shape[0], 2), dtype=np.int64)
    for r in range(z.shape[0]):
        sight = Sight(z[r], theta[r], inverse[r], width[r], distinct, noise[r], votes[r], out[r])
        arms[r, 0], arms[r, 1] = pair(rule, sight)
    return arms


class ByKernel:
    """A rule whose kernel also answers to a view."""

    def pairs(self: CompiledSelection, view: View) -> IntArray:
        return kernel_pairs(self, view)


@dataclass(frozen=True, kw_only=True)
class LeaderChallenger(ByKernel):
    """(5), (6): the greedy leader, and the challenger of highest upper bound against it."""

    def compiled(self) -> BuiltIn:
        return BuiltIn(LEADING)


@dataclass(frozen=True, kw_only=True)
class JointUCB(ByKernel):
    """The pair of highest joint upper bound: RCDB and MaxPairUCB."""

    def compiled(self) -> BuiltIn:
        return BuiltIn(JOINT)


@dataclass(frozen=True, kw_only=True)
class MostInformative(ByKernel):
    """MaxInP: the widest pair among arms that may still be best.

    As published (`leader_first`) the leader is greedy and its challenger the least certain
    promising arm, never the leader itself; as first defined, both come from the promising set.
    """

    leader_first: bool = True

    def compiled(self) -> BuiltIn:
        return BuiltIn(INFORMATIVE_ARM if self.leader_first else INFORMATIVE_PAIR)


@dataclass(frozen=True, kw_only=True)
class PerturbedLeader(ByKernel):
    """CoLSTIM: a leader by perturbed utility, and its toughest competitor.

    The perturbation is Gumbel, clipped at ±`clip`, independent for each arm. With
    `share_rate` = c it is as first defined: one perturbation is shared by all arms with
    probability 1 - min(1, c/√t).
    """

    clip: float = 5.0  # published code
    share_rate: float | None = None

    def perturbation(self, noise: Noise, round: int, arms: int) -> Array:
        values = np.clip(noise.gumbel(round, arms), -self.clip, self.clip)
        if self.share_rate is None:
            return values
        independent = min(1.0, self.share_rate / math.sqrt(round + 1))
        return np.where(noise.coin(round) < independent, values, values[:, :1])

    def compiled(self) -> BuiltIn:
        return BuiltIn(PERTURBED)

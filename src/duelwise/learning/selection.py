"""Which pair to serve. A rule sees only what the learner knows, and draws only by round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from duelwise.learning import selecting
from duelwise.randomness import RoundDraws
from duelwise.types import Array, IntArray


class View(NamedTuple):
    """What a selection rule may look at."""

    round: int
    z: Array  # (R, K, d) features of the candidates, y predicted
    theta: Array  # (R, d)
    inverse: Array  # (R, d, d) of the geometry the learner explores in
    width: Array  # (R,) c_t
    distinct: bool  # whether the two must differ
    noise: Noise


class Noise:
    """Perturbations that depend on (seed, run, round) alone, for any number of candidates."""

    def __init__(self, seed: int, runs: tuple[int, ...]) -> None:
        self._seed, self._runs = seed, runs
        self._draws: dict[int, RoundDraws] = {}

    def gumbel(self, round: int, arms: int) -> Array:
        """(R, K) standard Gumbel."""
        return -np.log(-np.log1p(-self.uniform(round, arms)))

    def uniform(self, round: int, arms: int) -> Array:
        """(R, K) on [0, 1)."""
        if arms not in self._draws:
            if len(self._draws) >= 8:  # candidate sets of many sizes: keep a few blocks only
                self._draws.clear()
            self._draws[arms] = RoundDraws(
                self._seed, f"selection/{arms}", self._runs, lambda g, rounds: g.random((rounds, arms))
            )
        return self._draws[arms].at(round)


class Selection(Protocol):
    """A rule that names two candidates for each run."""

    def pairs(self, view: View) -> IntArray: ...  # (R, 2): first, second


@dataclass(frozen=True, kw_only=True)
class LeaderChallenger:
    """(5), (6): the greedy leader, and the challenger of highest upper bound against it."""

    def pairs(self, view: View) -> IntArray:
        return selecting.leader_challenger(view.z, view.theta, view.inverse, view.width, view.distinct)


@dataclass(frozen=True, kw_only=True)
class JointUCB:
    """The pair of highest joint upper bound: RCDB and MaxPairUCB."""

    def pairs(self, view: View) -> IntArray:
        return selecting.joint_ucb(view.z, view.theta, view.inverse, view.width, view.distinct)


@dataclass(frozen=True, kw_only=True)
class MostInformative:
    """MaxInP: the widest pair among arms that may still be best.

    As published (`leader_first`) the leader is greedy and its challenger the least certain
    promising arm, never the leader itself; as first defined, both come from the promising set.
    """

    leader_first: bool = True

    def pairs(self, view: View) -> IntArray:
        return selecting.most_informative(
            view.z, view.theta, view.inverse, view.width, view.distinct, self.leader_first
        )


@dataclass(frozen=True, kw_only=True)
class PerturbedLeader:
    """CoLSTIM: a leader by perturbed utility, and its toughest competitor.

    The perturbation is Gumbel, clipped at ±`clip`, independent for each arm. With
    `share_rate` = c it is as first defined: one perturbation is shared by all arms with
    probability 1 - min(1, c/√t).
    """

    clip: float = 5.0  # published code
    share_rate: float | None = None

    def pairs(self, view: View) -> IntArray:
        arms = view.z.shape[1]
        noise = np.clip(view.noise.gumbel(view.round, arms), -self.clip, self.clip)
        if self.share_rate is not None:
            independent = min(1.0, self.share_rate / np.sqrt(view.round + 1))
            coin = view.noise.uniform(view.round, arms + 1)[:, -1:]
            noise = np.where(coin < independent, noise, noise[:, :1])
        return selecting.perturbed_leader(view.z, view.theta, view.inverse, view.width, view.distinct, noise)

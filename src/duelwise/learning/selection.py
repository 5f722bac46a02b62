"""Which pair to serve. A rule sees only what the learner knows, and draws only by round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from duelwise.learning import selecting
from duelwise.randomness import Draw, RoundDraws
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
        self._draws: dict[tuple[str, int], RoundDraws] = {}

    def gumbel(self, round: int, arms: int) -> Array:
        """(R, K) standard Gumbel."""
        return self._drawn("gumbel", arms, lambda g, rounds: g.gumbel(size=(rounds, arms))).at(round)

    def coin(self, round: int) -> Array:
        """(R, 1) uniform on [0, 1), one for each run."""
        return self._drawn("coin", 1, lambda g, rounds: g.random((rounds, 1))).at(round)

    def silence(self, arms: int) -> Array:
        """(R, K) zeros."""
        return np.zeros((len(self._runs), arms))

    def _drawn(self, purpose: str, arms: int, draw: Draw) -> RoundDraws:
        if (purpose, arms) not in self._draws:
            if len(self._draws) >= 8:  # candidate sets of many sizes: keep a few blocks only
                self._draws.clear()
            name = f"selection/{purpose}/{arms}"
            self._draws[purpose, arms] = RoundDraws(self._seed, name, self._runs, draw)
        return self._draws[purpose, arms]


class Selection(Protocol):
    """A rule that names two candidates for each run."""

    def pairs(self, view: View) -> IntArray: ...  # (R, 2): first, second


@runtime_checkable
class CompiledRule(Protocol):
    """A built-in rule: its code for selecting.pair_of, and the noise it adds to utilities."""

    @property
    def code(self) -> int: ...

    def perturbation(self, noise: Noise, round: int, arms: int) -> Array: ...  # (R, K)


def _pairs(rule: CompiledRule, view: View) -> IntArray:
    noise = rule.perturbation(view.noise, view.round, view.z.shape[1])
    return selecting.pairs(rule.code, view.z, view.theta, view.inverse, view.width, view.distinct, noise)


@dataclass(frozen=True, kw_only=True)
class LeaderChallenger:
    """(5), (6): the greedy leader, and the challenger of highest upper bound against it."""

    @property
    def code(self) -> int:
        return selecting.LEADER_CHALLENGER

    def perturbation(self, noise: Noise, round: int, arms: int) -> Array:
        return noise.silence(arms)

    def pairs(self, view: View) -> IntArray:
        return _pairs(self, view)


@dataclass(frozen=True, kw_only=True)
class JointUCB:
    """The pair of highest joint upper bound: RCDB and MaxPairUCB."""

    @property
    def code(self) -> int:
        return selecting.JOINT

    def perturbation(self, noise: Noise, round: int, arms: int) -> Array:
        return noise.silence(arms)

    def pairs(self, view: View) -> IntArray:
        return _pairs(self, view)


@dataclass(frozen=True, kw_only=True)
class MostInformative:
    """MaxInP: the widest pair among arms that may still be best.

    As published (`leader_first`) the leader is greedy and its challenger the least certain
    promising arm, never the leader itself; as first defined, both come from the promising set.
    """

    leader_first: bool = True

    @property
    def code(self) -> int:
        return selecting.INFORMATIVE_ARM if self.leader_first else selecting.INFORMATIVE_PAIR

    def perturbation(self, noise: Noise, round: int, arms: int) -> Array:
        return noise.silence(arms)

    def pairs(self, view: View) -> IntArray:
        return _pairs(self, view)


@dataclass(frozen=True, kw_only=True)
class PerturbedLeader:
    """CoLSTIM: a leader by perturbed utility, and its toughest competitor.

    The perturbation is Gumbel, clipped at ±`clip`, independent for each arm. With
    `share_rate` = c it is as first defined: one perturbation is shared by all arms with
    probability 1 - min(1, c/√t).
    """

    clip: float = 5.0  # published code
    share_rate: float | None = None

    @property
    def code(self) -> int:
        return selecting.PERTURBED

    def perturbation(self, noise: Noise, round: int, arms: int) -> Array:
        values = np.clip(noise.gumbel(round, arms), -self.clip, self.clip)
        if self.share_rate is None:
            return values
        independent = min(1.0, self.share_rate / math.sqrt(round + 1))
        return np.where(noise.coin(round) < independent, values, values[:, :1])

    def pairs(self, view: View) -> IntArray:
        return _pairs(self, view)

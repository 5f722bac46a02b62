"""Which votes are lies: a flip turns outcome o into 1 - o.

A corruption model only says which votes it wants to flip. The channel grants
them until the budget C is spent, in one place, so that no model, a user's own
included, can overspend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from duelwise.lab.play.checks import check_number, check_whole
from duelwise.learning.compiled import compiled
from duelwise.randomness import RoundDraws
from duelwise.types import Array, BoolArray, IntArray, Served


class Corruptions(Protocol):
    """A corruption model at work."""

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        """(R,) which of this round's votes to flip; outcome is (R,), utility (R, K)."""
        ...


class CorruptionModel(Protocol):
    """A corruption model's settings."""

    @property
    def budget(self) -> int:
        """C: how many votes of one run may be flipped."""
        ...

    def start(self, *, runs: Sequence[int], seed: int) -> Corruptions:
        """The model at work on these run numbers."""
        ...


@compiled
def favours_better(outcome: Array, arms: IntArray, utility: Array) -> BoolArray:
    """(R,) whether the truly better arm of the pair won. Ties, and equal arms, favour nobody."""
    favours = np.empty(len(arms), np.bool_)
    for r in range(len(arms)):
        favours[r] = (utility[r, arms[r, 0]] - utility[r, arms[r, 1]]) * (outcome[r] - 0.5) > 0.0
    return favours


@dataclass(frozen=True)
class NoCorruption:
    """Every vote is honest."""

    budget: int = field(default=0, init=False, repr=False)

    def start(self, *, runs: Sequence[int], seed: int) -> Corruptions:
        return self

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return np.zeros(len(outcome), np.bool_)


@dataclass(frozen=True, kw_only=True)
class StrategicCorruption:
    """Flips each vote for the truly better arm until C are spent: the paper's adversary."""

    budget: int

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, least=0)

    def start(self, *, runs: Sequence[int], seed: int) -> Corruptions:
        return self

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return favours_better(outcome, served.arms, utility)


@dataclass(frozen=True, kw_only=True)
class LateCorruption:
    """As the strategic one, but silent before round `start_round`, when the learner trusts its estimate."""

    budget: int
    start_round: int

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, least=0)
        check_whole("start_round", self.start_round, least=0)

    def start(self, *, runs: Sequence[int], seed: int) -> Corruptions:
        return self

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return favours_better(outcome, served.arms, utility) & (t >= self.start_round)


@dataclass(frozen=True, kw_only=True)
class LeverageCorruption:
    """Flips votes for the better arm where one vote moves the estimate most: leverage ≥ threshold."""

    budget: int
    threshold: float = 0.5  # half the largest leverage where ‖Δz‖ ≤ 1 and λ = 1

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, least=0)
        check_number("threshold", self.threshold, least=0.0)

    def start(self, *, runs: Sequence[int], seed: int) -> Corruptions:
        return self

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return favours_better(outcome, served.arms, utility) & (served.leverage >= self.threshold)


@dataclass(frozen=True, kw_only=True)
class RandomCorruption:
    """Flips each vote with the same probability, whoever won, until C are spent."""

    budget: int
    probability: float

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, least=0)
        check_number("probability", self.probability, least=0.0, most=1.0)

    def start(self, *, runs: Sequence[int], seed: int) -> Corruptions:
        return RandomFlips(runs, seed, self.probability)


class RandomFlips:
    """Random flips, the same ones whatever the learner did."""

    def __init__(self, runs: Sequence[int], seed: int, probability: float) -> None:
        self._draws = RoundDraws(seed, "corruption", runs, lambda generator, n: generator.random(n))
        self._probability = probability

    def at(self, t: int) -> BoolArray:
        """(R,) which votes of round t are to be flipped, whoever won."""
        return self._draws.at(t) < self._probability

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return self.at(t)

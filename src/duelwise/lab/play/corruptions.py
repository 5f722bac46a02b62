"""Which votes are lies: a flip turns outcome o into 1 - o.

A corruption model only says which votes it wants to flip. The channel grants
them until the budget C is spent, in one place, so that no model, a user's own
included, can overspend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from duelwise.lab.play.adversary import Sent, flips_over_runs, wants_flip
from duelwise.lab.play.checks import LARGEST, check_number, check_whole
from duelwise.learning.core.dispatch import kernel
from duelwise.randomness import BLOCK, RoundDraws
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


class FlipRule(NamedTuple):
    """Which votes of a block of rounds are to be flipped."""

    drawn: BoolArray  # (BLOCK, R) those that chance or the calendar allows
    better_only: bool  # of these, votes for the truly better arm
    least_leverage: float  # and of at least this leverage


@kernel(wants_flip, FlipRule)
def flip_by_rule(rule: FlipRule, at: int, r: int, sent: Sent) -> bool:
    """Whether the vote is drawn, moves enough and, where it matters, the better arm won.

    Ties, and equal arms, favour nobody.
    """
    lead = sent.utility[sent.first] - sent.utility[sent.second]
    favours_better = lead * (sent.outcome - 0.5) > 0.0
    wanted = rule.drawn[at, r] and sent.leverage >= rule.least_leverage
    return wanted and (favours_better or not rule.better_only)


@lru_cache(maxsize=8)
def _table(value: bool, runs: int) -> BoolArray:
    return np.full((BLOCK, runs), value)


@dataclass(frozen=True)
class NoCorruption:
    """Every vote is honest."""

    budget: int = field(default=0, init=False, repr=False)

    def start(self, *, runs: Sequence[int], seed: int) -> Corruptions:
        return self

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return np.zeros(len(outcome), np.bool_)

    def compiled(self, begin: int, runs: int) -> FlipRule:
        return FlipRule(_table(False, runs), better_only=True, least_leverage=0.0)


@dataclass(frozen=True, kw_only=True)
class StrategicCorruption:
    """Flips each vote for the truly better arm until C are spent: the paper's adversary."""

    budget: int

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, least=0, most=LARGEST)

    def start(self, *, runs: Sequence[int], seed: int) -> Corruptions:
        return self

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return flips_over_runs(self.compiled(t, len(outcome)), 0, served, outcome, utility)

    def compiled(self, begin: int, runs: int) -> FlipRule:
        return FlipRule(_table(True, runs), better_only=True, least_leverage=0.0)


@dataclass(frozen=True, kw_only=True)
class LateCorruption:
    """As the strategic one, but silent before round `start_round`, when the learner trusts its estimate."""

    budget: int
    start_round: int

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, least=0, most=LARGEST)
        check_whole("start_round", self.start_round, least=0, most=LARGEST)

    def start(self, *, runs: Sequence[int], seed: int) -> Corruptions:
        return self

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return flips_over_runs(self.compiled(t, len(outcome)), 0, served, outcome, utility)

    def compiled(self, begin: int, runs: int) -> FlipRule:
        begun = np.arange(begin, begin + BLOCK) >= self.start_round
        return FlipRule(np.repeat(begun[:, None], runs, axis=1), better_only=True, least_leverage=0.0)


@dataclass(frozen=True, kw_only=True)
class LeverageCorruption:
    """Flips votes for the better arm where one vote moves the estimate most: leverage ≥ threshold."""

    budget: int
    threshold: float = 0.5  # half the largest leverage where ‖Δz‖ ≤ 1 and λ = 1

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, least=0, most=LARGEST)
        check_number("threshold", self.threshold, least=0.0)

    def start(self, *, runs: Sequence[int], seed: int) -> Corruptions:
        return self

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return flips_over_runs(self.compiled(t, len(outcome)), 0, served, outcome, utility)

    def compiled(self, begin: int, runs: int) -> FlipRule:
        return FlipRule(_table(True, runs), better_only=True, least_leverage=float(self.threshold))


@dataclass(frozen=True, kw_only=True)
class RandomCorruption:
    """Flips each vote with the same probability, whoever won, until C are spent."""

    budget: int
    probability: float

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, least=0, most=LARGEST)
        check_number("probability", self.probability, least=0.0, most=1.0)

    def start(self, *, runs: Sequence[int], seed: int) -> Corruptions:
        return RandomFlips(runs, seed, self.probability)


class RandomFlips:
    """Random flips, the same ones whatever the learner did."""

    def __init__(self, runs: Sequence[int], seed: int, probability: float) -> None:
        self._draws = RoundDraws(seed, "corruption", runs, lambda generator, n: generator.random(n))
        self._probability = probability

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return self._draws.at(t) < self._probability

    def compiled(self, begin: int, runs: int) -> FlipRule:
        drawn = self._draws.block(begin // BLOCK) < self._probability
        return FlipRule(drawn, better_only=False, least_leverage=0.0)


@dataclass(frozen=True, kw_only=True)
class LyingRaters:
    """Votes come from raters in turn by chance; a share of the raters always says the opposite."""

    raters: int = 100
    liars: float = 0.1  # share of the raters
    budget: int = field(default=2**62, init=False, repr=False)

    def __post_init__(self) -> None:
        check_whole("raters", self.raters, least=1, most=LARGEST)
        check_number("liars", self.liars, least=0.0, most=1.0)

    def start(self, *, runs: Sequence[int], seed: int) -> Corruptions:
        return LyingRatersAtWork(runs, seed, self.raters, round(self.liars * self.raters))


class LyingRatersAtWork:
    """Who votes in which round; the first raters are the liars."""

    def __init__(self, runs: Sequence[int], seed: int, raters: int, liars: int) -> None:
        self._draws = RoundDraws(
            seed, "raters", runs, lambda generator, n: generator.integers(raters, size=n)
        )
        self._liars = liars

    def sources(self, t: int) -> IntArray:
        """(R,) the raters of this round."""
        return self._draws.at(t)

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return self._draws.at(t) < self._liars

    def compiled(self, begin: int, runs: int) -> FlipRule:
        drawn = self._draws.block(begin // BLOCK) < self._liars
        return FlipRule(drawn, better_only=False, least_leverage=0.0)

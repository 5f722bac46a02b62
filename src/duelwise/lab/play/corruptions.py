"""Which votes are lies: a flip turns outcome o into 1 - o.

A corruption model only says which votes it wants to flip. The channel grants
them until the budget C is spent, in one place, so that no model, a user's own
included, can overspend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from duelwise.lab.play.adversary import Sent, flips_over_runs, wants_flip
from duelwise.lab.play.checks import LARGEST, check_number, check_whole
from duelwise.learning.core.dispatch import kernel
from duelwise.randomness import BLOCK, RoundDraws, uniforms
from duelwise.types import Array, BoolArray, Served


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
class _Adversary(ABC):
    """Judges each vote by its rule and draws nothing, so that its settings are the model at work."""

    budget: int

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, least=0, most=LARGEST)

    def start(self, *, runs: Sequence[int], seed: int) -> Corruptions:
        return self

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return flips_over_runs(self.compiled(t, len(outcome)), 0, served, outcome, utility)

    @abstractmethod
    def compiled(self, begin: int, runs: int) -> FlipRule: ...


@dataclass(frozen=True, kw_only=True)
class StrategicCorruption(_Adversary):
    """Flips each vote for the truly better arm until C are spent: the paper's adversary."""

    def compiled(self, begin: int, runs: int) -> FlipRule:
        return FlipRule(_table(True, runs), better_only=True, least_leverage=0.0)


@dataclass(frozen=True, kw_only=True)
class LateCorruption(_Adversary):
    """As the strategic one, but silent before round `start_round`, when the learner trusts its estimate."""

    start_round: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("start_round", self.start_round, least=0, most=LARGEST)

    def compiled(self, begin: int, runs: int) -> FlipRule:
        begun = np.arange(begin, begin + BLOCK) >= self.start_round
        return FlipRule(np.repeat(begun[:, None], runs, axis=1), better_only=True, least_leverage=0.0)


@dataclass(frozen=True, kw_only=True)
class LeverageCorruption(_Adversary):
    """Flips votes for the better arm where one vote moves the estimate most: leverage ≥ threshold."""

    threshold: float = 0.5  # half the largest leverage where ‖Δz‖ ≤ 1 and λ = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("threshold", self.threshold, least=0.0)

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
        draws = RoundDraws(seed, "corruption", runs, uniforms)
        return DrawnFlips(draws, self.probability)


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
        draws = RoundDraws(seed, "raters", runs, lambda generator, n: generator.integers(self.raters, size=n))
        return DrawnFlips(draws, round(self.liars * self.raters))  # the first raters are the liars


class DrawnFlips:
    """Flips where the number drawn for a vote is below a bound, whatever the learner did."""

    def __init__(self, draws: RoundDraws, bound: float) -> None:
        self._draws, self._bound = draws, bound

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return self._draws.at(t) < self._bound

    def compiled(self, begin: int, runs: int) -> FlipRule:
        drawn = self._draws.block(begin // BLOCK) < self._bound
        return FlipRule(drawn, better_only=False, least_leverage=0.0)

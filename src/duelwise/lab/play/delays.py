"""How late an honest vote is: τ rounds, told at the end of round t + τ.

A delay model only says what it wants. The channel caps it at the budget, in one
place, so that no model, a user's own included, can overspend. Random delays are
functions of (seed, run, round), so every method meets the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.lab.play.adversary import Sent, delays_over_runs, wanted_delay
from duelwise.lab.play.checks import LARGEST, check_number, check_whole
from duelwise.learning.core.dispatch import kernel
from duelwise.learning.radii import blind_phase
from duelwise.randomness import BLOCK, RoundDraws
from duelwise.types import Array, IntArray, Served

UNLIMITED = 2**62
"""The budget of a delay model that has none."""
FOREVER = 2**40
"""No horizon is this long; keeps t + τ an integer under heavy tails."""


class Delays(Protocol):
    """A delay model at work."""

    def rounds(self, t: int, served: Served, utility: Array) -> IntArray:
        """(R,) the wanted delay of this round's votes; utility is (R, K)."""
        ...


class DelayModel(Protocol):
    """A delay model's settings."""

    @property
    def budget(self) -> int:
        """Λ: what all delays of one run may sum to; UNLIMITED for a model without a budget."""
        ...

    def start(self, *, runs: Sequence[int], seed: int) -> Delays:
        """The model at work on these run numbers."""
        ...


class DelayTable(NamedTuple):
    """The delays of a block of rounds, or of those votes in it that an adversary minds."""

    rounds: IntArray  # (BLOCK, R)
    only_good: bool  # only where one of the pair has positive utility


@kernel(wanted_delay, DelayTable)
def delay_by_table(table: DelayTable, at: int, r: int, sent: Sent) -> int:
    """The table's delay, or none where the pair is not worth it."""
    if table.only_good and max(sent.utility[sent.first], sent.utility[sent.second]) <= 0.0:
        return 0
    return table.rounds[at, r]


class _Drawn:
    """Delays that follow a law and look at nothing."""

    def __init__(
        self, runs: Sequence[int], seed: int, law: Callable[[np.random.Generator, int], Array]
    ) -> None:
        def whole(generator: np.random.Generator, count: int) -> IntArray:
            with np.errstate(over="ignore"):  # infinitely late is capped with the rest
                return np.clip(np.rint(law(generator, count)), 0, FOREVER).astype(np.int64)

        self._draws = RoundDraws(seed, "delay", runs, whole)

    def rounds(self, t: int, served: Served, utility: Array) -> IntArray:
        return self._draws.at(t)

    def compiled(self, begin: int, runs: int) -> DelayTable:
        return DelayTable(self._draws.block(begin // BLOCK), only_good=False)


class _Scheduled:
    """Delays that follow from the round alone, in every run the same."""

    def __init__(self, runs: Sequence[int], law: Callable[[int], int]) -> None:
        self._runs, self._law = len(runs), law

    def rounds(self, t: int, served: Served, utility: Array) -> IntArray:
        return np.full(self._runs, self._law(t), dtype=np.int64)

    def compiled(self, begin: int, runs: int) -> DelayTable:
        delays = np.array([self._law(t) for t in range(begin, begin + BLOCK)], dtype=np.int64)
        return DelayTable(np.repeat(delays[:, None], runs, axis=1), only_good=False)


@dataclass(frozen=True)
class NoDelay:
    """Every vote is told at the end of its own round."""

    budget: int = field(default=UNLIMITED, init=False, repr=False)

    def start(self, *, runs: Sequence[int], seed: int) -> Delays:
        return _Scheduled(runs, lambda t: 0)


@dataclass(frozen=True, kw_only=True)
class ConstantDelay:
    """Every vote is the same number of rounds late."""

    rounds: int
    budget: int = field(default=UNLIMITED, init=False, repr=False)

    def __post_init__(self) -> None:
        check_whole("rounds", self.rounds, least=0, most=LARGEST)

    def start(self, *, runs: Sequence[int], seed: int) -> Delays:
        return _Scheduled(runs, lambda t: min(self.rounds, FOREVER))


@dataclass(frozen=True, kw_only=True)
class TogetherDelay:
    """Many raters at once: `size` duels are asked for before any of their votes comes, then all do."""

    size: int
    budget: int = field(default=UNLIMITED, init=False, repr=False)

    def __post_init__(self) -> None:
        check_whole("size", self.size, least=1, most=LARGEST)

    def start(self, *, runs: Sequence[int], seed: int) -> Delays:
        size = min(self.size, FOREVER)
        return _Scheduled(runs, lambda t: size - 1 - t % size)


@dataclass(frozen=True, kw_only=True)
class GaussianDelay:
    """τ = max(0, round(N(mean, std²))): clipping lifts the mean, to 108.3 at mean = std = 100."""

    mean: float
    std: float
    budget: int = field(default=UNLIMITED, init=False, repr=False)

    def __post_init__(self) -> None:
        check_number("mean", self.mean, least=0.0)
        check_number("std", self.std, least=0.0)

    def start(self, *, runs: Sequence[int], seed: int) -> Delays:
        return _Drawn(runs, seed, lambda generator, n: self.mean + self.std * generator.standard_normal(n))


@dataclass(frozen=True, kw_only=True)
class GeometricDelay:
    """P(τ = k) = p (1 - p)^k with p = 1 / (1 + mean)."""

    mean: float
    budget: int = field(default=UNLIMITED, init=False, repr=False)

    def __post_init__(self) -> None:
        check_number("mean", self.mean, least=0.0)

    def start(self, *, runs: Sequence[int], seed: int) -> Delays:
        if self.mean == 0.0:  # log(1 - p) is -∞
            return _Scheduled(runs, lambda t: 0)
        if self.mean >= FOREVER:  # log(1 - p) is lost in rounding
            return _Scheduled(runs, lambda t: FOREVER)
        survival = math.log(self.mean) - math.log1p(self.mean)  # log(1 - p)
        return _Drawn(runs, seed, lambda generator, n: np.floor(np.log1p(-generator.random(n)) / survival))


@dataclass(frozen=True, kw_only=True)
class ParetoDelay:
    """P(τ > s) = (1 + s / σ)^(-shape), σ = mean · (shape - 1), rounded: heavy tails, a finite mean."""

    mean: float
    shape: float
    budget: int = field(default=UNLIMITED, init=False, repr=False)

    def __post_init__(self) -> None:
        check_number("mean", self.mean, least=0.0)
        check_number("shape", self.shape, least=1.0)
        if self.shape == 1.0:
            raise InvalidInput("shape is 1. Expected more than 1: the mean delay would be infinite.")

    def start(self, *, runs: Sequence[int], seed: int) -> Delays:
        scale = self.mean * (self.shape - 1.0)
        return _Drawn(
            runs,
            seed,
            lambda generator, n: scale * ((1.0 - generator.random(n)) ** (-1.0 / self.shape) - 1.0),
        )


@dataclass(frozen=True, kw_only=True)
class StrategicDelay:
    """τ = min(⌊√Λ⌋, what is left of Λ) whenever a served arm is good, max(u_a, u_b) > 0; else 0."""

    budget: int

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, least=0, most=LARGEST)

    @property
    def longest(self) -> int:
        """⌊√Λ⌋."""
        return math.isqrt(self.budget)

    def start(self, *, runs: Sequence[int], seed: int) -> StrategicDelay:
        return self

    def rounds(self, t: int, served: Served, utility: Array) -> IntArray:
        return delays_over_runs(self.compiled(t, len(utility)), 0, served, utility)

    def compiled(self, begin: int, runs: int) -> DelayTable:
        return DelayTable(np.full((BLOCK, runs), self.longest, dtype=np.int64), only_good=True)


@dataclass(frozen=True, kw_only=True)
class BlindPhase:
    """No vote before round M, then all at once: τ_t = M - t + 1, t = 1 … M, M = ⌊(√(1 + 8Λ) - 1) / 2⌋.

    The longest such phase a budget Λ buys: its delays sum to M (M + 1) / 2 ≤ Λ.
    """

    budget: int

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, least=0, most=LARGEST)

    @property
    def length(self) -> int:
        """M, in rounds."""
        return blind_phase(self.budget)

    def start(self, *, runs: Sequence[int], seed: int) -> Delays:
        length = self.length
        return _Scheduled(runs, lambda t: max(0, length - t))  # our rounds count from 0

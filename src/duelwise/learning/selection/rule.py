"""What a selection rule is: it sees only what the learner knows, and draws only by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

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
    votes: IntArray  # (R,) learned so far
    out: IntArray  # (R,) duels whose vote is out
    estimate: Any = None  # the estimate's own state, for rules that need more of it than Θ̂


class Noise:
    """Perturbations that depend on (seed, run, round) alone, for any number of candidates."""

    def __init__(self, seed: int, runs: tuple[int, ...]) -> None:
        self.seed, self.numbers = seed, runs
        self._draws: dict[tuple[str, int], RoundDraws] = {}

    def gumbel(self, round: int, arms: int) -> Array:
        """(R, K) standard Gumbel."""
        return self._drawn("gumbel", arms, lambda g, rounds: g.gumbel(size=(rounds, arms))).at(round)

    def normal(self, round: int, count: int) -> Array:
        """(R, count) standard normal."""
        return self._drawn("normal", count, lambda g, rounds: g.standard_normal((rounds, count))).at(round)

    def coin(self, round: int) -> Array:
        """(R, 1) uniform on [0, 1), one for each run."""
        return self._drawn("coin", 1, lambda g, rounds: g.random((rounds, 1))).at(round)

    @property
    def runs(self) -> int:
        """R."""
        return len(self.numbers)

    def _drawn(self, purpose: str, arms: int, draw: Draw) -> RoundDraws:
        if (purpose, arms) not in self._draws:
            if len(self._draws) >= 8:  # candidate sets of many sizes: keep a few blocks only
                self._draws.clear()
            name = f"selection/{purpose}/{arms}"
            self._draws[purpose, arms] = RoundDraws(self.seed, name, self.numbers, draw)
        return self._draws[purpose, arms]


class Selection(Protocol):
    """A rule that names two candidates for each run.

    One that is compiled too has a method `compiled()`, which gives its state, and a kernel for the
    role `pair` on that state.
    """

    def pairs(self, view: View) -> IntArray: ...  # (R, 2): first, second


class CompiledSelection(Selection, Protocol):
    """A rule that gives its state to a kernel."""

    def compiled(self) -> Any: ...


class Perturbed(Protocol):
    """A rule that adds noise to utilities."""

    def perturbation(
        self, noise: Noise, round: int, arms: int
    ) -> Array: ...  # (R, K), or as many as it needs


def draws_noise(rule: Selection) -> bool:
    """Whether the rule adds noise; one that hands over to another, `then`, adds that one's."""
    then = getattr(rule, "then", None)
    return hasattr(rule, "perturbation") if then is None else draws_noise(then)


def noise_of(rule: Selection, noise: Noise, rounds: Sequence[int], arms: int) -> Array:
    """(rounds, R, K) what the rule has drawn for these rounds; silence where it draws nothing."""
    if not hasattr(rule, "perturbation"):
        return np.zeros((len(rounds), noise.runs, arms))
    return np.stack([cast(Perturbed, rule).perturbation(noise, t, arms) for t in rounds])

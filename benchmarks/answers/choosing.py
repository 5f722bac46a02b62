"""Ways to choose pairs, many runs at once: the goals of a stream as it ships, and random pairs."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from benchmarks.answers.worlds import random_pairs
from duelwise.answers.belief import Belief
from duelwise.answers.best_item_search import settling_pairs
from duelwise.learning.recipes import recipe
from duelwise.types import Array, Contexts, Duel, IntArray, Votes


class Chooser(Protocol):
    def pairs(self, held: Belief, items: Array, out: Array) -> IntArray: ...  # (R, 2)

    def told(self, votes: Array) -> None: ...  # (R,) of the oldest pair that is out

    def keep(self, runs: IntArray) -> None: ...  # of the runs so far only these go on


class RandomPairs:
    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def pairs(self, held: Belief, items: Array, out: Array) -> IntArray:
        return random_pairs(self._rng, len(items))

    def told(self, votes: Array) -> None: ...

    def keep(self, runs: IntArray) -> None: ...


class Settle:
    """goal="settle"."""

    def pairs(self, held: Belief, items: Array, out: Array) -> IntArray:
        return settling_pairs(held, items, out)

    def told(self, votes: Array) -> None: ...

    def keep(self, runs: IntArray) -> None: ...


class Serve:
    """goal="serve" with the default recipe of a stream, many runs."""

    def __init__(self, runs: int, dim: int) -> None:
        self._learner = recipe("live")(runs=runs, context_dim=dim, distinct_pair=True)
        self._all, self._oldest = np.arange(runs), 0
        self._going = np.arange(runs)

    def pairs(self, held: Belief, items: Array, out: Array) -> IntArray:
        every = np.zeros((len(self._all), *items.shape[1:]))
        every[self._going] = items
        duel = self._learner.choose(every)
        self._learner.serve(Duel(duel.round, duel.arms, duel.x, duel.predicted))
        nothing = np.zeros((len(self._all), 2, 0))
        self._learner.observe(Contexts(self._all, np.full(len(self._all), duel.round), nothing))
        return duel.arms[self._going]

    def told(self, votes: Array) -> None:
        every = np.full(len(self._all), 0.5)
        every[self._going] = votes
        self._learner.tell(Votes(self._all, np.full(len(self._all), self._oldest), every))
        self._oldest += 1

    def keep(self, runs: IntArray) -> None:
        self._going = self._going[runs]


def chooser(goal: str, *, runs: int, dim: int, rng: np.random.Generator) -> Chooser:
    if goal == "random":
        return RandomPairs(rng)
    return Settle() if goal == "settle" else Serve(runs, dim)

"""A world of recorded things: each round shows some of them, a vote rule says who wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.lab.play.checks import check_whole
from duelwise.lab.play.scenario import Chainable
from duelwise.lab.play.world import Truth
from duelwise.randomness import RoundDraws, uniforms
from duelwise.types import Array, IntArray


class Items(NamedTuple):
    """N things that may be shown."""

    x: Array  # (N, dx) known before serving
    y: Array  # (N, dy) known after
    utility: Array  # (N,)
    groups: tuple[IntArray, ...]  # a round's candidates come from one group, drawn by its size


class VoteRule(Protocol):
    """Who wins between two things."""

    def outcomes(self, first: IntArray, second: IntArray, lead: Array, chance: Array) -> Array:
        """(R,) 1, 0 or ½; lead is u_first - u_second, chance one uniform for each run."""
        ...


class BradleyTerry:
    """P(a beats b) = 1 / (1 + exp(u_b - u_a))."""

    def outcomes(self, first: IntArray, second: IntArray, lead: Array, chance: Array) -> Array:
        with np.errstate(over="ignore"):  # infinite is right: who is that far behind never wins
            return (chance < 1.0 / (1.0 + np.exp(-lead))).astype(np.float64)


class Deterministic:
    """The one of higher utility wins; equal ones tie."""

    def outcomes(self, first: IntArray, second: IntArray, lead: Array, chance: Array) -> Array:
        return 0.5 + 0.5 * np.sign(lead)


VOTE_RULES: dict[str, Callable[[], VoteRule]] = {"btl": BradleyTerry, "deterministic": Deterministic}


class ItemWorld(Chainable):
    """R runs that draw K different things of one group each round; nothing depends on the learner."""

    def __init__(self, items: Items, *, runs: Sequence[int], seed: int, arms: int, votes: VoteRule) -> None:
        check_whole("arms", arms, least=2)
        smallest = min(len(group) for group in items.groups)
        if arms > smallest:
            raise InvalidInput(f"arms is {arms}, but the smallest group holds {smallest}. Expected no more.")
        self.items, self.seed, self.arms, self._votes = items, seed, arms, votes
        self.run_numbers = tuple(runs)
        self.context_dim, self.post_dim = items.x.shape[1], items.y.shape[1]
        self._rows = RoundDraws(seed, "items", self.run_numbers, self._draw)
        self._chances = RoundDraws(seed, "votes", self.run_numbers, uniforms)

    @property
    def runs(self) -> int:
        """R."""
        return len(self.run_numbers)

    def rows(self, t: int) -> IntArray:
        """(R, K) which things stand for choice in round t."""
        return np.asarray(self._rows.at(t), np.int64)

    def contexts(self, t: int) -> Array:
        """(R, K, dx)"""
        return self.items.x[self.rows(t)]

    def reveal(self, t: int, x: Array) -> Truth:
        """The truth of round t; x is known from t here and is not looked at."""
        rows = self.rows(t)
        utility = self.items.utility[rows]
        return Truth(self.items.y[rows], utility, utility)

    def vote(self, t: int, truth: Truth, arms: IntArray) -> Array:
        """(R,) by the vote rule."""
        pair = np.take_along_axis(self.rows(t), arms, axis=1)
        utility = np.take_along_axis(truth.utility, arms, axis=1)  # a world around this one may have moved it
        lead = utility[:, 0] - utility[:, 1]
        return self._votes.outcomes(pair[:, 0], pair[:, 1], lead, self._chances.at(t))

    def _draw(self, rng: np.random.Generator, rounds: int) -> IntArray:
        """(rounds, K) the same number of draws each round, whatever the group."""
        groups = self.items.groups
        sizes = np.array([len(group) for group in groups])
        chosen: list[int] = rng.choice(len(groups), size=rounds, p=sizes / sizes.sum()).tolist()
        picks = [rng.choice(groups[group], size=self.arms, replace=False) for group in chosen]
        return np.stack(picks)

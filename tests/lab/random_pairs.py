"""A learner that learns nothing: pairs are a function of (seed, run, round)."""

from __future__ import annotations

import numpy as np

from duelwise.randomness import RoundDraws
from duelwise.types import Array, Contexts, Duel, Served, Votes


class RandomPairs:
    """Serves random pairs and writes down all it hears."""

    def __init__(self, *, runs: int, context_dim: int, post_dim: int = 0, seed: int = 0) -> None:
        self.runs, self.context_dim, self.post_dim, self.round = runs, context_dim, post_dim, 0
        self._draws = RoundDraws(seed, "pairs", range(runs), lambda rng, rounds: rng.random((rounds, 2)))
        self.contexts: list[Array] = []
        self.observed: list[Contexts] = []
        self.votes: list[Votes] = []
        self._duel: Duel | None = None

    def choose(self, x: Array) -> Duel:
        arms = (self._draws.at(self.round) * x.shape[1]).astype(np.int64)
        return Duel(
            self.round, arms, x[np.arange(self.runs)[:, None], arms], np.zeros((self.runs, 2, self.post_dim))
        )

    def serve(self, duel: Duel) -> None:
        self.contexts.append(duel.x)
        self._duel = duel
        self.round += 1

    def observe(self, contexts: Contexts) -> None:
        self.observed.append(contexts)

    def served(self, round: int) -> Served:
        assert self._duel is not None
        assert self._duel.round == round
        ones = np.ones(self.runs)
        dz = self._duel.x[:, 0] - self._duel.x[:, 1]
        return Served(round, self._duel.arms, dz, ones, ones, ones.astype(np.int64))

    def tell(self, votes: Votes) -> None:
        self.votes.append(votes)

"""Which pair a stream serves, and on which side: the learner's choice, or now and then any."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from duelwise.learning.learner import DuelingLearner
from duelwise.randomness import RoundDraws
from duelwise.stream.settings import StreamSettings
from duelwise.types import Array, IntArray


class Choice(NamedTuple):
    arms: IntArray  # (2,)
    predicted: Array  # (2, dy)
    swapped: bool
    probability: float | None


class Chooser:
    """Draws are a function of the stream's seed and the round, so nothing has to be saved."""

    def __init__(self, settings: StreamSettings) -> None:
        self._share = settings.random_share
        self._draws = RoundDraws(settings.seed, "stream", [0], lambda rng, rounds: rng.random((rounds, 3)))

    def choose(self, learner: DuelingLearner, x: Array, round: int) -> Choice:
        """A pair of two different candidates: x (K, dx)."""
        side, chance, which = self._draws.at(round)[0].tolist()
        chosen = learner.choose(x[None])
        arms, predicted = chosen.arms[0], chosen.predicted[0]
        if self._share == 0:
            return Choice(arms, predicted, side < 0.5, None)
        pairs = np.stack(np.triu_indices(len(x), k=1), axis=1)  # (K(K-1)/2, 2)
        if chance < self._share:
            drawn = pairs[min(int(which * len(pairs)), len(pairs) - 1)]
            if set(drawn.tolist()) != set(arms.tolist()):
                predicted = learner.post_serving.predict(x[None])[0, drawn]
                return Choice(drawn, predicted, side < 0.5, self._share / len(pairs))
        return Choice(arms, predicted, side < 0.5, 1 - self._share + self._share / len(pairs))

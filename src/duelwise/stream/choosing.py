"""Which pair a stream serves, and on which side: the learner's choice, or now and then any."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from duelwise.randomness import RoundDraws
from duelwise.stream.believing import waiting_differences
from duelwise.stream.folding import Folded
from duelwise.stream.settings import StreamSettings
from duelwise.types import Array, BoolArray, IntArray


class Choice(NamedTuple):
    arms: IntArray  # (2,)
    predicted: Array  # (2, dy)
    swapped: bool
    probability: float | None


class Choices(NamedTuple):
    """What there is to choose from."""

    x: Array  # (K, dx)
    ahead: Array  # (m, d) Δẑ of duels asked in the same transaction
    y: Array | None = None  # (K, dy)
    known: BoolArray | None = None  # (K,) whether y is

    def expected(self, predicted: Array) -> Array:
        """(K, dy) post-serving values: those that are known, else as φ̂ predicts them."""
        if self.y is None or self.known is None:
            return predicted
        return np.where(self.known[:, None], self.y, predicted)


class Chooser:
    """Draws are a function of the stream's seed and the round, so nothing has to be saved."""

    def __init__(self, settings: StreamSettings) -> None:
        self._share, self._settles, self._top = settings.random_share, settings.goal == "settle", settings.top
        self._draws = RoundDraws(settings.seed, "stream", [0], lambda rng, rounds: rng.random((rounds, 4)))

    def choose(self, folded: Folded, offered: Choices, round: int) -> Choice:
        """A pair of two different candidates."""
        learner, x = folded.learner, offered.x
        side, chance, one, other = self._draws.at(round)[0].tolist()
        if self._settles:
            predicted = learner.post_serving.predict(x[None])[0]
            z = np.concatenate((x, offered.expected(predicted)), axis=1)
            out = np.concatenate((waiting_differences(learner.pending), offered.ahead))
            arms = folded.believing.settling_pair(z, out, top=self._top)
            predicted = predicted[arms]
        else:
            chosen = learner.choose(x[None])
            arms, predicted = chosen.arms[0], chosen.predicted[0]
        if self._share == 0:
            return Choice(arms, predicted, side < 0.5, None)
        count = len(x)
        each = self._share / (count * (count - 1) / 2)  # every pair is drawn alike
        if chance < self._share:
            first = int(one * count)
            drawn = np.array([first, (first + 1 + int(other * (count - 1))) % count])
            if set(drawn.tolist()) != set(arms.tolist()):
                return Choice(drawn, learner.post_serving.predict(x[None])[0, drawn], side < 0.5, each)
        return Choice(arms, predicted, side < 0.5, 1 - self._share + each)

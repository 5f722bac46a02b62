"""Which pair a stream serves, and on which side: the learner's choice, or now and then any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from duelwise.learning.group import can_choose, choose_each
from duelwise.learning.learner import DuelingLearner
from duelwise.randomness import RoundDraws
from duelwise.stream.settings import StreamSettings
from duelwise.types import Array, IntArray


class Choice(NamedTuple):
    arms: IntArray  # (2,)
    predicted: Array  # (2, dy)
    swapped: bool
    probability: float | None


class Pair(NamedTuple):
    """What the learner itself would serve."""

    arms: IntArray  # (2,)
    predicted: Array  # (2, dy)


def choose_ahead(learner: DuelingLearner, offered: Sequence[Array]) -> dict[int, Pair]:
    """The learner's pairs for many candidate sets, by position, as many as one call can find."""
    found: dict[int, Pair] = {}
    if len(offered) < 2 or not can_choose(learner):
        return found
    sizes: dict[int, list[int]] = {}
    for position, x in enumerate(offered):
        sizes.setdefault(len(x), []).append(position)
    for positions in sizes.values():
        pairs = choose_each(learner, np.stack([offered[position] for position in positions]))
        if pairs is not None:
            found |= {one: Pair(pairs.arms[i], pairs.predicted[i]) for i, one in enumerate(positions)}
    return found


class Chooser:
    """Draws are a function of the stream's seed and the round, so nothing has to be saved."""

    def __init__(self, settings: StreamSettings) -> None:
        self._share = settings.random_share
        self._draws = RoundDraws(settings.seed, "stream", [0], lambda rng, rounds: rng.random((rounds, 4)))

    def choose(self, learner: DuelingLearner, x: Array, round: int, ahead: Pair | None = None) -> Choice:
        """A pair of two different candidates: x (K, dx). `ahead`: what `choose_ahead` found for it."""
        side, chance, one, other = self._draws.at(round)[0].tolist()
        if ahead is None:
            chosen = learner.choose(x[None])
            ahead = Pair(chosen.arms[0], chosen.predicted[0])
        arms, predicted = ahead
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

"""Which pair a stream serves, and on which side: the learner's choice, or now and then any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from duelwise.answers.best_item_search import MOST_AHEAD
from duelwise.errors import CannotChoose
from duelwise.learning.core.batch import all_finite
from duelwise.learning.scaling import Offer
from duelwise.randomness import RoundDraws
from duelwise.stream.candidates import CandidateSet
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import StreamState
from duelwise.types import Array, IntArray

Pair = tuple[IntArray, Array]
"""Two arms (2,) and what is expected of them (2, dy)."""


class Choice(NamedTuple):
    """A pair, and what is said of it."""

    beyond: IntArray  # (dx,) how many candidates of each feature lie beyond the range
    bounds: Array | None  # (2, dx) least and greatest of each feature, while ranges are learned
    arms: IntArray  # (2,)
    predicted: Array  # (2, dy)
    swapped: bool
    probability: float | None
    fallback: bool = False  # the learner could not choose, and any pair was drawn


class Chooser:
    """Draws are a function of the stream's seed and the round, so nothing has to be saved."""

    def __init__(self, settings: StreamSettings) -> None:
        self._share, self._settles, self._top = settings.random_share, settings.goal == "settle", settings.top
        self._draws = RoundDraws(settings.seed, "stream", [0], lambda rng, rounds: rng.random((rounds, 4)))

    def choose(self, folded: StreamState, offered: CandidateSet, round: int) -> Choice:
        """A pair of two different candidates."""
        x, offer, columns = offered.x, folded.measure(offered.x), folded.settings.sides.columns
        bounds = None if offer.bounds is None else offer.bounds[0, :, columns:]
        measured = offer.beyond[0, columns:], bounds
        side, chance, one, other = self._draws.at(round)[0].tolist()
        chosen = self._settling(folded, offered, offer) if self._settles else _sound_choice(folded, offer)
        if chosen is not None and self._share == 0:
            return Choice(*measured, *chosen, side < 0.5, None)
        count = len(x)
        pairs = count * (count - 1) / 2  # each is drawn alike
        first = int(one * count)
        drawn = np.array([first, (first + 1 + int(other * (count - 1))) % count])
        if chosen is None:
            probability = 1 / pairs if self._share else None
            return Choice(
                *measured, drawn, folded.predict(x[None])[0, drawn], side < 0.5, probability, fallback=True
            )
        arms, predicted = chosen
        if chance < self._share and set(drawn.tolist()) != set(arms.tolist()):
            expected = folded.predict(x[None])[0, drawn]
            return Choice(*measured, drawn, expected, side < 0.5, self._share / pairs)
        return Choice(*measured, arms, predicted, side < 0.5, 1 - self._share + self._share / pairs)

    def can_choose_together(self, folded: StreamState) -> bool:
        """Whether `choose_together` may be asked: every pair is the learner's own choice."""
        return not self._settles and self._share == 0 and folded.inputs.asks_at_once

    def choose_together(
        self, folded: StreamState, offered: Sequence[Array], wanted: Sequence[int]
    ) -> list[Choice]:
        """A pair of each of these candidates (K, dx), which the learner serves before it chooses the next.

        Up to the first that it cannot choose from. `StreamState.take_served` tells the rest of the state.
        """
        first = folded.ledger.rounds
        swapped = [bool(self._draws.at(first + i)[0, 0] < 0.5) for i in range(len(offered))]
        served = folded.choose_and_serve(offered, swapped, wanted)
        return [
            Choice(beyond, None, arms, predicted, is_swapped, None)
            for arms, predicted, beyond, is_swapped in zip(*served, swapped, strict=False)
        ]

    def _settling(self, folded: StreamState, offered: CandidateSet, offer: Offer) -> Pair | None:
        """The pair that helps most to settle who is best; None where there is none to be found."""
        predicted = folded.inputs.predict_units(offer.units)[0]
        z = beside(offer.x[0], offered.expected(predicted))
        arms = folded.belief.settling_pair(z, folded.duels.differences(MOST_AHEAD), top=self._top)
        return (arms, predicted[arms]) if arms.min() >= 0 else None


def beside(x: Array, y: Array) -> Array:
    """z (K, d) of x (K, dx) and y (K, dy); a large x without y is not copied."""
    return np.concatenate((x, y), axis=1) if y.shape[1] else x


def _sound_choice(folded: StreamState, offer: Offer) -> Pair | None:
    """The learner's choice; None where numbers beyond all bounds have left it without one."""
    try:
        arms, predicted = folded.inputs.pick(offer)
    except CannotChoose:
        return None
    return (arms[0], predicted[0]) if folded.learner.is_sound and all_finite(predicted) else None

"""A stream without a database: chooses, records and folds like one, many times as fast."""

import numpy as np
from numpy.typing import ArrayLike

from duelwise.stream.candidates import CandidateSet
from duelwise.stream.choosing import Chooser
from duelwise.stream.events import Asked, Event, Observed, Recorded, Told
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import StreamState


class BareStream:
    def __init__(self, settings: StreamSettings) -> None:
        self.settings, self.folded, self.log = settings, StreamState(settings), []
        self._chooser = Chooser(settings)

    def ask(self, x: ArrayLike):
        """The round and the pair (its first and second)."""
        folded, round = self.folded, self.folded.ledger.rounds
        x, ranged = np.asarray(x, dtype=np.float64), folded.due_ranges()
        choice = self._chooser.choose(folded, CandidateSet(x, None), round)
        bounds = choice.bounds
        if ranged is not None:
            self.record(ranged)
        self.record(
            Asked(
                round=round, tag="t", arms=choice.arms, x=x[choice.arms], predicted=choice.predicted,
                swapped=choice.swapped, model_version=folded.seq, fallback=choice.fallback,
                y=None if self.settings.post_dim else np.zeros((2, 0)),
                bounds=bounds,
            )
        )  # fmt: skip
        return round, choice.arms

    def observe(self, round: int, y: ArrayLike):
        self.record(Observed(round, np.asarray(y, dtype=np.float64)))

    def tell(self, round: int, outcome: float):
        self.record(Told(round, float(outcome)))

    def record(self, event: Event) -> None:
        recorded = Recorded(self.folded.seq + 1, float(self.folded.seq), event)
        self.folded.apply(recorded)
        self.log.append(recorded)

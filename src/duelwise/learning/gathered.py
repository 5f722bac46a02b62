"""Events of one run, gathered in their order, to happen in one compiled call."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from duelwise.learning.core.reference import handle
from duelwise.learning.core.sequence import HEARING, OBSERVING, SERVING, Events
from duelwise.types import Array, Contexts, Duel, Event, IntArray, Votes

RUN: IntArray = np.zeros(1, dtype=np.int64)
ROOM = 256  # events


class Gathered:
    """Columns to be filled: of every event its kind and round, of each kind what it says."""

    def __init__(self, *, context_dim: int, post_dim: int, room: int = ROOM) -> None:
        whole: IntArray = np.zeros(room, np.int64)
        pairs = (room, 2)
        self.events = Events(
            counts=np.zeros(4, np.int64), kind=whole.copy(), round=whole.copy(), row=whole.copy(),
            arms=np.zeros(pairs, np.int64), wanted=whole.copy(),
            x=np.zeros((*pairs, context_dim)), predicted=np.zeros((*pairs, post_dim)),
            y=np.zeros((*pairs, post_dim)), imputed=whole.copy(), outcome=np.zeros(room),
            seen_x=np.zeros((*pairs, context_dim)), seen_y=np.zeros((*pairs, post_dim)),
            units=np.zeros((2, context_dim + post_dim)),
        )  # fmt: skip
        self.handle = handle(self.events)
        self.offers: list[Array | None] = []  # (2, dx) least and greatest of what each duel was chosen from
        self._room, self._length, self._contexts, self._votes = room, 0, 0, 0

    def __len__(self) -> int:
        return self._length

    @property
    def is_full(self) -> bool:
        """Whether there is no room for a duel and its context."""
        return self._length + 2 > self._room

    def serve(
        self, round: int, arms: IntArray, x: Array, predicted: Array, offered: Array | None, wanted: int
    ) -> None:
        """A duel: arms (2,), x (2, dx), predicted (2, dy), offered (2, dx)."""
        held, row = self.events, len(self.offers)
        held.arms[row], held.x[row], held.predicted[row], held.wanted[row] = arms, x, predicted, wanted
        self.offers.append(offered)
        self._append(SERVING, round, row)

    def observe(self, round: int, y: Array, *, imputed: bool = False) -> None:
        """What became known of a duel: y (2, dy), NaN where it did not."""
        held, row = self.events, self._contexts
        held.y[row], held.imputed[row] = y, imputed
        self._contexts += 1
        self._append(OBSERVING, round, row)

    def tell(self, round: int, outcome: float) -> None:
        """A vote."""
        self.events.outcome[self._votes] = outcome
        self._votes += 1
        self._append(HEARING, round, self._votes - 1)

    def _append(self, kind: int, round: int, row: int) -> None:
        held, at = self.events, self._length
        held.kind[at], held.round[at], held.row[at] = kind, round, row
        self._length += 1

    def takes(self, event: Event) -> bool:
        """Whether the event can be gathered: of one run, and one vote or context at a time."""
        if isinstance(event, Contexts | Votes):
            return len(event.round) == 1
        return isinstance(event, Duel) and len(event.x) == 1

    def take(self, event: Event) -> None:
        """A duel, a context or a vote, as a learner takes it singly."""
        if isinstance(event, Duel):
            offered = None if event.offered is None else event.offered[0]
            self.serve(event.round, event.arms[0], event.x[0], event.predicted[0], offered, event.wanted)
        elif isinstance(event, Contexts):
            self.observe(int(event.round[0]), event.y[0], imputed=event.imputed)
        elif isinstance(event, Votes):
            self.tell(int(event.round[0]), float(event.outcome[0]))

    def close(self) -> Events:
        """The events, all counted."""
        self.events.counts[:] = self._length, len(self.offers), self._contexts, self._votes
        return self.events

    def clear(self) -> None:
        """Nothing gathered."""
        self._length = self._contexts = self._votes = 0
        self.offers.clear()

    def one_by_one(self) -> Iterator[Event]:
        """The events as a learner takes them singly."""
        held = self.events
        for at in range(self._length):
            round, row = int(held.round[at]), int(held.row[at])
            if held.kind[at] == SERVING:
                offered, own = self.offers[row], slice(row, row + 1)
                yield Duel(
                    round, held.arms[own].copy(), held.x[own].copy(), held.predicted[own].copy(),
                    None if offered is None else offered[None], int(held.wanted[row]),
                )  # fmt: skip
            elif held.kind[at] == OBSERVING:
                y, imputed = held.y[row : row + 1].copy(), bool(held.imputed[row])
                yield Contexts(RUN, np.array([round]), y, imputed)
            else:
                yield Votes(RUN, np.array([round]), held.outcome[row : row + 1].copy())

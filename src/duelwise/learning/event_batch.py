"""Events of one run, gathered in their order, to happen in one compiled call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from duelwise.learning.core.sequence import HEARING, OBSERVING, SERVING, Events
from duelwise.learning.core.state_pointer import handle
from duelwise.types import AnyArray, Array, BoolArray, Contexts, Duel, Event, IntArray, Votes

RUN: IntArray = np.zeros(1, dtype=np.int64)
ROOM = 256  # events
Single = Duel | Contexts | Votes
_KINDS: dict[type[Single], int] = {Duel: SERVING, Contexts: OBSERVING, Votes: HEARING}


class Duels(NamedTuple):
    """Duels that are served, each for one vote."""

    arms: IntArray  # (a, 2)
    x: Array  # (a, 2, dx)
    predicted: Array  # (a, 2, dy)
    y: Array  # (a, 2, dy)
    at_once: BoolArray  # (a,) whether y is known
    offers: Sequence[Array | None]  # (a,) of (2, dx)


class EventBatch:
    """Columns to be filled: of every event its kind and round, of each kind what it says."""

    def __init__(self, *, context_dim: int, post_dim: int, room: int = ROOM) -> None:
        self.is_whole = False  # nothing will be added or cleared
        self._hold(_room_for(room, context_dim, post_dim), [], room=room)
        self._length = self._contexts = self._votes = 0

    @classmethod
    def of(cls, kind: IntArray, round: IntArray, duels: Duels, y: Array, outcome: Array) -> EventBatch:
        """All of n events of this kind and round (n,): duels, contexts y (c, 2, dy), votes (v,) in order."""
        served = kind == SERVING
        times = np.ones(len(kind), dtype=np.int64)
        times[served] += duels.at_once
        kinds, contexts = np.repeat(kind, times), _contexts(kind, duels, y)
        kinds[np.cumsum(times)[served] - 1] = np.where(duels.at_once, OBSERVING, SERVING)
        return cls._holding(
            list(duels.offers), kind=kinds, round=np.repeat(round, times), arms=duels.arms, x=duels.x,
            predicted=duels.predicted, y=contexts, outcome=outcome,
            wanted=np.ones(len(duels.x), dtype=np.int64), imputed=np.zeros(len(contexts), dtype=np.int64),
        )  # fmt: skip

    @classmethod
    def of_events(cls, events: Sequence[Single], *, context_dim: int, post_dim: int) -> EventBatch:
        """Duels, contexts and votes as a learner takes them singly; see `is_single`."""
        duels = [event for event in events if isinstance(event, Duel)]
        contexts = [event for event in events if isinstance(event, Contexts)]
        votes = [event for event in events if isinstance(event, Votes)]
        rounds = [event.round if isinstance(event, Duel) else event.round[0] for event in events]
        pairs = (0, 2)
        return cls._holding(
            [None if duel.offered is None else duel.offered[0] for duel in duels],
            kind=np.array([_KINDS[type(event)] for event in events], dtype=np.int64),
            round=np.array(rounds, dtype=np.int64),
            arms=np.concatenate([np.empty(pairs, np.int64), *(duel.arms for duel in duels)]),
            x=np.concatenate([np.empty((*pairs, context_dim)), *(duel.x for duel in duels)]),
            predicted=np.concatenate([np.empty((*pairs, post_dim)), *(duel.predicted for duel in duels)]),
            wanted=np.array([duel.wanted for duel in duels], dtype=np.int64),
            y=np.concatenate([np.empty((*pairs, post_dim)), *(seen.y for seen in contexts)]),
            imputed=np.array([seen.imputed for seen in contexts], dtype=np.int64),
            outcome=np.concatenate([np.empty(0), *(vote.outcome for vote in votes)]),
        )

    @classmethod
    def _holding(cls, offers: list[Array | None], **columns: AnyArray) -> EventBatch:
        """Whole columns of Events, but for the rows, which are counted by kind, and what a fold fills."""
        kind, x, y, outcome = columns["kind"], columns["x"], columns["y"], columns["outcome"]
        counts, row = (len(x), len(y), len(outcome)), np.empty_like(kind)
        for each, count in zip((SERVING, OBSERVING, HEARING), counts, strict=True):
            row[kind == each] = np.arange(count)
        made = cls.__new__(cls)
        made.is_whole = True
        events = _room_for(len(y), x.shape[2], y.shape[2])._replace(
            counts=np.array([len(kind), *counts]), row=row, **columns
        )
        made._hold(events, offers, room=len(kind))
        made._length, made._contexts, made._votes = len(kind), len(y), len(outcome)
        return made

    def _hold(self, events: Events, offers: list[Array | None], *, room: int) -> None:
        self.events, self.handle = events, handle(events)
        self.offers: list[Array | None] = offers  # (2, dx) least and greatest of what was offered
        self._room = room

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

    def close(self) -> Events:
        """The events, all counted."""
        self.events.counts[:] = self._length, len(self.offers), self._contexts, self._votes
        return self.events

    def filled(self, duels: int) -> None:
        """So many duels were chosen and gathered by a kernel; those without y have their context."""
        contexts = 0 if self.events.y.shape[2] else duels
        self._length, self._contexts = duels + contexts, contexts
        self.offers += [None] * duels
        self.close()

    def clear(self) -> None:
        """Nothing gathered."""
        self._length = self._contexts = self._votes = 0
        self.offers.clear()

    def one_by_one(self) -> Iterator[Event]:
        """The events as a learner takes them singly."""
        held, duels = self.events, len(self.offers)
        arms, x, predicted = held.arms[:duels].copy(), held.x[:duels].copy(), held.predicted[:duels].copy()
        y, outcome = held.y[: self._contexts].copy(), held.outcome[: self._votes].copy()
        kinds: list[int] = held.kind[: len(self)].tolist()
        rounds: list[int] = held.round[: len(self)].tolist()
        rows: list[int] = held.row[: len(self)].tolist()
        for kind, round, row in zip(kinds, rounds, rows, strict=True):
            own = slice(row, row + 1)
            if kind == SERVING:
                offer, wanted = self.offers[row], int(held.wanted[row])
                offered = None if offer is None else offer[None]
                yield Duel(round, arms[own], x[own], predicted[own], offered, wanted)
            elif kind == OBSERVING:
                yield Contexts(RUN, np.array([round]), y[own], bool(held.imputed[row]))
            else:
                yield Votes(RUN, np.array([round]), outcome[own])


def is_single(event: Event) -> bool:
    """Whether the event can be gathered: of one run, and one vote or context at a time."""
    if isinstance(event, Contexts | Votes):
        return len(event.round) == 1
    return isinstance(event, Duel) and len(event.x) == 1


def _room_for(room: int, context_dim: int, post_dim: int) -> Events:
    """For this many events of each kind."""
    whole: IntArray = np.zeros(room, np.int64)
    pairs = (room, 2)
    return Events(
        counts=np.zeros(4, np.int64), kind=whole.copy(), round=whole.copy(), row=whole.copy(),
        arms=np.zeros(pairs, np.int64), wanted=whole.copy(),
        x=np.zeros((*pairs, context_dim)), predicted=np.zeros((*pairs, post_dim)),
        y=np.zeros((*pairs, post_dim)), imputed=whole.copy(), outcome=np.zeros(room),
        seen_x=np.zeros((*pairs, context_dim)), seen_y=np.zeros((*pairs, post_dim)),
        units=np.zeros((2, context_dim + post_dim)),
    )  # fmt: skip


def _contexts(kind: IntArray, duels: Duels, y: Array) -> Array:
    """Those that came with their duels among those (c, 2, dy) that came later, in their order."""
    if not duels.at_once.any():
        return y
    came = np.where(kind == OBSERVING, 1, 0)
    came[kind == SERVING] = np.where(duels.at_once, 2, 0)
    came = came[came > 0]
    all_of_them = np.empty((len(came), *y.shape[1:]))
    all_of_them[came == 1], all_of_them[came == 2] = y, duels.y[duels.at_once]
    return all_of_them

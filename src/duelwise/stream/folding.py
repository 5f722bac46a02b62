"""A stream's state is a fold over its log: restart, replica, replay and audit are one function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from duelwise.errors import StorageFailure
from duelwise.learning.learner import DuelingLearner, Learned
from duelwise.storage import SnapshotRow, Store, pack, unpack
from duelwise.stream.events import (
    Asked,
    Cut,
    Expired,
    Observed,
    Rebuilt,
    Recorded,
    Retracted,
    Skipped,
    Told,
    decode,
    kind_of,
)
from duelwise.stream.ledger import Ledger
from duelwise.stream.settings import StreamSettings
from duelwise.types import Array, Contexts, Duel, IntArray, Votes

RUN: IntArray = np.zeros(1, dtype=np.int64)  # a stream is one run
SHARE = "learner."


class Folded:
    """The learner and the ledger after event `seq`."""

    def __init__(self, settings: StreamSettings, *, without: frozenset[int] = frozenset()) -> None:
        self.settings = settings
        self.learner: DuelingLearner = settings.start()
        self.ledger = Ledger()
        self.seq = 0
        self.restored_from = 0  # the snapshot it started from
        self.without = without  # rounds whose votes are left out

    def apply(self, recorded: Recorded) -> None:
        """The next event of the log: serve, observe, tell, forget; never choose."""
        if recorded.seq != self.seq + 1:
            raise StorageFailure(
                f"Event {recorded.seq} follows event {self.seq}; events are folded in order."
            )
        event, ledger = recorded.event, self.ledger
        if isinstance(event, Asked):
            self._serve(event, recorded.at)
        elif isinstance(event, Observed):
            ledger.observed(event.round)
            self._observe(event.round, event.y)
        elif isinstance(event, Told):
            ledger.told(event.round, recorded.at, event.outcome, event.source)
            if event.round not in self.without:
                self._note(self.learner.tell(Votes(RUN, _one(event.round), np.array([event.outcome]))))
        elif isinstance(event, Rebuilt):
            ledger.rebuilt_upto = event.upto
        elif isinstance(event, Cut):
            self._serve_nothing(event.round, recorded.at)
        else:
            self._close(event, recorded.seq)
        self.seq = recorded.seq

    def _serve(self, asked: Asked, at: float) -> None:
        self.learner.serve(Duel(asked.round, asked.arms[None], asked.x[None], asked.predicted[None]))
        self.ledger.asked(asked.round, at, swapped=asked.swapped, observed=asked.y is not None)
        if asked.y is not None:
            self._observe(asked.round, asked.y)

    def _observe(self, round: int, y: Array) -> None:
        self._note(self.learner.observe(Contexts(RUN, _one(round), y[None])))

    def _close(self, event: Skipped | Expired | Retracted, seq: int) -> None:
        learned = event.round not in self.ledger.waiting and event.round not in self.without
        self.ledger.closed(event.round, kind_of(event))
        if learned:  # no estimate can unlearn: a rebuild has to take the vote out
            self.ledger.unlearning_since = seq
        else:
            self.learner.forget(0, event.round)

    def _serve_nothing(self, round: int, at: float) -> None:
        """A duel whose record was cut still counts its round: two equal candidates teach nothing."""
        if round < 0:
            return
        x = np.zeros((1, 2, self.settings.context_dim))
        y = np.zeros((1, 2, self.settings.post_dim))
        self.learner.serve(Duel(round, np.array([[0, 1]]), x, y))
        self.learner.forget(0, round)
        self.ledger.asked(round, at, swapped=False, observed=False)
        self.ledger.closed(round, "retracted")

    def _note(self, learned: Learned) -> None:
        for round, weight in zip(learned.round.tolist(), learned.weight.tolist(), strict=True):
            self.ledger.learned(round, weight)

    def snapshot(self) -> SnapshotRow:
        """The whole state as bytes."""
        fields, arrays = self.ledger.snapshot()
        return SnapshotRow(
            self.seq, pack(fields, arrays | {SHARE + k: v for k, v in self.learner.snapshot().items()})
        )

    def restore(self, snapshot: SnapshotRow) -> None:
        fields, arrays = unpack(snapshot.payload)
        self.ledger.restore(fields, arrays)
        self.learner.restore({k.removeprefix(SHARE): v for k, v in arrays.items() if k.startswith(SHARE)})
        self.seq = self.restored_from = snapshot.seq


def _one(round: int) -> IntArray:
    return np.array([round], dtype=np.int64)


class Log(Protocol):
    """A log to fold, wherever it is kept."""

    def events(self, *, after: int, upto: int) -> Iterable[Recorded]: ...

    def rewriting(self, *, upto: int) -> Iterable[Recorded]:
        """Only `retracted` and `rebuilt`, in order."""
        ...

    def snapshot(self, *, upto: int) -> SnapshotRow | None: ...


class StoredLog:
    """The log of a stream in a store."""

    def __init__(self, store: Store, stream_id: int) -> None:
        self._store, self._id = store, stream_id

    def events(self, *, after: int, upto: int) -> Iterator[Recorded]:
        return map(decode, self._store.events(self._id, after=after, upto=upto))

    def rewriting(self, *, upto: int) -> Iterator[Recorded]:
        return map(decode, self._store.rewriting_events(self._id, upto=upto))

    def snapshot(self, *, upto: int) -> SnapshotRow | None:
        return self._store.snapshot(self._id, upto=upto)


class RecordedLog:
    """A log in memory, such as an exported one."""

    def __init__(self, recorded: Iterable[Recorded]) -> None:
        self._recorded = list(recorded)

    @property
    def head(self) -> int:
        return len(self._recorded)

    def events(self, *, after: int, upto: int) -> Iterable[Recorded]:
        return self._recorded[after:upto]

    def rewriting(self, *, upto: int) -> Iterable[Recorded]:
        return [r for r in self._recorded[:upto] if isinstance(r.event, Retracted | Rebuilt)]

    def snapshot(self, *, upto: int) -> SnapshotRow | None:
        return None


def fold(settings: StreamSettings, log: Log, *, upto: int) -> Folded:
    """The state after event `upto`, from the log alone.

    The last rebuild in it says which retracted votes are left out.
    """
    rewriting = list(log.rewriting(upto=upto))
    rebuilt = [r.event.upto for r in rewriting if isinstance(r.event, Rebuilt)]
    return _folded_without(settings, log, retracted_upto=rebuilt[-1] if rebuilt else 0, upto=upto)


def rebuild(settings: StreamSettings, log: Log, *, upto: int) -> Folded:
    """The state after event `upto` had no vote retracted by then ever been told."""
    return _folded_without(settings, log, retracted_upto=upto, upto=upto)


def _folded_without(settings: StreamSettings, log: Log, *, retracted_upto: int, upto: int) -> Folded:
    rewriting = log.rewriting(upto=retracted_upto)
    folded = Folded(
        settings, without=frozenset(r.event.round for r in rewriting if isinstance(r.event, Retracted))
    )
    for recorded in log.events(after=0, upto=upto):
        folded.apply(recorded)
    return folded


def load(settings: StreamSettings, log: Log, *, upto: int) -> Folded:
    """The same state as `fold`, from the newest snapshot and the events after it."""
    snapshot = log.snapshot(upto=upto)
    if snapshot is None:
        return fold(settings, log, upto=upto)
    folded = Folded(settings)
    folded.restore(snapshot)
    return caught_up(folded, log, upto=upto)


def caught_up(folded: Folded, log: Log, *, upto: int) -> Folded:
    """The state after event `upto`; a new one where a rebuild replaced the learner."""
    for recorded in log.events(after=folded.seq, upto=upto):
        if isinstance(recorded.event, Rebuilt):
            return _past_rebuild(folded.settings, log, seq=recorded.seq, upto=upto)
        folded.apply(recorded)
    return folded


def _past_rebuild(settings: StreamSettings, log: Log, *, seq: int, upto: int) -> Folded:
    """A rebuild leaves a snapshot of its own; without it the log is folded anew."""
    snapshot = log.snapshot(upto=upto)
    if snapshot is None or snapshot.seq < seq:
        return fold(settings, log, upto=upto)
    folded = Folded(settings)
    folded.restore(snapshot)
    return caught_up(folded, log, upto=upto)

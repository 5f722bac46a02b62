"""A stream's state is a fold over its log: restart, replica, replay and audit are one function."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from duelwise.errors import StorageFailure
from duelwise.learning.learner import DuelingLearner, Learned
from duelwise.learning.scaling import Ranges, Ranging, ScaledLearner
from duelwise.storage import SnapshotRow, Store, pack, unpack
from duelwise.stream.arithmetic import ARITHMETIC, FORMAT
from duelwise.stream.events import (
    Asked,
    Cut,
    Imputed,
    Observed,
    Ranged,
    Rebuilt,
    Recorded,
    Retracted,
    Skipped,
    Told,
    decode,
)
from duelwise.stream.ledger import Ledger
from duelwise.stream.progress import watched
from duelwise.stream.settings import StreamSettings
from duelwise.types import Contexts, Duel, IntArray, Votes

RUN: IntArray = np.zeros(1, dtype=np.int64)  # a stream is one run
SHARE = "learner."
BYTES_PER_TICKET = 400  # of an open ticket in the ledger

logger = logging.getLogger("duelwise.stream")


class Folded:
    """The learner and the ledger after event `seq`."""

    def __init__(
        self,
        settings: StreamSettings,
        *,
        without: frozenset[int] = frozenset(),
        without_votes: frozenset[int] = frozenset(),
    ) -> None:
        self.settings = settings
        self.inputs: ScaledLearner = settings.start_scaled()
        self.ledger = Ledger()
        self.seq = 0
        self.restored_from = 0  # the snapshot it started from
        self.without_votes = without_votes  # events of single votes that are left out
        self.without = without  # rounds whose votes are left out,
        # and of streams that 0.2 made their contexts too: as if the duel had never been.
        self._unserved: frozenset[int] = without if settings.edition >= 2 else frozenset()

    @property
    def learner(self) -> DuelingLearner:
        """The learner behind its ranges: all its numbers are in their units."""
        return self.inputs.learner

    def apply(self, recorded: Recorded) -> None:
        """The next event of the log: serve, observe, tell, forget; never choose."""
        if recorded.seq != self.seq + 1:
            raise StorageFailure(
                f"Event {recorded.seq} follows event {self.seq}; events are folded in order."
            )
        before = self.ledger.take(recorded)
        event = recorded.event
        if isinstance(event, Asked):
            self._serve(event)
        elif isinstance(event, Observed):
            self._observe(event)
        elif isinstance(event, Imputed):
            if event.round not in self._unserved:
                self._note(self.inputs.observe(Contexts(RUN, _one(event.round), event.y[None], True)))
        elif isinstance(event, Told):
            if event.round not in self.without and recorded.seq not in self.without_votes:
                self._note(self.inputs.tell(Votes(RUN, _one(event.round), np.array([event.outcome]))))
            self._close_if_told(event.round)
        elif isinstance(event, Skipped) and event.round in self.ledger.waiting:
            pass  # one of several raters will not say
        elif isinstance(event, Retracted) and event.vote is not None:
            self.ledger.unlearning_since = recorded.seq
        elif isinstance(event, Cut):
            self._serve_nothing(event.round)
        elif isinstance(event, Ranged):
            ranges = Ranges(event.centre[None], event.half[None], event.reach[None])
            self.inputs.rescale(Ranging(ranges, event.settled))
        elif before is not None:
            self._close(event.round, recorded.seq, told=before == "told")
        self.seq = recorded.seq

    def due_ranges(self) -> Ranged | None:
        """The ranges to record next, where some are due."""
        ranging = self.inputs.due()
        if ranging is None:
            return None
        centre, half, reach = (values[0] for values in ranging.ranges)
        return Ranged(centre, half, reach, ranging.settled)

    def _serve(self, asked: Asked) -> None:
        if asked.round in self._unserved:
            self._serve_nothing(asked.round)
            return
        offered = None if asked.bounds is None else asked.bounds[None]
        pair = (asked.arms[None], asked.x[None], asked.predicted[None])
        self.inputs.serve(Duel(asked.round, *pair, offered, asked.wanted or 1))
        if asked.y is not None:
            self._note(self.inputs.observe(Contexts(RUN, _one(asked.round), asked.y[None])))

    def _observe(self, observed: Observed) -> None:
        """What is new of a pair's context."""
        if observed.round in self._unserved:
            return
        if observed.x is not None and observed.fresh is not None:
            fresh = np.where(observed.fresh.astype(np.bool_), observed.y, np.nan)
            self.inputs.teach(RUN, observed.x[None], fresh[None])
            return
        fresh = np.where(self.learner.known_context(0, observed.round), np.nan, observed.y)
        self._note(self.inputs.observe(Contexts(RUN, _one(observed.round), fresh[None])))
        self._close_if_told(observed.round)

    def _close_if_told(self, round: int) -> None:
        """A duel whose ticket is told waits for no vote, though some of its votes were left out."""
        if self.without_votes and round not in self.ledger.waiting and self.learner.waits(0, round):
            self.inputs.forget(0, round)

    def _close(self, round: int, seq: int, *, told: bool) -> None:
        """Skipped, expired or retracted."""
        if told and round not in self.without:  # no estimate can unlearn: a rebuild takes the vote out
            self.ledger.unlearning_since = seq
        elif round not in self._unserved and self.learner.waits(0, round):
            self.inputs.forget(0, round)

    def _serve_nothing(self, round: int) -> None:
        """A duel whose record was cut, or that is taken out, still counts its round."""
        if round < 0:
            return
        x = np.full((1, 2, self.settings.context_dim), np.nan)
        y = np.full((1, 2, self.settings.post_dim), np.nan)
        self.inputs.serve(Duel(round, np.array([[0, 1]]), x, y))
        self.inputs.forget(0, round)

    def _note(self, learned: Learned) -> None:
        for round, weight in zip(learned.round.tolist(), learned.weight.tolist(), strict=True):
            self.ledger.learned(round, weight)

    def snapshot(self) -> SnapshotRow:
        """The whole state as bytes."""
        fields, arrays = self.ledger.snapshot()
        state = arrays | {SHARE + k: v for k, v in self.inputs.snapshot().items()}
        return SnapshotRow(self.seq, pack(fields, state), FORMAT, ARITHMETIC)

    def size(self) -> int:
        """Bytes of memory that the state takes, about."""
        state = sum(array.nbytes for array in self.inputs.snapshot().values())
        return state + BYTES_PER_TICKET * len(self.ledger.waiting)

    def restore(self, snapshot: SnapshotRow) -> None:
        fields, arrays = unpack(snapshot.payload)
        self.ledger.restore(fields, arrays)
        self.inputs.restore({k.removeprefix(SHARE): v for k, v in arrays.items() if k.startswith(SHARE)})
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
        return self._store.snapshot(self._id, upto=upto, format=FORMAT, arithmetic=ARITHMETIC)


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
    retracted = [r.event for r in rewriting if isinstance(r.event, Retracted)]
    folded = Folded(
        settings,
        without=frozenset(event.round for event in retracted if event.vote is None),
        without_votes=frozenset(event.vote for event in retracted if event.vote is not None),
    )
    for recorded in watched(log.events(after=0, upto=upto), upto=upto):
        folded.apply(recorded)
    return folded


def load(settings: StreamSettings, log: Log, *, upto: int) -> Folded:
    """The same state as `fold`, from the newest snapshot and the events after it."""
    folded = _restored(settings, log.snapshot(upto=upto))
    return fold(settings, log, upto=upto) if folded is None else caught_up(folded, log, upto=upto)


def caught_up(folded: Folded, log: Log, *, upto: int) -> Folded:
    """The state after event `upto`; a new one where a rebuild replaced the learner."""
    if folded.seq == upto:
        return folded
    for recorded in watched(log.events(after=folded.seq, upto=upto), upto=upto):
        if isinstance(recorded.event, Rebuilt):
            return _past_rebuild(folded.settings, log, seq=recorded.seq, upto=upto)
        folded.apply(recorded)
    return folded


def _past_rebuild(settings: StreamSettings, log: Log, *, seq: int, upto: int) -> Folded:
    """A rebuild leaves a snapshot of its own; without it the log is folded anew."""
    folded = _restored(settings, log.snapshot(upto=upto))
    if folded is None or folded.seq < seq:
        return fold(settings, log, upto=upto)
    return caught_up(folded, log, upto=upto)


def _restored(settings: StreamSettings, snapshot: SnapshotRow | None) -> Folded | None:
    """The state of a snapshot; None where there is none that this version can read."""
    if snapshot is None:
        return None
    folded = Folded(settings)
    try:
        folded.restore(snapshot)
    except Exception as error:  # whatever another version may have called its arrays: the log is the truth
        logger.warning(
            "the snapshot after event %d is set aside, and the log folded again: %s: %s",
            snapshot.seq, type(error).__name__, error,
        )  # fmt: skip
        return None
    return folded

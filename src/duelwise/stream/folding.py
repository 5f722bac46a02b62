"""A stream's state is a fold over its log: restart, replica, replay and audit are one function."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from duelwise.garbage_collection import uncollected
from duelwise.storage.rows import EventColumns
from duelwise.stream.events import (
    REWRITING,
    Rebuilt,
    Recorded,
)
from duelwise.stream.leaving_out import left_out
from duelwise.stream.logs import Log
from duelwise.stream.progress import counted
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import StreamState

logger = logging.getLogger("duelwise.stream")


def fold(settings: StreamSettings, log: Log, *, upto: int) -> StreamState:
    """The state after event `upto`, from the log alone.

    The last rebuild in it says which retracted votes are left out.
    """
    rewriting = list(log.of_kinds(REWRITING, upto=upto))
    rebuilt = [0, *(r.event.upto for r in rewriting if isinstance(r.event, Rebuilt))]
    return _folded_without(settings, log, (r for r in rewriting if r.seq <= rebuilt[-1]), upto=upto)


def rebuild(settings: StreamSettings, log: Log, *, upto: int) -> StreamState:
    """The state after event `upto` had no vote retracted by then ever been told."""
    return _folded_without(settings, log, log.of_kinds(REWRITING, upto=upto), upto=upto)


def _folded_without(
    settings: StreamSettings, log: Log, rewriting: Iterable[Recorded], *, upto: int
) -> StreamState:
    folded = StreamState(settings, leaving_out=left_out(rewriting))
    with uncollected():
        folded.apply_all(counted(log.chunks(after=0, upto=upto), upto=upto))
    return folded


def load(settings: StreamSettings, log: Log, *, upto: int) -> StreamState:
    """The same state as `fold`, from the newest snapshot and the events after it."""
    folded = _restored(settings, log, upto=upto)
    return fold(settings, log, upto=upto) if folded is None else caught_up(folded, log, upto=upto)


def caught_up(folded: StreamState, log: Log, *, upto: int) -> StreamState:
    """The state after event `upto`; a new one where a rebuild replaced the learner."""
    if folded.seq == upto:
        return folded
    events = counted(log.chunks(after=folded.seq, upto=upto), upto=upto)
    rebuilt: list[int] = []

    def up_to_a_rebuild() -> Iterator[Recorded | EventColumns]:
        for some in events:
            if isinstance(some, EventColumns) and "rebuilt" in some.kind:
                place = some.kind.index("rebuilt")
                rebuilt.append(some.seq[place])
                yield some.part(0, place)
                return
            if isinstance(some, Recorded) and isinstance(some.event, Rebuilt):
                rebuilt.append(some.seq)
                return
            yield some

    folded.apply_all(up_to_a_rebuild())
    return _past_rebuild(folded.settings, log, seq=rebuilt[0], upto=upto) if rebuilt else folded


def _past_rebuild(settings: StreamSettings, log: Log, *, seq: int, upto: int) -> StreamState:
    """A rebuild leaves a snapshot of its own; without it the log is folded anew."""
    folded = _restored(settings, log, upto=upto)
    if folded is None or folded.seq < seq:
        return fold(settings, log, upto=upto)
    return caught_up(folded, log, upto=upto)


def _restored(settings: StreamSettings, log: Log, *, upto: int) -> StreamState | None:
    """The state of the newest snapshot; None where there is none that this version can read."""
    snapshot = log.snapshot(upto=upto)
    if snapshot is None:
        return None
    folded = StreamState(settings)
    try:
        folded.restore(snapshot)
    except Exception as error:  # whatever another version may have called its arrays: the log is the truth
        logger.warning(
            "the snapshot after event %d is set aside, and the log folded again: %s: %s",
            snapshot.seq, type(error).__name__, error,
        )  # fmt: skip
        return None
    folded.read_catalogue(log)
    return folded

"""A log to fold, wherever it is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from duelwise.storage import SnapshotRow, Store
from duelwise.storage.rows import EventColumns
from duelwise.stream.arithmetic import ARITHMETIC, FORMAT
from duelwise.stream.events import Recorded, decode, kind_of


class Log(Protocol):
    """A log to fold, wherever it is kept."""

    def events(self, *, after: int, upto: int) -> Iterable[Recorded]: ...

    def chunks(self, *, after: int, upto: int) -> Iterable[Recorded | EventColumns]:
        """The same events for a fold, many at a time where they are still to be read."""
        ...

    def of_kinds(self, kinds: Sequence[str], *, upto: int) -> Iterable[Recorded]:
        """Only events of these kinds, in order."""
        ...

    def snapshot(self, *, upto: int) -> SnapshotRow | None: ...


class StoredLog:
    """The log of a stream in a store."""

    def __init__(self, store: Store, stream_id: int) -> None:
        self._store, self._id = store, stream_id

    def events(self, *, after: int, upto: int) -> Iterator[Recorded]:
        return map(decode, self._store.events(self._id, after=after, upto=upto))

    def chunks(self, *, after: int, upto: int) -> Iterator[EventColumns]:
        return self._store.event_columns(self._id, after=after, upto=upto)

    def of_kinds(self, kinds: Sequence[str], *, upto: int) -> Iterator[Recorded]:
        return map(decode, self._store.events_of(self._id, kinds, upto=upto))

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

    def chunks(self, *, after: int, upto: int) -> Iterable[Recorded]:
        return self.events(after=after, upto=upto)

    def of_kinds(self, kinds: Sequence[str], *, upto: int) -> Iterable[Recorded]:
        return [r for r in self._recorded[:upto] if kind_of(r.event) in kinds]

    def snapshot(self, *, upto: int) -> SnapshotRow | None:
        return None

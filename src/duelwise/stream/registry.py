"""The streams that one process serves: opened in the background, closed when they are idle.

A stream that takes long to open, because its log is folded again, or that cannot be opened,
says so by itself; the others serve.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as NotDone
from dataclasses import dataclass
from typing import Literal

from duelwise.errors import DuelwiseError, Folding, TooLarge
from duelwise.storage import Store, StreamRow
from duelwise.stream.decision_stream import DecisionStream, register
from duelwise.stream.heartbeat import Heartbeat
from duelwise.stream.progress import Progress
from duelwise.stream.replica import Clock
from duelwise.stream.settings import StreamSettings

OPENERS = 8  # streams that are opened at the same time; a long fold must not keep the others waiting
PATIENCE_SECONDS = 2.0  # a caller waits so long for a stream that is being opened
RETRY_SECONDS = 5.0  # after which a stream that could not be opened is tried again
MEMORY_BYTES = 1 << 30

log = logging.getLogger("duelwise.stream")

State = Literal["open", "folding", "broken", "closed"]


@dataclass(frozen=True, kw_only=True)
class StreamEntry:
    """A stream of the store as this process knows it."""

    row: StreamRow
    state: State
    reason: str | None = None  # why it does not serve, where it does not
    stream: DecisionStream | None = None  # where it is open


class _Held:
    """A stream that is open or on its way there."""

    def __init__(self, opening: Future[DecisionStream], progress: Progress) -> None:
        self.opening, self.progress = opening, progress
        self.since = time.monotonic()
        self.counted = False  # whether room was made for it
        self.used = 0  # the number of its latest use, among those of all
        self._stream: DecisionStream | None = None  # kept apart: a future is asked under its lock

    @property
    def stream(self) -> DecisionStream | None:
        if self._stream is not None:
            return self._stream
        if self.opening.done() and self.opening.exception() is None:
            self._stream = self.opening.result()
        return self._stream

    @property
    def failed_long_ago(self) -> bool:
        failed = self.stream is None and self.opening.done()
        return failed and time.monotonic() - self.since > RETRY_SECONDS


class StreamRegistry:
    """Open streams by name, no more of them in memory than `memory_bytes` hold; any thread may ask.

    A stream that is closed for room while somebody still uses it goes on to work for him: the log
    is the truth, and two replicas of one process agree like those of two.
    """

    def __init__(
        self,
        store: Store,
        *,
        memory_bytes: int = MEMORY_BYTES,
        stream_limit: int | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
        clock: Clock = time.time,
    ) -> None:
        self.store = store
        self._memory, self._limit, self._clock = memory_bytes, stream_limit, clock
        self._patience = patience_seconds
        self._held: dict[str, _Held] = {}
        self._uses = itertools.count(1)
        self._mutex = threading.Lock()
        self._openers = ThreadPoolExecutor(OPENERS, thread_name_prefix="duelwise opening")
        self._closer = ThreadPoolExecutor(1, thread_name_prefix="duelwise closing")
        self._heartbeat = Heartbeat(store)
        self._heartbeat.start()

    def stream(self, name: str) -> DecisionStream:
        """An open stream; `Folding` while it is on its way, or why it cannot be opened."""
        if name not in self._held:
            self.store.stream(name)  # an unknown one is refused here, and takes no memory
        held = self._take(name)
        try:
            stream = held.opening.result(self._patience)
        except NotDone:
            raise Folding(
                f"The log of stream {name!r} is being folded: {held.progress.share:.0%} done. "
                "It serves when that is finished; other streams are not concerned.",
                done=held.progress.share,
            ) from None
        if not held.counted:
            held.counted = True
            self._make_room(name)
        return stream

    def ready(self, name: str) -> DecisionStream | None:
        """The stream where it is open already; never waits, so an event loop may ask."""
        held = self._held.get(name)
        if held is None:
            return None
        held.used = next(self._uses)
        return held.stream

    def create(self, name: str, settings: StreamSettings) -> tuple[DecisionStream, bool]:
        """The stream of this name and whether it is new; a store may hold only so many."""
        if self._limit is not None and name not in self.store and self.store.count() >= self._limit:
            raise TooLarge(
                f"The store has {self._limit} streams already, and this service allows no more. "
                "Use one that is there, or raise the limit where the service is started."
            )
        new = register(self.store, name, settings, at=self._clock())
        return self.stream(name), new

    def entries(self) -> list[StreamEntry]:
        """Every stream of the store by name; looking opens none."""
        with self._mutex:
            held = dict(self._held)
        return [_entry(row, held.get(row.name)) for row in self.store.streams()]

    def open_streams(self) -> list[DecisionStream]:
        with self._mutex:
            return [held.stream for held in self._held.values() if held.stream is not None]

    def close(self) -> None:
        """Write the last snapshots; the store stays open."""
        self._openers.shutdown(cancel_futures=True)
        self._closer.shutdown()
        for stream in self.open_streams():
            _close(stream)
        self._held.clear()
        self._heartbeat.stop()

    def _take(self, name: str) -> _Held:
        with self._mutex:
            held = self._held.get(name)
            if held is None or held.failed_long_ago:
                progress = Progress()
                held = self._held[name] = _Held(self._openers.submit(self._open, name, progress), progress)
            held.used = next(self._uses)
            return held

    def _open(self, name: str, progress: Progress) -> DecisionStream:
        with progress.shown():
            return DecisionStream.open(self.store, name, clock=self._clock)

    def _make_room(self, name: str) -> None:
        """Close the streams that were used longest ago until the rest fit; the last one stays."""
        with self._mutex:
            closing: list[DecisionStream] = []
            by_use = sorted(self._held.items(), key=lambda one: one[1].used)
            open_ones = {one: held.stream for one, held in by_use if held.stream is not None}
            total = sum(stream.memory_bytes for stream in open_ones.values())
            for one, stream in open_ones.items():
                if total <= self._memory or one == name:
                    break
                del self._held[one]
                closing.append(stream)
                total -= stream.memory_bytes
        # Whoever needs the room waits for it, but not for a stream that has long work to finish.
        wait([self._closer.submit(_close, stream) for stream in closing], self._patience)


def _close(stream: DecisionStream) -> None:
    try:
        stream.close()
    except DuelwiseError as error:  # the log is whole; only the next opening will take longer
        log.warning("%s was closed without a snapshot: %s", stream.name, error)


def _entry(row: StreamRow, held: _Held | None) -> StreamEntry:
    if held is None:
        reason = None if row.damaged is None else f"Event {row.damaged} is damaged; repair the stream."
        return StreamEntry(row=row, state="closed" if reason is None else "broken", reason=reason)
    if not held.opening.done():
        return StreamEntry(
            row=row, state="folding", reason=f"{held.progress.share:.0%} of its log is folded."
        )
    error = held.opening.exception()
    if error is not None:
        return StreamEntry(row=row, state="broken", reason=f"{type(error).__name__}: {error}")
    stream = held.opening.result()
    return StreamEntry(row=row, state="open", reason=stream.read_only, stream=stream)

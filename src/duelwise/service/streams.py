"""The streams that this process has open, each with its lane."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from duelwise.errors import BrokenStream, Conflict, DuelwiseError, StorageFailure, UnknownStream
from duelwise.service.lanes import Lane, ThreadWriter, TurnWriter
from duelwise.service.settings import ServiceSettings
from duelwise.storage import Store
from duelwise.stream import DecisionStream, StreamSettings, register

T = TypeVar("T")
log = logging.getLogger("duelwise.service")

THREADS = 8  # transactions of different streams, and reads, at the same time


class OpenStreams:
    """Streams are opened when they are first needed and stay open."""

    def __init__(self, store: Store, settings: ServiceSettings, on_group: Callable[[int], None]) -> None:
        self.store = store
        self._settings = settings
        self._lanes: dict[str, Lane] = {}
        self._opening: dict[str, asyncio.Task[Lane]] = {}
        self.broken: dict[str, str] = {}  # streams that could not be opened, and why
        self._writers = ThreadPoolExecutor(THREADS, thread_name_prefix="duelwise writing")
        self._on_group = on_group
        self._shared = TurnWriter(store, self._writers, on_group) if store.has_one_writer else None
        self._readers = ThreadPoolExecutor(THREADS, thread_name_prefix="duelwise reading")

    def __iter__(self) -> Iterator[Lane]:
        return iter(list(self._lanes.values()))

    async def run(self, call: Callable[[], T]) -> T:
        """Work that waits for the disk, away from the event loop, in no writer's way."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, call)

    async def lane(self, name: str) -> Lane:
        """The lane of a stream; an unknown name is an error."""
        known = self._lanes.get(name)
        if known is not None:
            return known
        opening = self._opening.get(name)
        if opening is None:  # those who come meanwhile wait for the same opening, and only for that
            opening = asyncio.ensure_future(self._open(name))
            self._opening[name] = opening
            opening.add_done_callback(lambda _: self._opening.pop(name, None))
        return await asyncio.shield(opening)

    async def create(self, name: str, settings: StreamSettings) -> tuple[Lane, bool]:
        """The lane of a stream with these settings, and whether it is new."""
        is_new = await self.run(lambda: register(self.store, name, settings, at=time.time()))
        return await self.lane(name), is_new

    def close(self) -> None:
        """Write the last snapshots; the store stays open."""
        self._writers.shutdown()
        self._readers.shutdown()
        for lane in self:
            try:
                lane.stream.close()
            except DuelwiseError as error:  # the log is whole; only the next start will take longer
                log.warning("%s was closed without a snapshot: %s", lane.stream.name, error)
        self._lanes.clear()

    async def _open(self, name: str) -> Lane:
        try:
            stream = await self.run(lambda: _opened(self.store, name))
        except BrokenStream as error:
            self.broken[name] = str(error)
            raise
        self.broken.pop(name, None)
        writer = self._shared or ThreadWriter(self._writers, self._on_group)
        self._lanes[name] = Lane(stream, writer, limit=self._settings.queue_limit)
        return self._lanes[name]


def _opened(store: Store, name: str) -> DecisionStream:
    """The stream; one whose record this version cannot make sense of is broken, whatever the reason."""
    try:
        return DecisionStream.open(store, name)
    except (UnknownStream, StorageFailure, Conflict):
        raise
    except Exception as error:
        log.exception("the stream %s cannot be opened", name)
        raise BrokenStream(
            f"The stream {name!r} cannot be opened: {type(error).__name__}: {error}"
        ) from error

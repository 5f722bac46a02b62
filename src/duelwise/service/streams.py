"""The streams that this process has open, each with its queue."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from duelwise.errors import BrokenStream, Conflict, Folding, StorageFailure, UnknownStream
from duelwise.service.group_writer import StreamQueue, TurnWriter
from duelwise.service.settings import ServiceSettings
from duelwise.storage import Store
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.registry import StreamRegistry
from duelwise.stream.warming import warm_once

if TYPE_CHECKING:
    from duelwise.service.postgres_writer import PostgresWriter

T = TypeVar("T")
log = logging.getLogger("duelwise.service")

THREADS = 8  # transactions of different streams, and reads, at the same time


def _writer_for(
    store: Store, pool: Executor, on_group: Callable[[int], None], *, is_alone: bool
) -> TurnWriter | PostgresWriter:
    if store.has_one_writer:
        return TurnWriter(store, pool, on_group, is_alone=is_alone)
    from duelwise.service.postgres_writer import PostgresWriter  # its driver is not needed for SQLite

    return PostgresWriter(store, pool, on_group)


class OpenStreams:
    """Streams are opened when they are first needed; the registry closes idle ones for room."""

    def __init__(
        self, store: Store, settings: ServiceSettings, on_group: Callable[[int], None], *,
        is_alone: bool = True,
    ) -> None:  # fmt: skip
        self.store = store
        self._settings = settings
        self._registry = StreamRegistry(
            store, memory_bytes=settings.memory_limit, stream_limit=settings.stream_limit
        )
        self._queues: dict[str, StreamQueue] = {}
        self.broken: dict[str, str] = {}  # streams that could not be opened, and why
        self._writers = ThreadPoolExecutor(THREADS, thread_name_prefix="duelwise writing")
        self._writer = _writer_for(store, self._writers, on_group, is_alone=is_alone)
        self._readers = ThreadPoolExecutor(THREADS, thread_name_prefix="duelwise reading")

    def __iter__(self) -> Iterator[StreamQueue]:
        return iter(list(self._queues.values()))

    async def run(self, call: Callable[[], T]) -> T:
        """Work that waits for the disk, away from the event loop, in no writer's way."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, call)

    async def queue(self, name: str) -> StreamQueue:
        """The queue of a stream; an unknown name is an error."""
        return self.open_queue(name) or self._queue_of(name, await self.run(lambda: self._opened(name)))

    def open_queue(self, name: str) -> StreamQueue | None:
        """The queue of a stream that is open; waits for nothing."""
        stream = self._registry.ready(name)
        return None if stream is None else self._queue_of(name, stream)

    async def create(self, name: str, settings: StreamSettings) -> tuple[StreamQueue, bool]:
        """The queue of a stream with these settings, and whether it is new."""
        await self.run(settings.start)  # refuses what no learner can be made of
        await self.run(lambda: warm_once(settings))
        stream, is_new = await self.run(lambda: self._registry.create(name, settings))
        return self._queue_of(name, stream), is_new

    def close(self) -> None:
        """Write the last snapshots; the store stays open."""
        self._writer.close()
        self._writers.shutdown()
        self._readers.shutdown()
        self._registry.close()
        self._queues.clear()

    def _queue_of(self, name: str, stream: DecisionStream) -> StreamQueue:
        queue = self._queues.get(name)
        if queue is None or queue.stream is not stream:
            self._forget_closed()
            queue = self._queues[name] = StreamQueue(stream, self._writer, limit=self._settings.queue_limit)
        return queue

    def _forget_closed(self) -> None:
        """The queues of streams that were closed for room, unless somebody still waits in them."""
        known = set(map(id, self._registry.open_streams()))
        self._queues = {
            name: queue for name, queue in self._queues.items() if queue.waiting or id(queue.stream) in known
        }

    def _opened(self, name: str) -> DecisionStream:
        """The stream; one whose record this version cannot make sense of is broken, whatever the reason."""
        try:
            stream = self._registry.stream(name)
            warm_once(stream.settings)  # nobody shall wait for a compiler with the database locked
        except (UnknownStream, StorageFailure, Conflict, Folding):
            raise
        except Exception as error:
            if name not in self.broken:
                log.exception("the stream %s cannot be opened", name)
            self.broken[name] = f"{type(error).__name__}: {error}"
            raise BrokenStream(f"The stream {name!r} cannot be opened: {self.broken[name]}") from error
        self.broken.pop(name, None)
        return stream

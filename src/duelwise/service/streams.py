"""The streams that this process has open, each with its lane."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from duelwise.errors import DuelwiseError
from duelwise.service.lanes import Lane
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
        self._settings, self._on_group = settings, on_group
        self._lanes: dict[str, Lane] = {}
        self._opening = asyncio.Lock()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="duelwise")

    def __iter__(self) -> Iterator[Lane]:
        return iter(list(self._lanes.values()))

    async def run(self, call: Callable[[], T]) -> T:
        """Work that waits for the disk, away from the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    async def lane(self, name: str) -> Lane:
        """The lane of a stream; an unknown name is an error."""
        known = self._lanes.get(name)
        if known is not None:
            return known
        async with self._opening:
            if name not in self._lanes:
                self._keep(name, await self.run(lambda: DecisionStream.open(self.store, name)))
            return self._lanes[name]

    async def all(self) -> list[Lane]:
        """The lanes of every stream in the store, by name."""
        rows = await self.run(self.store.streams)
        return [await self.lane(row.name) for row in rows]

    async def create(self, name: str, settings: StreamSettings) -> tuple[Lane, bool]:
        """The lane of a stream with these settings, and whether it is new."""
        async with self._opening:
            is_new = await self.run(lambda: register(self.store, name, settings, at=time.time()))
        return await self.lane(name), is_new

    def close(self) -> None:
        """Write the last snapshots; the store stays open."""
        self._pool.shutdown()
        for lane in self:
            try:
                lane.stream.close()
            except DuelwiseError as error:  # the log is whole; only the next start will take longer
                log.warning("%s was closed without a snapshot: %s", lane.stream.name, error)
        self._lanes.clear()

    def _keep(self, name: str, stream: DecisionStream) -> None:
        self._lanes[name] = Lane(
            stream, limit=self._settings.queue_limit, pool=self._pool, on_group=self._on_group
        )

"""What every route needs: the open streams, the guard at the door, the counters and the limits."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from msgspec.json import Decoder

from duelwise.errors import DuelwiseError
from duelwise.service.auth import Guard
from duelwise.service.decoding import LARGE, Names, check_width, decode
from duelwise.service.group_writer import StreamQueue
from duelwise.service.metrics import Counts, Metrics
from duelwise.service.readiness import Readiness
from duelwise.service.schemas import BrokenStream, StreamAnswer
from duelwise.service.settings import ServiceSettings
from duelwise.service.streams import OpenStreams
from duelwise.storage import KeyRow, Store

T = TypeVar("T")
log = logging.getLogger("duelwise.service")


class Service:
    def __init__(self, store: Store, settings: ServiceSettings, *, is_alone: bool = True) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.streams = OpenStreams(store, settings, self.metrics.grouped, is_alone=is_alone)
        self.guard = Guard(
            store, refresh_seconds=settings.key_refresh_seconds, rate_limit=settings.rate_limit
        )
        self.readiness = Readiness(store)
        self._large = ThreadPoolExecutor(1, thread_name_prefix="duelwise decoding")

    async def decoded(self, decoder: Decoder[T], body: bytes, names: Names, further: int = 0) -> T:
        """The checked content of a body; large ones one after another, away from the event loop."""
        if len(body) <= LARGE:
            return decode(decoder, body, names)
        check_width(body, names, further)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._large, decode, decoder, body, names)

    async def every_stream(self, key: KeyRow | None) -> list[object]:
        """Where each stream stands that the key may see; one that cannot be opened is an entry too."""
        rows = await self.streams.run(self.streams.store.streams)
        allowed = [row.name for row in rows if key is None or key.stream in (None, row.name)]
        return [await self._entry(name) for name in allowed]

    async def expire_for_ever(self, is_home_of: Callable[[int], bool]) -> None:
        """Close overdue duels of open streams now and then, so that what is pending stays bounded.

        Only of those that this process decides for: it would have to fold what has happened to others.
        """
        while True:
            await asyncio.sleep(self.settings.expire_seconds)
            for queue in self.streams:
                if not is_home_of(queue.stream.replica.row.id):
                    continue
                try:
                    await self.streams.run(queue.stream.expire)
                except Exception:
                    log.exception("overdue duels of %s were not closed", queue.stream.name)

    def counts(self) -> Counts:
        """What this process has counted, and what waits in it."""
        counts = self.metrics.counts
        counts.waiting = {queue.stream.name: queue.waiting for queue in self.streams}
        counts.broken = sorted(self.streams.broken)
        return counts

    def close(self) -> None:
        self._large.shutdown()
        self.streams.close()
        self.readiness.close()

    async def _entry(self, name: str) -> StreamAnswer | BrokenStream:
        try:
            queue = await self.streams.queue(name)
            return await self.streams.run(lambda: stream_answer(queue))
        except DuelwiseError as error:
            return BrokenStream(name, str(error))
        except Exception as error:  # whatever is wrong with it, the others are shown
            log.exception("the stream %s cannot be shown", name)
            return BrokenStream(name, f"{type(error).__name__}: {error}")


def stream_answer(queue: StreamQueue) -> StreamAnswer:
    """Where a stream stands, with what other processes have added."""
    report = queue.stream.report()
    return StreamAnswer(
        name=report.name,
        settings=json.loads(queue.stream.settings.to_json()),
        model_version=report.model_version,
        counts=dict(report.counts),
        pending=report.pending,
        oldest_pending_seconds=report.oldest_pending_seconds,
        read_only=report.read_only,
    )

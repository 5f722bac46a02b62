"""What every route needs: the open streams, the guard at the door, the counters and the limits."""

from __future__ import annotations

import asyncio
import logging

from starlette.requests import Request

from duelwise.service.auth import Guard, Role
from duelwise.service.bodies import read_body
from duelwise.service.lanes import Lane
from duelwise.service.metrics import Metrics
from duelwise.service.schemas import StreamAnswer, StreamSettingsAnswer
from duelwise.service.settings import ServiceSettings
from duelwise.service.streams import OpenStreams
from duelwise.storage import Store
from duelwise.stream import StreamSettings

log = logging.getLogger("duelwise.service")


class Service:
    def __init__(self, store: Store, settings: ServiceSettings) -> None:
        self.settings = settings
        self.metrics = Metrics(self._gauges)
        self.streams = OpenStreams(store, settings, self.metrics.grouped)
        self.guard = Guard(store, refresh_seconds=settings.key_refresh_seconds)

    async def enter(self, request: Request, name: str, role: Role) -> Lane:
        """The lane of a stream, for a caller who may use it."""
        await self.guard.check(request, role, name)
        return await self.streams.lane(name)

    async def body(self, request: Request) -> bytes:
        return await read_body(request, self.settings.body_limit)

    async def expire_for_ever(self) -> None:
        """Close overdue duels of every stream now and then, so that what is pending stays bounded."""
        while True:
            await asyncio.sleep(self.settings.expire_seconds)
            for lane in self.streams:
                try:
                    await self.streams.run(lane.stream.expire)
                except Exception:
                    log.exception("overdue duels of %s were not closed", lane.stream.name)

    def _gauges(self) -> list[tuple[str, dict[str, float]]]:
        return [(lane.stream.name, _gauges_of(lane)) for lane in self.streams]


def _gauges_of(lane: Lane) -> dict[str, float]:
    report = lane.stream.report()
    return {
        "duelwise_events": report.model_version,
        "duelwise_pending_votes": report.pending,
        "duelwise_oldest_pending_seconds": report.oldest_pending_seconds or 0.0,
        "duelwise_waiting_operations": lane.waiting,
        "duelwise_read_only": float(report.read_only is not None),
    }


def stream_answer(lane: Lane) -> StreamAnswer:
    """Where a stream stands, with what other processes have added."""
    report = lane.stream.report()
    return {
        "name": report.name,
        "settings": _settings_answer(lane.stream.settings),
        "model_version": report.model_version,
        "counts": dict(report.counts),
        "pending": report.pending,
        "oldest_pending_seconds": report.oldest_pending_seconds,
        "read_only": report.read_only,
    }


def _settings_answer(settings: StreamSettings) -> StreamSettingsAnswer:
    return {
        "context_dim": settings.context_dim,
        "post_dim": settings.post_dim,
        "recipe": settings.recipe,
        "options": dict(settings.options),
        "feature_names": list(settings.feature_names),
        "vote_ttl_seconds": settings.vote_ttl_seconds,
        "seed": settings.seed,
        "random_share": settings.random_share,
        "keep_candidates": settings.keep_candidates,
    }

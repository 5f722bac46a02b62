"""Connections that cannot be held for ever: time-outs for headers, bodies and idling, and a cap."""

from __future__ import annotations

import asyncio
import math
import resource
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 10.0  # from the first byte of a request, or from the connection, to the end of its headers
BODY_SECONDS = 30.0  # from there to the end of its body
IDLE_SECONDS = 30.0  # between two requests
LONGEST_HEADERS = 65_536  # bytes
SPARE_FILES = 128  # descriptors that connections leave to the database, logs and links
MOST_FILES = 16_384


def most_connections() -> int:
    """As many as the process may have files open, less some; the soft limit is raised where it can be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    files = MOST_FILES if soft == resource.RLIM_INFINITY else min(soft, MOST_FILES)
    return max(files - SPARE_FILES, files // 2)


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's own protocol, with a deadline for whatever the client has to do next.

    At the cap a new connection takes the place of the one that has been waited for longest.
    """

    most = 1_000_000  # connections of this process; set when it starts to serve

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.deadline: float | None = None  # None: it is our turn
        self._timer: asyncio.TimerHandle | None = None
        self._header_bytes: int | None = 0  # None: the headers are complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self._make_room()
        self._expect(HEADER_SECONDS)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._header_bytes is not None:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._header_bytes is not None and self._header_bytes > LONGEST_HEADERS:
            self.transport.abort()

    def on_message_begin(self) -> None:
        self._expect(HEADER_SECONDS)
        self._header_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._expect(BODY_SECONDS)
        self._header_bytes = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self.deadline = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._expect(IDLE_SECONDS)
        super().on_response_complete()

    def _expect(self, seconds: float) -> None:
        self.deadline = self.loop.time() + seconds

    def _watch(self) -> None:
        """One timer for each connection, set anew when it fires, not with each request."""
        now = self.loop.time()
        if self.deadline is not None and now >= self.deadline:
            self.transport.abort()
            return
        self._timer = self.loop.call_at(self.deadline or now + HEADER_SECONDS, self._watch)

    def _make_room(self) -> None:
        longest: GuardedProtocol = self
        for one in cast("set[GuardedProtocol]", self.connections):
            if one is not self and one.due < longest.due:
                longest = one
        longest.transport.abort()

    @property
    def due(self) -> float:
        """When the client should have acted; never, while it is our turn."""
        return math.inf if self.deadline is None else self.deadline

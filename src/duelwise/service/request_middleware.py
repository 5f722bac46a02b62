"""Around every request: an id, the counters, and a line in the log when the service is at fault."""

from __future__ import annotations

import itertools
import logging
import re
import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duelwise.service.metrics import Metrics
from duelwise.service.routes import REQUEST_ID, ROUTE

HEADER = b"x-request-id"
READY = "/readyz"  # not to be ready yet is no fault
_SANE = re.compile(rb"[A-Za-z0-9._-]{1,100}")

log = logging.getLogger("duelwise.service")


class Watch:
    """A request keeps the id that it brings, or gets one; the answer says it. Answers are counted."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._numbers = itertools.count(1)
        self._quiet_until = 0.0
        self._unsaid = 0  # refusals since the last line
        self._start = secrets.token_hex(4)  # tells the processes of one service apart

    def id_of(self, brought: bytes | None) -> bytes:
        if brought is not None and _SANE.fullmatch(brought):
            return brought
        return f"{self._start}-{next(self._numbers)}".encode()

    def answered(self, method: str, path: str, route: str, status: int, seconds: float, id: bytes) -> None:
        self._metrics.answered(route, status, seconds)
        if status >= 500 and route != READY:
            self._complain(method, path, status, seconds, id)

    def _complain(self, method: str, path: str, status: int, seconds: float, id: bytes) -> None:
        """A line for each fault; refusals under load come by the thousand, and get a line a second."""
        now = time.monotonic()
        if status == 503 and now < self._quiet_until:
            self._unsaid += 1
            return
        log.warning(
            "%s %s was answered with %d", method, path[:200], status,
            extra={
                "request_id": id.decode(), "status": status, "seconds": round(seconds, 4),
                "unsaid": self._unsaid or None,
            },
        )  # fmt: skip
        self._quiet_until, self._unsaid = now + 1.0, 0


class RequestMiddleware:
    """The watch as a middleware."""

    def __init__(self, app: ASGIApp, watch: Watch) -> None:
        self._app, self._watch = app, watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 499  # the caller hung up before there was an answer
        id = self._watch.id_of(dict(scope["headers"]).get(HEADER))

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (HEADER, id)]
            await send(message)

        scope[REQUEST_ID] = id.decode()
        try:
            await self._app(scope, receive, noting)
        finally:
            route, seconds = scope.get(ROUTE, "other"), time.perf_counter() - began
            self._watch.answered(scope["method"], scope["path"], route, status, seconds, id)

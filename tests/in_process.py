"""A service in this process, spoken to without a socket, and something to ask of it."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import httpx
from starlette.applications import Starlette

from duelwise.client import Candidate

T = TypeVar("T")

NAMES = ["price", "distance", "spice", "warmth", "lateness"]
MEALS = {"name": "meals", "context_dim": 3, "post_dim": 2, "feature_names": NAMES,
         "ranges": {name: [-1, 1] for name in NAMES}}  # fmt: skip
"""With every range declared a log holds only what a test does."""


def candidates(count: int = 4, shift: float = 0.0) -> list[Candidate]:
    return [{"id": f"dish {i}", "features": [0.1 * i + shift, 0.5, -0.2 * i]} for i in range(count)]


class InProcess(httpx.BaseTransport):
    """The application on an event loop of its own, for clients that know no event loop."""

    def __init__(self, app: Starlette, *, caller: str = "127.0.0.1") -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.app = app
        self._lifespan = app.router.lifespan_context(app)
        self._transport = httpx.ASGITransport(app, client=(caller, 1))
        self._run(self._lifespan.__aenter__())

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._run(self._answer(request))

    def as_seen_from(self, caller: str) -> None:
        self._transport = httpx.ASGITransport(self.app, client=(caller, 1))

    def stop(self) -> None:
        self._run(self._lifespan.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        request.read()
        response = await self._transport.handle_async_request(request)
        content = await response.aread()
        return httpx.Response(response.status_code, headers=response.headers, content=content)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(180)  # the first compiles

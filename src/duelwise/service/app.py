"""The application: streams over HTTP, testable without a socket."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from importlib.metadata import version
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from duelwise.errors import DuelwiseError
from duelwise.service import metrics, openapi, schemas
from duelwise.service.answer_routes import AnswerRoutes
from duelwise.service.duel_routes import DuelRoutes
from duelwise.service.fast_path import FastPath
from duelwise.service.homes import Homes
from duelwise.service.pages import page_routes
from duelwise.service.problems import Reply, on_error, on_http_error
from duelwise.service.request_middleware import RequestMiddleware, Watch
from duelwise.service.routes import Call, Endpoint, Room, RouteTable, json_reply
from duelwise.service.service import Service
from duelwise.service.settings import ServiceSettings
from duelwise.service.stream_routes import StreamRoutes
from duelwise.storage import Store, open_store

DESCRIPTION = (
    "Durable streams of duels: ask for a pair, report what became known after serving it, "
    "tell which of the two won. What is acknowledged is on disk."
)
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Application(Starlette):
    """Starlette with the document of its routes; `add_middleware` acts on every one of them."""

    def __init__(self, service: Service, homes: Homes, **settings: Any) -> None:
        self.endpoints = [
            *DuelRoutes(service).endpoints(),
            *StreamRoutes(service).endpoints(),
            *AnswerRoutes(service).endpoints(),
            *_watching(service, homes),
        ]
        homes.serve(self.endpoints)
        watch, room = Watch(service.metrics), Room(service.settings.body_limit)
        self._fast_path = FastPath(self.endpoints, service.guard, homes, watch, room)
        table = Middleware(
            RouteTable, endpoints=self.endpoints, guard=service.guard, perform=homes.perform,
            body_limit=service.settings.body_limit, room=room,
        )  # fmt: skip
        self._own = [Middleware(RequestMiddleware, watch=watch), table]
        super().__init__(
            routes=[Route("/openapi.json", self._document), *page_routes(service)],
            middleware=self._own,
            exception_handlers={
                DuelwiseError: on_error, HTTPException: on_http_error, Exception: on_error,
            },
            **settings,
        )  # fmt: skip
        self._made: dict[str, Any] | None = None

    @property
    def fast_path(self) -> FastPath | None:
        """The short way, unless a middleware was added that would not see who takes it."""
        return self._fast_path if self.user_middleware == self._own else None

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        if self._made is None:
            self._made = openapi.document(
                self.endpoints, title="Duelwise", version=version("duelwise"), description=DESCRIPTION
            )
        return self._made

    async def _document(self, _request: Request) -> Response:
        reply = json_reply(self.openapi())
        return Response(reply.body, media_type=reply.media_type)


def create_app(
    store: Store | str, settings: ServiceSettings | None = None, homes: Homes | None = None
) -> Application:
    """A service on an open store, or on the address of one, which it then closes itself."""
    chosen = settings or ServiceSettings()
    opened = store
    if isinstance(opened, str):
        opened = open_store(opened, statement_seconds=chosen.statement_seconds)
    shared = homes or Homes(0, 1)
    service = Service(opened, chosen, is_alone=shared.are_one)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        service.readiness.compile_in_background()
        sweeping = asyncio.create_task(service.expire_for_ever(shared.is_home_of))
        await shared.open(service)
        yield
        sweeping.cancel()
        await shared.close()
        service.close()
        if isinstance(store, str):
            opened.close()

    app = Application(service, shared, lifespan=lifespan)
    app.state.service = service
    return app


def _watching(service: Service, homes: Homes) -> list[Endpoint]:
    async def health(_call: Call) -> Reply:
        """Whether the service is alive; asks nobody else."""
        return json_reply(schemas.HealthAnswer("ok", version("duelwise")))

    async def ready(_call: Call) -> Reply:
        """Whether the database answers and the learner is compiled."""
        return json_reply(schemas.ReadyAnswer("ready", await service.readiness.check()))

    async def metrics_page(_call: Call) -> Reply:
        """Counters and gauges for Prometheus. Opens no stream and waits for none."""
        counts = await homes.counts()
        store = service.streams.store
        rows = await service.streams.run(store.streams)
        pending = await service.streams.run(store.pending)
        return Reply(200, metrics.text(counts, rows, pending, at=time.time()), METRICS_TYPE)

    return [
        Endpoint("GET", "/healthz", health, None, schemas.HealthAnswer, ()),
        Endpoint("GET", "/readyz", ready, None, schemas.ReadyAnswer, (503,)),
        Endpoint("GET", "/metrics", metrics_page, "read", None, (401, 403, 503), media_type="text/plain"),
    ]

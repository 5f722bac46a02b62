"""The application: streams over HTTP, testable without a socket."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from importlib.metadata import version

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from duelwise.errors import DuelwiseError
from duelwise.service import schemas
from duelwise.service.duel_routes import DuelRoutes
from duelwise.service.pages import page_routes
from duelwise.service.problems import on_error, on_http_error
from duelwise.service.routing import DirectApp, json_response
from duelwise.service.service import Service
from duelwise.service.settings import ServiceSettings
from duelwise.service.stream_routes import StreamRoutes
from duelwise.storage import Store, open_store

DESCRIPTION = (
    "Durable streams of duels: ask for a pair, report what became known after serving it, "
    "tell which of the two won. What is acknowledged is on disk."
)
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def create_app(store: Store | str, settings: ServiceSettings | None = None) -> FastAPI:
    """A service on an open store, or on the address of one, which it then closes itself."""
    opened = open_store(store) if isinstance(store, str) else store
    service = Service(opened, settings or ServiceSettings())

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        sweeping = asyncio.create_task(service.expire_for_ever())
        yield
        sweeping.cancel()
        service.streams.close()
        if isinstance(store, str):
            opened.close()

    app = DirectApp(
        service.metrics,
        title="Duelwise",
        version=version("duelwise"),
        description=DESCRIPTION,
        lifespan=lifespan,
    )
    app.state.service = service
    StreamRoutes(service).add_to(app)
    DuelRoutes(service).add_to(app)
    _add_watching(service, app)
    app.router.routes.extend(page_routes(service))
    app.add_exception_handler(DuelwiseError, on_error)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(Exception, on_error)
    return app


def _add_watching(service: Service, app: DirectApp) -> None:
    async def health(_request: Request) -> Response:
        """Whether the service and its database answer."""
        rows = await service.streams.run(service.streams.store.streams)
        return json_response({"status": "ok", "version": app.version, "streams": len(rows)})

    async def metrics(request: Request) -> Response:
        """Counters and gauges for Prometheus."""
        await service.guard.check(request, "read")
        await service.streams.all()  # a stream that no request has opened yet is counted too
        return Response(await service.streams.run(service.metrics.text), media_type=METRICS_TYPE)

    app.add("GET", "/healthz", health, answer=schemas.HealthAnswer, refusals=(503,))
    app.add("GET", "/metrics", metrics, answer=None, refusals=(401, 403, 503), media_type="text/plain")

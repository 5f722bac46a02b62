"""Routes that FastAPI documents and this module dispatches.

FastAPI writes the OpenAPI document from the endpoints' path parameters, answers and
refusals. Serving is plainer: a request is looked up by the segments of its path and goes
straight to its endpoint, which parses and checks the body once. Walking the list of
routes and FastAPI's own handling would cost more than the rest of a request.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from duelwise.errors import DuelwiseError
from duelwise.service import schemas
from duelwise.service.metrics import Metrics
from duelwise.service.problems import KINDS, MEDIA_TYPE, Problem, refuse, respond

Endpoint = Callable[..., Coroutine[Any, Any, Response]]

BODIES: tuple[type, ...] = (
    schemas.StreamBody, schemas.AskBody, schemas.ObserveBody, schemas.TellBody, schemas.BatchBody,
    schemas.RetractSourceBody, schemas.ExpireBody,
)  # fmt: skip
SCHEMAS = "#/components/schemas/"

log = logging.getLogger("duelwise.service")


class Place(NamedTuple):
    """A path and the endpoints of its methods."""

    path: str
    methods: dict[str, Endpoint]


class DirectApp(FastAPI):
    """An application whose documented routes are dispatched by one lookup.

    Parameters stand in the third and fifth segment only: /v1/streams/{name}/tickets/{ticket}.
    """

    def __init__(self, metrics: Metrics, **settings: Any) -> None:
        super().__init__(docs_url=None, redoc_url=None, **settings)
        self._metrics = metrics
        self._direct: dict[tuple[str, ...], Place] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        began = time.perf_counter()
        segments: list[str] = scope["path"].split("/")[1:]
        found = self._direct.get(_pattern(segments))
        if found is None:
            path, status = "other", await self._as_usual(scope, receive, send)
        else:
            path = found.path
            response = await _answer(found, Request(scope, receive, send), segments[2::2])
            status = response.status_code
            await response(scope, receive, send)
        self._metrics.answered(path, status, time.perf_counter() - began)

    def add(
        self, method: str, path: str, endpoint: Endpoint, *,
        answer: object, refusals: Sequence[int], status: int = 200, body: type | None = None,
        repeated: bool = False, media_type: str = "application/json",
    ) -> None:  # fmt: skip
        """Serve and document an endpoint; `repeated`: the same request again is answered with 200."""
        responses: dict[int | str, dict[str, Any]] = {code: _refusal(code) for code in refusals}
        if media_type != "application/json":
            responses[200] = {"content": {media_type: {"schema": {"type": "string"}}}}
        if repeated:
            responses[200] = {"model": answer, "description": "It is there already, just so."}
        self.add_api_route(
            path, endpoint, methods=[method], status_code=status, response_model=answer,
            responses=responses, openapi_extra=None if body is None else _request_body(body),
            description=endpoint.__doc__,
        )  # fmt: skip
        place = self._direct.setdefault(_pattern(path.split("/")[1:]), Place(path, {}))
        place.methods[method] = endpoint

    def openapi(self) -> dict[str, Any]:
        """FastAPI's document with the bodies' schemas and the key."""
        if self.openapi_schema is None:
            made = get_openapi(
                title=self.title, version=self.version, description=self.description, routes=self.routes
            )
            _complete(made)
            self.openapi_schema = made
        return self.openapi_schema

    async def _as_usual(self, scope: Scope, receive: Receive, send: Send) -> int:
        """Pages, unknown paths and methods: the framework's way. Returns the status."""
        status = 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        await super().__call__(scope, receive, noting)
        return status


def json_response(content: object, status: int = 200) -> Response:
    return Response(orjson.dumps(content), status, media_type="application/json")


def _pattern(segments: Sequence[str]) -> tuple[str, ...]:
    """The segments of a path with the parameters left out."""
    if len(segments) < 3:
        return tuple(segments)
    if len(segments) < 5:
        return (segments[0], segments[1], "", *segments[3:])
    return (segments[0], segments[1], "", segments[3], "", *segments[5:])


async def _answer(place: Place, request: Request, parameters: Sequence[str]) -> Response:
    endpoint = place.methods.get(request.method)
    if endpoint is None:
        return refuse(request, 405, {"Allow": ", ".join(place.methods)})
    try:
        return await endpoint(request, *parameters)
    except DuelwiseError as error:
        return respond(error)
    except Exception as error:
        log.exception("%s %s failed", request.method, request.url.path)
        return respond(error)


def _complete(made: dict[str, Any]) -> None:
    components: dict[str, Any] = made["components"]
    for body in (*BODIES, Problem):
        schema = TypeAdapter(body).json_schema(ref_template=SCHEMAS + "{model}")
        components["schemas"].update(schema.pop("$defs", {}))
        components["schemas"][body.__name__] = schema
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    made["security"] = [{"key": []}, {}]  # a service without keys answers this machine without one


def _request_body(body: type) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": SCHEMAS + body.__name__}}}
    return {"requestBody": {"required": True, "content": content}}


def _refusal(status: int) -> dict[str, Any]:
    titles = [kind.title for kind in KINDS.values() if kind.status == status]
    return {
        "description": "; or: ".join(titles),
        "content": {MEDIA_TYPE: {"schema": {"$ref": SCHEMAS + "Problem"}}},
    }

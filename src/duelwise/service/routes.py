"""Routes as data, and the one table that finds them.

The table is the innermost middleware of the framework, so every other one runs around it; what it
does not know goes on to the framework's router. It finds an endpoint with one look-up by the
segments of the path; trying the framework's patterns one after another, and its own handling of
requests, would cost more than the rest of a request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duelwise.errors import DuelwiseError, Overloaded, check_known
from duelwise.service.auth import Guard, Role
from duelwise.service.decoding import read_body
from duelwise.service.problems import JSON_TYPE, Deliver, Reply, refuse, respond
from duelwise.storage import KeyRow

MOST_BYTES_HELD = 16_000_000  # of bodies that are being read, decoded or waited for
ROUTE = "duelwise.route"  # in the scope: the pattern of the path, for the counters
REQUEST_ID = "duelwise.request_id"
READ = "duelwise.read"  # the body has been read to its end

log = logging.getLogger("duelwise.service")
encode = msgspec.json.Encoder().encode


class Call(NamedTuple):
    """What an endpoint needs of a request."""

    name: str = ""  # of the stream
    ticket: str = ""
    body: bytes = b""  # or what stands behind the question mark, where that is asked for
    key: KeyRow | None = None
    caller: str = ""  # the key's name; none where keys are not in use


Run = Callable[[Call], Coroutine[Any, Any, Reply | Response]]
Begin = Callable[[Call, Deliver], bool]
"""Begins at once and hands the reply over when it is there; False: something would have to be waited for."""


class Endpoint(NamedTuple):
    """What is served at a path, how it is documented, and who may use it."""

    method: str
    path: str
    run: Run
    role: Role | None  # None: anybody
    answer: Any
    refusals: Sequence[int]
    status: int = 200
    body: type | None = None
    body_optional: bool = False  # nothing at all stands for an empty object
    repeated: bool = False  # the same request again is answered with 200
    media_type: str = JSON_TYPE
    filtered: bool = False  # the answer holds only what the key may see
    at_home: bool = False  # the process that decides for the stream answers
    query: Sequence[str] = ()  # parameters behind a question mark; they come where a body would
    begin: Begin | None = None  # the same as `run`, for those who can go the short way (fast_path.py)


Perform = Callable[[Endpoint, Call], Coroutine[Any, Any, Reply | Response]]


def query_of(call: Call, known: tuple[str, ...]) -> dict[str, str]:
    """The parameters behind the question mark."""
    given = dict(parse_qsl(call.body.decode("latin-1"), keep_blank_values=True))
    for name in given:
        check_known("parameter", name, known)
    return given


def json_reply(content: object, status: int = 200) -> Reply:
    return Reply(status, encode(content))


class Room:
    """For bodies, taken before they are read, so that many large ones cannot fill the memory."""

    def __init__(self, body_limit: int) -> None:
        self.held = 0
        self._most = max(MOST_BYTES_HELD, 2 * body_limit)  # room for two of the longest that are allowed

    def hold(self, size: int) -> None:
        if self.held + size > self._most:
            raise Overloaded(f"{self.held} bytes of other requests are being held; try again in a moment.")
        self.held += size

    def free(self, size: int) -> None:
        self.held -= size


class RouteTable:
    """All endpoints. Parameters stand in the third and fifth segment: /v1/streams/{name}/tickets/{ticket}."""

    def __init__(
        self, app: ASGIApp, *, endpoints: Iterable[Endpoint], guard: Guard, perform: Perform, body_limit: int,
        room: Room,
    ) -> None:  # fmt: skip
        self._app, self._guard, self._perform, self._body_limit = app, guard, perform, body_limit
        self._room = room
        self._places: dict[tuple[str, ...], dict[str, Endpoint]] = {}
        for endpoint in endpoints:
            place = self._places.setdefault(pattern_of(endpoint.path.split("/")), {})
            place[endpoint.method] = endpoint
            if endpoint.method == "GET":
                place["HEAD"] = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"] if scope["type"] == "http" else ""
        segments = path.removeprefix(scope.get("root_path", "")).split("/")
        place = self._places.get(pattern_of(segments))
        if place is None:
            await self._app(scope, receive, send)
            return
        reply = await self._answer(place, segments, scope, receive)
        if reply is None:
            return
        if scope["method"] == "HEAD":
            send = _without_body(send)
        if isinstance(reply, Response):
            await reply(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": reply.status, "headers": reply.headers()})
        await send({"type": "http.response.body", "body": reply.body})

    async def _answer(
        self, place: dict[str, Endpoint], segments: list[str], scope: Scope, receive: Receive
    ) -> Reply | Response | None:
        """What is sent back; None when the caller has hung up."""
        endpoint = place.get(scope["method"])
        if endpoint is None:
            scope[ROUTE] = next(iter(place.values())).path
            return refuse(scope, 405, {"Allow": ", ".join(place)})
        scope[ROUTE] = endpoint.path
        try:
            return await self._serve(endpoint, segments, scope, receive)
        except DuelwiseError as error:
            reply = respond(error)
            return reply if scope.get(READ) else _closing(reply, scope)
        except ClientDisconnect:
            return None
        except Exception as error:
            log.exception(
                "%s %s failed", scope["method"], scope["path"], extra={"request_id": scope.get(REQUEST_ID)}
            )
            return respond(error)

    async def _serve(
        self, endpoint: Endpoint, segments: list[str], scope: Scope, receive: Receive
    ) -> Reply | Response:
        name = segments[3] if len(segments) > 3 else ""
        ticket = segments[5] if len(segments) > 5 else ""
        headers = dict(scope["headers"])
        key = None
        if endpoint.role is not None:
            client = scope["client"]
            key = await self._guard.check(
                client[0] if client else "", headers, endpoint.role, name or None, filtered=endpoint.filtered
            )
        caller = "" if key is None else key.name
        if endpoint.body is None or (endpoint.body_optional and _has_no_body(headers)):
            asked = scope["query_string"] if endpoint.query else b""
            return await self._perform(endpoint, Call(name, ticket, asked, key, caller))
        announced = headers.get(b"content-length", b"")
        size = int(announced[:20]) if announced.isdigit() else self._body_limit
        size = min(size, self._body_limit)
        self._room.hold(size)
        try:
            body = await read_body(receive, headers, self._body_limit)
            scope[READ] = True
            return await self._perform(endpoint, Call(name, ticket, body, key, caller))
        finally:
            self._room.free(size)


def _without_body(send: Send) -> Send:
    """Passes on the headers as they are; the body is empty."""

    async def send_head(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return send_head


def _closing(reply: Reply, scope: Scope) -> Reply:
    """The same reply; a body that was not read is not waited for: the connection ends instead."""
    if not any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"]):
        return reply
    return reply._replace(further={**reply.further, "connection": "close"})


def pattern_of(segments: Sequence[str]) -> tuple[str, ...]:
    """The segments of a path (the first is empty) with the parameters left out."""
    if len(segments) < 4:
        return tuple(segments)
    if len(segments) < 6 or segments[4] != "tickets":
        return (segments[1], segments[2], *segments[4:])
    return (segments[1], segments[2], segments[4], "", *segments[6:])


def _has_no_body(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in headers

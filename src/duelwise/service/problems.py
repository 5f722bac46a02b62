"""Errors as RFC 9457 problem JSON: what happened, what was expected, what to do."""

from __future__ import annotations

import http
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypedDict

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from duelwise import errors

JSON_TYPE = "application/json"
MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1


class Reply(NamedTuple):
    """A whole answer, ready to be sent, also to another process."""

    status: int
    body: bytes
    media_type: str = JSON_TYPE
    further: Mapping[str, str] = {}

    def headers(self) -> list[tuple[bytes, bytes]]:
        own = [
            (b"content-type", self.media_type.encode()),
            (b"content-length", str(len(self.body)).encode()),
        ]
        for name, value in self.further.items():
            own.append((name.lower().encode(), value.encode("latin-1")))
        return own


Deliver = Callable[[Reply], None]
"""Takes a reply that was waited for."""


class ProblemDetails(TypedDict):
    """What went wrong with a request (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    advice: str


ProblemDetails.__name__ = "Problem"  # in the document of the interface, which clients are made from


class Kind(NamedTuple):
    status: int
    name: str
    title: str
    advice: str


INTERNAL = Kind(500, "internal", "The service failed", "This is a fault of the service; its log says more.")

KINDS: dict[type[Exception], Kind] = {
    errors.InvalidInput: Kind(
        422, "invalid-input", "The request cannot be taken as it is",
        "Nothing was changed. Correct what the detail names and send it again.",
    ),
    errors.TooLarge: Kind(
        413, "too-large", "The request is larger than this service allows",
        "Nothing was changed. Send less at once, or raise the limit where the service is started.",
    ),
    errors.UnknownStream: Kind(
        404, "unknown-stream", "There is no such stream",
        "GET /v1/streams lists the streams; POST /v1/streams creates one.",
    ),
    errors.UnknownTicket: Kind(
        404, "unknown-ticket", "This stream never gave out such a ticket",
        "Use the ticket exactly as the answer to an ask gave it, on the stream that gave it.",
    ),
    errors.UnknownItem: Kind(
        404, "unknown-item", "There is no such item or group",
        "Nothing was changed. GET the stream's items to see what it has; PUT adds some.",
    ),
    errors.Conflict: Kind(
        409, "conflict", "The request contradicts what is recorded",
        "Nothing was changed. GET the ticket or the stream to see what is recorded.",
    ),
    errors.DuelExpired: Kind(
        410, "expired", "The duel waited too long and was closed",
        "Nothing was changed. A longer vote_ttl_seconds keeps duels open longer.",
    ),
    errors.Unauthorised: Kind(
        401, "unauthorised", "A key is needed",
        "Send Authorization: Bearer <token>; `duelwise keys add` makes a token.",
    ),
    errors.Forbidden: Kind(
        403, "forbidden", "The key does not allow this",
        "Use a key with the role and the stream that the detail names.",
    ),
    errors.Folding: Kind(
        503, "folding", "The stream's log is being folded again",
        "Nothing was recorded. Send it again after the time in Retry-After; other streams serve meanwhile.",
    ),
    errors.Compiling: Kind(
        503, "compiling", "The learner is being compiled",
        "Ask again after the time in Retry-After. `duelwise warm` compiles ahead.",
    ),
    errors.Overloaded: Kind(
        503, "overloaded", "Too much waits already",
        "The request was not begun. Send it again after the time in Retry-After.",
    ),
    errors.TooManyRequests: Kind(
        429, "too-many-requests", "The key asks faster than this service allows",
        "The request was not begun. Send it again after the time in Retry-After.",
    ),
    errors.ReadOnly: Kind(
        503, "read-only", "The stream takes no events now",
        "Its log is damaged. `duelwise repair` sets the damage aside and keeps it.",
    ),
    errors.Damaged: Kind(
        503, "damaged", "A stored record is damaged",
        "`duelwise repair` sets the damage aside and keeps it.",
    ),
    errors.BrokenStream: Kind(
        503, "broken-stream", "The stream cannot be opened",
        "The other streams go on. `duelwise verify` says more of this one; the detail has the reason.",
    ),
    errors.StorageFailure: Kind(
        503, "storage-failure", "The database failed",
        "Nothing of this request was acknowledged. Look at the disk and the database, then send it again.",
    ),
}  # fmt: skip


def kind_of(error: Exception) -> Kind:
    """The kind of the nearest class that is known."""
    return next((KINDS[cls] for cls in type(error).__mro__ if cls in KINDS), INTERNAL)


def problem(error: Exception) -> ProblemDetails:
    kind = kind_of(error)
    detail = "Something unexpected happened." if kind is INTERNAL else str(error)
    return {
        "type": f"urn:duelwise:problem:{kind.name}",
        "title": kind.title,
        "status": kind.status,
        "detail": detail,
        "advice": kind.advice,
    }


def respond(error: Exception) -> Reply:
    """The answer to a request that failed."""
    body = problem(error)
    further: dict[str, str] = {}
    if body["status"] in (429, 503):
        further["retry-after"] = str(RETRY_SECONDS)
    if body["status"] == 401:
        further["www-authenticate"] = 'Bearer realm="duelwise"'
    return Reply(body["status"], msgspec.json.encode(body), MEDIA_TYPE, further)


def refuse(scope: Scope, status: int, headers: Mapping[str, str] | None = None) -> Reply:
    """The answer to a request for an unknown path, or with a method that a path does not have."""
    title = http.HTTPStatus(status).phrase
    body: ProblemDetails = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": f"{scope['method']} {scope['path']}: {title}.",
        "advice": "GET /docs lists every path with its methods.",
    }
    return Reply(status, msgspec.json.encode(body), MEDIA_TYPE, headers or {})


async def on_error(_request: Request, error: Exception) -> Response:
    return _response(respond(error))


async def on_http_error(request: Request, error: Exception) -> Response:
    """What the router refuses itself."""
    assert isinstance(error, HTTPException)
    return _response(refuse(request.scope, error.status_code, error.headers))


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, dict(reply.further), reply.media_type)

"""Reading a request's body: a limit while it arrives, then one pass that parses and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, from_json
from starlette.requests import ClientDisconnect, Request

from duelwise.errors import InvalidInput, TooLarge
from duelwise.service.settings import variable_of

T = TypeVar("T")
FeatureNames = Mapping[str, Sequence[str]]
"""The names of the features in a list called `features`, `left` or `right`."""

SHOWN = 5  # mistakes named in one answer
LONGEST_SHOWN = 60  # characters of a value that is named


async def read_body(request: Request, limit: int) -> bytes:
    """The bytes of a JSON request; one that is too long is refused before it is read to its end."""
    kind = request.headers.get("content-type", "")
    # Also keeps a foreign web page from posting to a service on loopback: a browser asks first.
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise InvalidInput(f"The content type is {kind[:LONGEST_SHOWN]!r}; expected application/json.")
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > limit:
        raise _too_long(limit)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_long(limit)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def parse(adapter: TypeAdapter[T], body: bytes, names: FeatureNames) -> T:
    """The checked content of a body."""
    try:
        return adapter.validate_json(body)
    except ValidationError as error:
        raise InvalidInput(_mistakes(error, body, names)) from None


def parse_item(adapter: TypeAdapter[T], item: object, names: FeatureNames) -> T:
    """The same for a part of a body that was parsed already."""
    try:
        return adapter.validate_python(item)
    except ValidationError as error:
        raise InvalidInput(_mistakes(error, item, names)) from None


def _too_long(limit: int) -> TooLarge:
    return TooLarge(f"The body is longer than {limit} bytes ({variable_of('body_limit')}).")


def _mistakes(error: ValidationError, data: object, names: FeatureNames) -> str:
    details = error.errors(include_url=False, include_context=False)
    if details[0]["type"] == "json_invalid":
        return f"The body is no JSON: {details[0]['msg'].removeprefix('Invalid JSON: ')}."
    ids = _candidate_ids(from_json(data) if isinstance(data, bytes) else data)
    said = "; ".join(_mistake(detail, ids, names) for detail in details[:SHOWN])
    return f"{said}{'; and more' if len(details) > SHOWN else ''}."


def _mistake(detail: ErrorDetails, ids: Sequence[object], names: FeatureNames) -> str:
    place = _place(detail["loc"], ids, names)
    if detail["type"] == "missing":
        return f"{place} is missing"
    given = repr(detail["input"])
    if len(given) > LONGEST_SHOWN:
        given = given[:LONGEST_SHOWN] + "…"
    return f"{place} is {given}; {detail['msg'].replace('Input should', 'it should', 1)}"


def _place(loc: Sequence[int | str], ids: Sequence[object], names: FeatureNames) -> str:
    """In words: `candidate 3 ('soup'), feature 0 ('price')`."""
    words: list[str] = []
    within = ""
    for step in loc:
        if isinstance(step, str):
            words.append(step)
            within = step
        elif within == "candidates":
            words[-1] = f"candidate {step}" + (f" ({ids[step]!r})" if step < len(ids) else "")
        else:
            known = names.get(within, ())
            name = f" ({known[step]!r})" if step < len(known) else ""
            words.append(f"{'feature' if within in names else 'number'} {step}{name}")
    return ", ".join(word for word in words if word != "features" or word is words[-1]) or "The body"


def _candidate_ids(content: object) -> list[object]:
    """What stands where candidates' ids should be."""
    candidates: object = (
        cast("dict[str, object]", content).get("candidates") if isinstance(content, dict) else None
    )
    if not isinstance(candidates, list):
        return []
    return [
        cast("dict[str, object]", candidate).get("id") if isinstance(candidate, dict) else None
        for candidate in cast("list[object]", candidates)
    ]

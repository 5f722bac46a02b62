"""Bodies: read with a limit, decoded and checked in one pass, and refused in words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from duelwise.errors import InvalidInput, TooLarge
from duelwise.service.settings import variable_of
from duelwise.stream.candidates import LONGEST_NAME

T = TypeVar("T")
Names = Mapping[str, Sequence[str]]
"""The names of the features in a list called `features`, `left` or `right`."""

LARGE = 65_536  # bytes; longer bodies are decoded away from the event loop, and no value is looked up in them
FIELDS = 12  # more than any object of a request has
LONGEST_SHOWN = 60  # characters of a value that is named

_MISSING = re.compile(r"Object missing required field `(.*)`$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(?:(\d+)|\.\.\.)\]")
_AT = " - at `$"  # between what is wrong and where
_SOME = ""  # a step to a value by its name, where the message does not say which

Step = str | int


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """The bytes of a JSON request; one that is too long is refused before it is read to its end."""
    kind = headers.get(b"content-type", b"")
    # Also keeps a foreign web page from posting to a service on loopback: a browser asks first.
    if kind != b"application/json" and kind.partition(b";")[0].strip().lower() != b"application/json":
        shown = kind.decode("latin-1")[:LONGEST_SHOWN]
        raise InvalidInput(f"The content type is {shown!r}; expected application/json.")
    announced = headers.get(b"content-length", b"0")
    if announced.isdigit() and int(announced[:20]) > limit:
        raise _too_long(limit)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_long(limit)
        parts.append(part)
        if not message.get("more_body", False):
            return part if len(parts) == 1 else b"".join(parts)


def decode(decoder: msgspec.json.Decoder[T], body: bytes | msgspec.Raw, names: Names) -> T:
    """The checked content of a body."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(_mistake(error, decoder, bytes(body), names)) from None


def check_width(body: bytes, names: Names, further: int = 0) -> None:
    """Refuse a large body that has more numbers than its objects can hold, before lists are made of them.

    A valid object has no more commas than numbers, a few fields, and what its texts contain. `further`:
    numbers without a name of their own, as in a vector that is projected.
    """
    numbers = sum(map(len, names.values())) + further
    room = body.count(b"{") * (numbers + FIELDS) + body.count(b'"') // 2 * LONGEST_NAME
    commas = body.count(b",")
    if commas > room:
        raise InvalidInput(
            f"The body lists about {commas} numbers; expected at most {numbers} for each of its objects."
        )


def _too_long(limit: int) -> TooLarge:
    return TooLarge(f"The body is longer than {limit} bytes ({variable_of('body_limit')}).")


def _mistake(error: Exception, decoder: msgspec.json.Decoder[Any], body: bytes, names: Names) -> str:
    """The first mistake in words: `candidate 3 ('soup'), feature 0 ('price') is None; …`."""
    if isinstance(error, UnicodeDecodeError):  # it says where in a text, not where in the body
        return "The body has a text that is not UTF-8; expected JSON in UTF-8."
    content = _plain(body) if len(body) <= LARGE else None
    if not isinstance(error, msgspec.ValidationError):
        said = str(error).removeprefix("JSON is malformed: ")
        try:  # numbers that are none, such as NaN: no JSON, but the place can be named
            msgspec.convert(content, decoder.type)
            return f"The body is no JSON: {said}."
        except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as found:
            if content is None or isinstance(found, UnicodeEncodeError):  # half of a surrogate pair
                return f"The body is no JSON: {said}."
            error = found
    said, _, path = str(error).partition(_AT)
    steps: list[Step] = [int(index) if index else name for name, index in _STEP.findall(path.rstrip("`"))]
    steps = _named(steps, content, decoder, path)
    for pattern, words in ((_MISSING, "is missing"), (_UNKNOWN, "is not known here")):
        if found := pattern.match(said):
            return f"{_place([*steps, found[1][:LONGEST_SHOWN]], content, names)} {words}."
    given = "" if content is None or _SOME in steps else f" is {_shown(_look_up(content, steps))};"
    return f"{_place(steps, content, names)}{given} {said[:1].lower()}{said[1:]}."


def _named(
    steps: Sequence[Step], content: object, decoder: msgspec.json.Decoder[Any], path: str
) -> list[Step]:
    """The same steps with the names that the message leaves out; what is not meant goes from the content."""
    named: list[Step] = []
    for step in steps:
        members = _look_up(content, named)
        if step == _SOME and isinstance(members, dict):
            step = _culprit(cast("dict[str, object]", members), lambda: _fails(path, content, decoder))
        named.append(step)
    return named


def _culprit(members: dict[str, object], is_meant: Callable[[], bool]) -> str:
    """The name of the first member that is meant, which stays alone: one half after the other is tried."""
    suspects = list(members.items())
    while len(suspects) > 1:
        half = suspects[: len(suspects) // 2]
        members.clear()
        members.update(half)
        suspects = half if is_meant() else suspects[len(half) :]
    members.clear()
    members.update(suspects)
    return suspects[0][0] if suspects and is_meant() else _SOME


def _fails(path: str, content: object, decoder: msgspec.json.Decoder[Any]) -> bool:
    """Whether the first mistake of the content is there."""
    try:
        msgspec.convert(content, decoder.type)
    except msgspec.ValidationError as error:
        return str(error).partition(_AT)[2] == path
    except (UnicodeEncodeError, RecursionError):
        pass
    return False


def _plain(body: bytes) -> object:
    """The body as any JSON reader would take it, to look up what stood where; None if it cannot be read."""
    try:
        return json.loads(body, parse_constant=str)
    except (ValueError, RecursionError):
        return None


def _look_up(content: object, steps: Sequence[Step]) -> object:
    for step in steps:
        if isinstance(content, dict) and isinstance(step, str):
            content = cast("dict[str, object]", content).get(step)
        elif isinstance(content, list) and isinstance(step, int):
            members = cast("list[object]", content)
            content = members[step] if step < len(members) else None
        else:
            return None
    return content


def _shown(value: object) -> str:
    given = repr(value)
    return given if len(given) <= LONGEST_SHOWN else given[:LONGEST_SHOWN] + "…"


def _place(steps: Sequence[Step], content: object, names: Names) -> str:
    words: list[str] = []
    within = ""
    for position, step in enumerate(steps):
        if isinstance(step, str):
            words.append(step or "a value")
            within = step
        elif within == "candidates":
            id = _look_up(content, [*steps[: position + 1], "id"])
            words[-1] = f"candidate {step}" + ("" if id is None else f" ({_shown(id)})")
        else:
            known = names.get(within, ())
            name = f" ({known[step]!r})" if step < len(known) else ""
            words.append(f"{'feature' if within in names else 'number'} {step}{name}")
    return ", ".join(word for word in words if word != "features" or word is words[-1]) or "The body"

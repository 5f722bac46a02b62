"""Bodies are read to their end or refused in time, and not wider than their objects can be."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.json import Decoder
from starlette.requests import ClientDisconnect
from starlette.types import Message

from duelwise.errors import InvalidInput, TooLarge
from duelwise.service import schemas
from duelwise.service.decoding import FIELDS, LARGE, check_width, decode, read_body

JSON = {b"content-type": b"application/json"}


def read(headers: dict[bytes, bytes], *parts: bytes, limit: int = 10, hangs_up: bool = False) -> bytes:
    """What is read of a body that comes in these parts."""
    messages: list[Message] = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    messages.append({"type": "http.disconnect"} if hangs_up else {"type": "http.request"})

    async def receive() -> Message:
        return messages.pop(0)

    return asyncio.run(read_body(receive, headers, limit))


@pytest.mark.parametrize(
    "kind",
    [b"application/json", b"application/json; charset=utf-8", b"Application/JSON", b"application/json ;x"],
)
def test_json_is_json_however_it_is_said(kind: bytes) -> None:
    assert read({b"content-type": kind}, b"{}") == b"{}"


@pytest.mark.parametrize("kind", [b"", b"text/plain", b"text/plain; application/json", b"application/jsonl"])
def test_what_a_foreign_page_could_post_is_refused(kind: bytes) -> None:
    with pytest.raises(InvalidInput, match="expected application/json"):
        read({b"content-type": kind}, b"{}")


def test_a_body_is_its_parts_up_to_the_limit() -> None:
    assert read(JSON, b"12345", b"67", b"890") == b"1234567890"
    assert read(JSON) == b""
    with pytest.raises(TooLarge, match="longer than 10 bytes"):
        read(JSON, b"12345", b"67", b"8901")
    assert read(JSON | {b"content-length": b"10"}, b"1") == b"1"
    with pytest.raises(TooLarge, match="longer than 10 bytes"):
        read(JSON | {b"content-length": b"11"})
    with pytest.raises(ClientDisconnect):
        read(JSON, b"1", hangs_up=True)


def test_a_body_has_no_more_numbers_than_its_objects_can_hold() -> None:
    """Of an object with three features: so many commas, and room for those in its texts."""
    most = 3 + FIELDS
    check_width(b"{" + b"," * most, {"features": ["a", "b", "c"]})
    with pytest.raises(InvalidInput, match=rf"lists about {most + 1} numbers; expected at most 3 for each"):
        check_width(b"{" + b"," * (most + 1), {"features": ["a", "b", "c"]})
    check_width(b'{""' + b"," * (most + 200), {"features": ["a", "b"], "left": ["c"]})
    with pytest.raises(InvalidInput):
        check_width(b'{""' + b"," * (most + 201), {"features": ["a", "b"], "left": ["c"]})


def test_numbers_of_vectors_have_no_names() -> None:
    check_width(b"{" + b"," * (FIELDS + 9), {"features": ["a", "b"]}, further=7)
    with pytest.raises(InvalidInput, match="expected at most 9 for each"):
        check_width(b"{" + b"," * (FIELDS + 10), {"features": ["a", "b"]}, further=7)


NO_UTF_8 = "The body has a text that is not UTF-8; expected JSON in UTF-8."
TEXTS = {
    b'{"winner": "left", "source": "caf\xe9"}': NO_UTF_8,
    b'{"winner": "left", "caf\xe9": 1}': NO_UTF_8,
    b'{"winner": "\xff"}': NO_UTF_8,
    b'{"winner": "left", "\\ud800": 1}': "The body is no JSON",
    b'{"winner": "left", "\\ud800": NaN}': "The body is no JSON",
}


@pytest.mark.parametrize("body", TEXTS)
def test_a_text_that_is_none_is_a_mistake_of_the_request(body: bytes) -> None:
    with pytest.raises(InvalidInput, match=TEXTS[body]):
        decode(Decoder(schemas.TellBody), body, {})


BY_NAME = {
    b'{"left": {"heat": 1, "noise": "x"}}': "left, noise is 'x'; expected `float | null`, got `str`.",
    b'{"left": {"heat": 1}, "right": {"a": 1, "b": 2, "c": 1e7, "d": 3}}': (
        "right, c is 10000000.0; expected `float` <= 1000000.0."
    ),
    b'{"left": {"heat": NaN}, "right": {"noise": "x"}}': "left, heat is 'NaN'; expected",
    b'{"left": {"heat": 1, "noise": 1e999}}': "left, noise is inf; number out of range.",
    b'{"left": {"heat": 1' + b" " * LARGE + b', "noise": "x"}}': "left, a value expected `float | null`",
}


@pytest.mark.parametrize("body", BY_NAME, ids=range(len(BY_NAME)))
def test_a_value_that_is_given_by_name_is_named(body: bytes) -> None:
    with pytest.raises(InvalidInput) as refused:
        decode(Decoder(schemas.ObserveBody), body, {"left": ["heat", "noise"]})
    assert str(refused.value).startswith(BY_NAME[body])


def test_a_feature_that_is_given_by_name_is_named_with_its_candidate() -> None:
    body = b'{"candidates": [{"id": "a", "features": {"x": 1}}, {"id": "b", "features": {"y": [true]}}]}'
    with pytest.raises(InvalidInput) as refused:
        decode(Decoder(schemas.AskBody), body, {"features": ["x", "y"]})
    assert str(refused.value) == "candidate 1 ('b'), y, number 0 is True; expected `float`, got `bool`."

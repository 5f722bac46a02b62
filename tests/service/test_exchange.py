"""The usual answer goes out in one piece, and any other one the server's own way."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from duelwise.service.exchange import Exchange

BODY = b'{"ok": true}'
USUAL = [(b"content-type", b"application/json"), (b"content-length", b"12")]


class Written:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, piece: bytes) -> None:
        self.pieces.append(piece)


def _sent(
    monkeypatch: pytest.MonkeyPatch, headers: list[tuple[bytes, bytes]], body: dict[str, Any], **state: object
) -> tuple[list[bytes], list[str]]:
    """What went out in one piece, and the messages that uvicorn had to send."""
    slowly: list[str] = []

    async def send(_self: object, message: Any) -> None:
        slowly.append(message["type"])

    monkeypatch.setattr(RequestResponseCycle, "send", send)
    exchange = Exchange.__new__(Exchange)
    transport = Written()
    usual: dict[str, object] = {
        "disconnected": False, "flow": SimpleNamespace(write_paused=False), "keep_alive": True,
        "scope": {"method": "GET"}, "transport": transport, "response_started": False,
        "on_response": lambda: None, "message_event": SimpleNamespace(set=lambda: None),
    }  # fmt: skip
    for name, value in (usual | state).items():
        setattr(exchange, name, value)

    async def main() -> None:
        await exchange.send(cast("Any", {"type": "http.response.start", "status": 200, "headers": headers}))
        await exchange.send(cast("Any", {"type": "http.response.body"} | body))

    asyncio.run(main())
    return transport.pieces, slowly


def test_the_usual_answer_is_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces, slowly = _sent(monkeypatch, USUAL, {"body": BODY})
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n"
    assert pieces == [head + BODY]
    assert slowly == []


BOTH = ["http.response.start", "http.response.body"]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"content-length", b"13")],
        [*USUAL, (b"connection", b"close")],
        [*USUAL, (b"transfer-encoding", b"chunked")],
        [*USUAL, (b"x", b"a\r\nset-cookie: b")],
        [*USUAL, (b"x", b"a\nb")],
        [*USUAL, (b"x", b"a\rb")],
        [*USUAL, (b"x", b"a\0b")],
    ],
    ids=repr,
)
def test_unusual_headers_are_uvicorns_to_judge(
    monkeypatch: pytest.MonkeyPatch, headers: list[tuple[bytes, bytes]]
) -> None:
    assert _sent(monkeypatch, headers, {"body": BODY}) == ([], BOTH)


@pytest.mark.parametrize(
    "state",
    [
        {"disconnected": True},
        {"flow": SimpleNamespace(write_paused=True)},
        {"keep_alive": False},
        {"scope": {"method": "HEAD"}},
    ],
    ids=repr,
)
def test_unusual_moments_are_uvicorns_too(monkeypatch: pytest.MonkeyPatch, state: dict[str, object]) -> None:
    assert _sent(monkeypatch, USUAL, {"body": BODY}, **state) == ([], BOTH)


def test_a_body_in_parts_is_uvicorns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _sent(monkeypatch, USUAL, {"body": BODY, "more_body": True}) == ([], BOTH)

"""Headers that were read before: whoever sends them again cannot tell that nobody parsed them."""

import json
import re
import socket
import time
from pathlib import Path

import httpx
import pytest
from test_fast_path import on_a_socket

from duelwise.service import ServiceSettings, create_app
from duelwise.service.auth import add_key
from duelwise.service.header_cache import LONGEST_HEAD, MOST_HEADS, HeaderCache, RequestHead
from duelwise.storage import open_store
from in_process import MEALS, candidates

ASK = json.dumps({"candidates": candidates()}).encode()
HOST = b"Host: localhost\r\n"
KIND = b"Content-Type: application/json\r\n"
CLOSING = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def post(
    body: bytes, *, line: bytes = b"POST /v1/streams/meals/ask HTTP/1.1", headers: bytes = HOST + KIND,
    length: int | None = None,
) -> bytes:  # fmt: skip
    size = len(body) if length is None else length
    return line + b"\r\n" + headers + b"Content-Length: %d\r\n\r\n" % size + body


def line(path: str, *, method: str = "POST", version: str = "HTTP/1.1") -> bytes:
    return f"{method} {path} {version}".encode()


TELL = b'{"winner": "left"}'
ODD = {
    "usual": post(ASK),
    "other stream": post(ASK, line=line("/v1/streams/none/ask")),
    "a ticket": post(TELL, line=line("/v1/streams/meals/tickets/9-x/tell")),
    "a wrong body": post(b"{" + ASK[1:-1] + b"]"),
    "a body with an end of headers": post(b'{"a": "\r\n\r\n", "candidates": []}'),
    "another method": post(ASK, line=line("/v1/streams/meals/ask", method="PUT")),
    "no such method": post(ASK, line=line("/v1/streams/meals/ask", method="POSTS")),
    "small letters": post(ASK, line=line("/v1/streams/meals/ask", method="post")),
    "an older version": post(ASK, line=line("/v1/streams/meals/ask", version="HTTP/1.0")),
    "no version": post(ASK, line=b"POST /v1/streams/meals/ask"),
    "two versions": post(ASK, line=line("/v1/streams/meals/ask HTTP/1.1")),
    "a query": post(ASK, line=line("/v1/streams/meals/ask?a=b")),
    "an escape": post(ASK, line=line("/v1/streams/me%61ls/ask")),
    "a whole address": post(ASK, line=line("http://localhost/v1/streams/meals/ask")),
    "two spaces": post(ASK, line=line(" /v1/streams/meals/ask")),
    "a tab": post(ASK, line=line("/v1/streams/meals/\task")),
    "a bare line end in the first line": post(ASK, line=line("/v1/streams/meals/ask\n")),
    "a line end before": b"\r\n" + post(ASK),
    "too little": post(ASK[:-5], length=len(ASK)),
    "too much": post(ASK + b"xx", length=len(ASK)),
    "two at once": post(ASK) + post(TELL, line=line("/v1/streams/meals/tickets/9-x/tell")),
    "two lengths": post(ASK, headers=HOST + KIND + b"Content-Length: 3\r\n"),
    "two ways to end": post(ASK, headers=HOST + KIND + b"Transfer-Encoding: chunked\r\n"),
    "to be closed": post(ASK, headers=HOST + KIND + b"Connection: close\r\n"),
    "expecting": post(ASK, headers=HOST + KIND + b"Expect: 100-continue\r\n"),
    "upgrading": post(ASK, headers=HOST + KIND + b"Connection: upgrade\r\nUpgrade: websocket\r\n"),
    "another host": post(ASK, headers=b"Host: example.org\r\n" + KIND),
    "no host": post(ASK, headers=KIND),
    "another kind": post(ASK, headers=HOST + b"Content-Type: text/plain\r\n"),
    "a folded header": post(ASK, headers=HOST + KIND + b"X-Request-Id: a\r\n b\r\n"),
}


def heard(http: httpx.Client, data: bytes) -> list[bytes]:
    """The answers without what differs every time; the connection is closed by a request of its own."""
    got = b""
    with socket.create_connection(("127.0.0.1", http.base_url.port or 0), timeout=5) as sender:
        try:
            sender.sendall(data)
            time.sleep(0.02)
            sender.sendall(CLOSING)
            while part := sender.recv(65536):
                got += part
        except ConnectionError:
            pass
    heads = re.findall(rb"HTTP/1\.1 .*?\r\n\r\n", got, re.DOTALL)
    return [re.sub(rb"(x-request-id|date|content-length): .*?\r\n", rb"\1\r\n", head) for head in heads]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each request that was looked for, whether its head was known."""
    told: list[bool] = []
    find = HeaderCache.find

    def noted(self: HeaderCache, data: bytes) -> tuple[bytes, RequestHead, bytes] | None:
        there = find(self, data)
        told.append(there is not None)
        return there

    monkeypatch.setattr(HeaderCache, "find", noted)
    return told


def test_known_heads_are_answered_as_parsed_ones(
    tmp_path: Path, found: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ServiceSettings(key_refresh_seconds=1000)
    with on_a_socket(create_app(f"sqlite:///{tmp_path}/known.db", settings)) as http:
        http.post("/v1/streams", json=MEALS)
        http.post("/v1/streams/meals/ask", json={"candidates": candidates()})
        first = {name: heard(http, data) for name, data in ODD.items()}
        del found[:]
        again = {name: heard(http, data) for name, data in ODD.items()}
        assert sum(found) >= 4  # usual, other stream, a ticket, a wrong body
    monkeypatch.setattr(HeaderCache, "find", lambda *_: None)
    with on_a_socket(create_app(f"sqlite:///{tmp_path}/parsed.db", settings)) as http:
        http.post("/v1/streams", json=MEALS)
        http.post("/v1/streams/meals/ask", json={"candidates": candidates()})
        parsed = {name: heard(http, data) for name, data in ODD.items()}
    assert again == first == parsed
    assert parsed["usual"][0].startswith(b"HTTP/1.1 201 ")


def test_a_key_that_is_revoked_is_refused_though_its_head_is_known(tmp_path: Path, found: list[bool]) -> None:
    url = f"sqlite:///{tmp_path}/keys.db"
    store = open_store(url)
    token = add_key(store, name="one", role="admin", stream=None, at=time.time())
    data = post(ASK, headers=HOST + KIND + f"Authorization: Bearer {token}\r\n".encode())
    with on_a_socket(create_app(url, ServiceSettings(key_refresh_seconds=1))) as http:
        http.post("/v1/streams", json=MEALS, headers={"Authorization": f"Bearer {token}"})
        assert [heard(http, data)[0][:12] for _ in range(3)] == [b"HTTP/1.1 201"] * 3
        assert found[-2]  # the last one closes the connection
        store.keys.revoke("one", at=time.time())
        time.sleep(1.2)
        assert heard(http, data)[0].startswith(b"HTTP/1.1 401")
    store.close()


def test_heads_are_forgotten_before_they_fill_the_memory() -> None:
    known = HeaderCache()
    for k in range(MOST_HEADS):
        known.remember(post(b"x", headers=b"A: %d\r\n" % k), RequestHead([], {}, 1))
    assert known.find(post(b"y", headers=b"A: 0\r\n")) == (
        b"/v1/streams/meals/ask",
        RequestHead([], {}, 1),
        b"y",
    )
    known.remember(post(b"x", headers=b"B: 1\r\n"), RequestHead([], {}, 1))
    assert known.find(post(b"y", headers=b"A: 0\r\n")) is None
    long = post(b"x", headers=b"A: " + b"a" * LONGEST_HEAD + b"\r\n")
    known.remember(long, RequestHead([], {}, 1))
    assert known.find(long) is None


@pytest.mark.parametrize(
    "data", [b"", b"\r\n", b"POST ", post(b"x")[:-1], post(b"x") + b"y", b"\r\n\r\n" * 9]
)
def test_what_is_no_whole_request_is_not_remembered(data: bytes) -> None:
    known = HeaderCache()
    known.remember(data, RequestHead([], {}, 1))
    assert known.find(data) is None
    assert known.find(post(b"x")) is None

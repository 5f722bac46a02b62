"""The short way of asks, observes and tells: nobody can tell it from the long one."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from servers import free_port
from starlette.types import ASGIApp, Receive, Scope, Send

from duelwise.service import ServiceSettings, create_app
from duelwise.service.app import Application
from duelwise.service.auth import add_key
from duelwise.service.fast_path import FastRequest
from duelwise.service.serving import configured
from duelwise.storage import open_store
from in_process import MEALS, candidates

JSON_TYPE = {"Content-Type": "application/json"}


class Seeing:
    """A middleware that counts what it sees."""

    def __init__(self, app: ASGIApp, seen: list[str]) -> None:
        self._app, self._seen = app, seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._seen.append(scope["path"])
        await self._app(scope, receive, send)


@contextmanager
def on_a_socket(app: Application) -> Iterator[httpx.Client]:
    port = free_port()
    config = configured(app)
    config.host, config.port = "127.0.0.1", port
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=180) as http:
            while not server.started:
                time.sleep(0.01)
            yield http
    finally:
        server.should_exit = True
        thread.join(30)


@pytest.fixture
def settings() -> ServiceSettings:
    return ServiceSettings(key_refresh_seconds=1000)


@pytest.fixture
def app(tmp_path: Path, settings: ServiceSettings) -> Application:
    return create_app(f"sqlite:///{tmp_path}/short.db", settings)


@pytest.fixture
def short(app: Application) -> Iterator[httpx.Client]:
    with on_a_socket(app) as http:
        yield http


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each request that set out on the short way: whether it stayed there."""
    went: list[bool] = []
    begin = FastRequest.begin

    def noted(self: FastRequest) -> bool:
        went.append(begin(self))
        return went[-1]

    monkeypatch.setattr(FastRequest, "begin", noted)
    return went


def ask(http: httpx.Client, **more: Any) -> httpx.Response:
    return http.post("/v1/streams/meals/ask", json={"candidates": candidates(), **more})


def everything(http: httpx.Client) -> list[httpx.Response]:
    """A life of a stream, mistakes included."""
    heard = [http.post("/v1/streams", json=MEALS), ask(http), ask(http, event_id="first")]
    ticket = "/v1/streams/meals/tickets/" + heard[1].json()["ticket"]
    context = {"left": [0.1, 0.2], "right": {"warmth": 0.3, "lateness": 0.1}}
    calls = [
        (ticket + "/observe", context), (ticket + "/observe", context),
        (ticket + "/observe", {"left": [0.5, 0.2]}), (ticket + "/observe", {"left": [1]}),
        (ticket + "/tell", {"winner": "left", "source": "ann"}),
        (ticket + "/tell", {"winner": "left", "source": "ann"}),
        (ticket + "/tell", {"winner": "right", "source": "ann"}),
        (ticket + "/tell", {"winner": "up"}), (ticket + "/tell", {}), (ticket + "/retract", {}),
        ("/v1/streams/meals/tickets/7-none/tell", {"winner": "left"}),
        ("/v1/streams/meals/tickets/x/tell", {"winner": "left"}),
        ("/v1/streams/none/ask", {"candidates": candidates()}),
        ("/v1/streams/meals/ask", {"candidates": candidates(1)}),
        ("/v1/streams/meals/ask", {"candidates": [{"id": "a", "features": [1]}] * 2}),
        ("/v1/streams/meals/ask", {"candidates": candidates(), "event_id": "first"}),
        ("/v1/streams/meals/ask", {"candidates": candidates(3), "event_id": "first"}),
        ("/v1/streams/meals/ask?why=not", {"candidates": candidates()}),
        ("/v1/streams/meals/ask", {"candidates": candidates(4000)}),
    ]  # fmt: skip
    heard += [http.post(path, json=body) for path, body in calls]
    heard += [
        http.post("/v1/streams/meals/ask", content=content, headers=headers)
        for content, headers in [
            (b"{", JSON_TYPE),
            (b"", JSON_TYPE),
            (b'{"candidates": [NaN]}', JSON_TYPE),
            (b"{}", {"Content-Type": "text/plain"}),
            (b'{"candidates": []}', {"Content-Type": "application/json; charset=utf-8"}),
            (iter([b'{"candi', b'dates": []}']), JSON_TYPE),
        ]
    ]  # fmt: skip
    return [*heard, http.get("/v1/streams/meals/ask"), http.put(ticket + "/tell", json={})]


def shape(answer: httpx.Response) -> object:
    """An answer without what two streams cannot have alike: tags, random choices, ids."""
    body: dict[str, Any] = answer.json()
    words = {
        name: value for name, value in body.items() if name in ("type", "title", "advice", "state", "changed")
    }
    headers = [name for name in answer.headers if name not in ("date", "server")]
    return answer.status_code, headers, answer.headers["content-type"], sorted(body), words


def test_both_ways_answer_alike(
    short: httpx.Client, begun: list[bool], tmp_path: Path, settings: ServiceSettings
) -> None:
    seen: list[str] = []
    other = create_app(f"sqlite:///{tmp_path}/long.db", settings)
    other.add_middleware(Seeing, seen=seen)
    with on_a_socket(other) as long:
        expected = [shape(answer) for answer in everything(long)]
    assert not begun  # a middleware was added: every request passes it
    assert len(seen) == len(expected)
    assert [shape(answer) for answer in everything(short)] == expected
    assert sum(begun) >= 15
    assert not all(begun)  # the stream that is not open


def test_an_id_comes_back_and_answers_are_counted(short: httpx.Client, begun: list[bool]) -> None:
    short.post("/v1/streams", json=MEALS)
    ask(short)
    answer = short.post(
        "/v1/streams/meals/ask", json={"candidates": candidates()}, headers={"X-Request-Id": "mine-7"}
    )
    assert answer.headers["x-request-id"] == "mine-7"
    made = {ask(short).headers["x-request-id"], ask(short).headers["x-request-id"]}
    assert len(made) == 2
    assert True in begun
    assert 'route="/v1/streams/{name}/ask",status="201"} 4.0' in short.get("/metrics").text


def test_keys_are_asked_for(short: httpx.Client, begun: list[bool], tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/short.db")
    tokens = {
        role: add_key(store, name=role, role=role, stream=None, at=time.time()) for role in ("read", "admin")
    }
    store.close()
    short.headers["Authorization"] = f"Bearer {tokens['admin']}"
    assert short.post("/v1/streams", json=MEALS).status_code == 201
    assert [ask(short).status_code for _ in range(2)] == [201, 201]
    assert begun[-1]
    short.headers["Authorization"] = f"Bearer {tokens['read']}"
    assert ask(short).status_code == 403
    short.headers["Authorization"] = "Bearer wrong"
    assert ask(short).status_code == 401
    assert begun[-2:] == [True, False]  # a wrong key has to wait for its answer


class TestALimit:
    @pytest.fixture
    def settings(self) -> ServiceSettings:
        return ServiceSettings(key_refresh_seconds=1000, rate_limit=5)

    def test_every_request_counts_once(self, short: httpx.Client, begun: list[bool]) -> None:
        short.post("/v1/streams", json=MEALS)
        time.sleep(1.0 - time.monotonic() % 1.0)  # a second begins
        assert [ask(short).status_code for _ in range(6)] == [201] * 5 + [429]
        assert all(begun[1:])


def raw(body: bytes, *, to: str = "ask") -> bytes:
    head = f"POST /v1/streams/meals/{to} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body


def connected(http: httpx.Client) -> socket.socket:
    return socket.create_connection(("127.0.0.1", http.base_url.port or 0), timeout=30)


def answers(sender: socket.socket, count: int) -> list[str]:
    """The first lines of so many answers."""
    got = b""
    while got.count(b"HTTP/1.1 ") < count or not got.endswith(b"}"):
        part = sender.recv(65536)
        assert part, got
        got += part
    return [line for line in got.decode().replace("}HTTP", "}\r\nHTTP").split("\r\n") if line[:5] == "HTTP/"]


def test_a_request_in_pieces_and_several_at_once(short: httpx.Client, begun: list[bool]) -> None:
    short.post("/v1/streams", json=MEALS)
    ask(short)
    body = json.dumps({"candidates": candidates()}).encode()
    with connected(short) as sender:
        for byte in raw(body):
            sender.sendall(bytes([byte]))
        assert answers(sender, 1) == ["HTTP/1.1 201 Created"]
        sender.sendall(raw(body) + raw(b"{}", to="tickets/9-x/tell") + raw(body))
        expected = ["HTTP/1.1 201 Created", "HTTP/1.1 422 Unprocessable Entity", "HTTP/1.1 201 Created"]
        assert answers(sender, 3) == expected
    assert begun[-1]


@pytest.mark.parametrize("between", [b"", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"])
def test_what_is_no_request_does_not_answer_those_before_it(
    short: httpx.Client, begun: list[bool], between: bytes
) -> None:
    """An ask that was recorded must not be answered with 400."""
    short.post("/v1/streams", json=MEALS)
    ask(short)
    body = json.dumps({"candidates": candidates()}).encode()
    with connected(short) as sender:
        sender.sendall(raw(body) + between + b"\0\r\n\r\n")
        got = b"".join(iter(lambda: sender.recv(65536), b""))
    lines = [line for line in got.replace(b"}HTTP", b"}\r\nHTTP").split(b"\r\n") if line[:5] == b"HTTP/"]
    assert lines == [b"HTTP/1.1 201 Created", b"HTTP/1.1 200 OK"][: 2 if between else 1]
    assert begun[-1]
    assert b"connection: close" in got


def test_whoever_hangs_up_leaves_nothing_behind(
    short: httpx.Client, app: Application, begun: list[bool]
) -> None:
    short.post("/v1/streams", json=MEALS)
    ask(short)
    body = json.dumps({"candidates": candidates()}).encode()
    for most in (len(body) // 2, len(body)):  # within the body, and before the answer
        with connected(short) as sender:
            whole = raw(body)
            sender.sendall(whole[: len(whole) - len(body) + most])
    ask(short)
    until = time.monotonic() + 10
    assert app.fast_path is not None
    while app.fast_path.room.held and time.monotonic() < until:
        time.sleep(0.05)
    assert app.fast_path.room.held == 0
    assert short.get("/v1/streams/meals").json()["pending"] == 3


def test_a_failure_is_answered_and_told(
    short: httpx.Client, app: Application, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    short.post("/v1/streams", json=MEALS)
    ask(short)

    def broken(*_: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr("duelwise.service.duel_routes.read_partial", broken)
    ticket = ask(short).json()["ticket"]
    answer = short.post(f"/v1/streams/meals/tickets/{ticket}/observe", json={"left": [1, 1]})
    assert answer.status_code == 500
    assert "out of order" not in answer.text
    assert "out of order" in caplog.text
    assert ask(short).status_code == 201

"""Clients that mean harm: what they send is refused, and nobody else is harmed."""

import json
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from servers import Server, serving
from starlette.middleware.cors import CORSMiddleware

from duelwise.errors import Overloaded
from duelwise.service import ServiceSettings, create_app
from duelwise.service.app import Application
from duelwise.service.auth import add_key
from duelwise.service.routes import MOST_BYTES_HELD, Room
from duelwise.storage import open_store
from in_process import MEALS, InProcess, candidates
from takes import best

EMPTY = b'{"candidates":[' + b"{}," * 329_999 + b"{}]}"
WIDE = b'{"candidates":[{"id":"a","features":[' + b"1.5," * 244_999 + b'1]},{"id":"b","features":[1]}]}'
JSON_TYPE = {"Content-Type": "application/json"}


def p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


@contextmanager
def another_client(server: Server) -> Iterator[list[float]]:
    """Asks now and then, and notes how long each answer took."""
    times: list[float] = []
    done = threading.Event()

    def work() -> None:
        with httpx.Client(base_url=server.url, timeout=60) as http:
            while not done.is_set():
                began = time.perf_counter()
                answer = http.post("/v1/streams/meals/ask", json={"candidates": candidates()})
                times.append(time.perf_counter() - began)
                assert answer.status_code == 201
                time.sleep(0.01)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield times
    finally:
        done.set()
        thread.join(60)


ATTACK = """
import asyncio, collections, sys, time

async def one(body, until, seen):
    while time.monotonic() < until:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
        writer.write(b"POST /v1/streams/meals/ask HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nContent-Length: %d\\r\\n"
                     b"Content-Type: application/json\\r\\n\\r\\n" % len(body) + body)
        try:
            seen[(await reader.readline())[9:12].decode()] += 1
        except OSError:
            seen["closed"] += 1
        writer.close()

async def main():
    seen, body = collections.Counter(), sys.stdin.buffer.read()
    until = time.monotonic() + float(sys.argv[3])
    await asyncio.gather(*[one(body, until, seen) for _ in range(int(sys.argv[2]))])
    print(" ".join(seen))

asyncio.run(main())
"""


def attack(server: Server, body: bytes, *, at_once: int, seconds: float) -> set[str]:
    """The statuses that clients in a process of their own got."""
    words = [sys.executable, "-c", ATTACK, str(server.port), str(at_once), str(seconds)]
    done = subprocess.run(words, input=body, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return set(done.stdout.decode().split())


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize(("body", "at_once"), [(EMPTY, 8), (WIDE, 64)], ids=["empty", "wide"])
def test_a_huge_body_stops_nobody_else(tmp_path: Path, body: bytes, at_once: int) -> None:
    with serving(f"sqlite:///{tmp_path}/duels.db") as server:
        httpx.post(f"{server.url}/v1/streams", json=MEALS, timeout=60)
        httpx.post(f"{server.url}/v1/streams/meals/ask", json={"candidates": candidates()}, timeout=60)

        def excess() -> float:
            with another_client(server) as quiet:
                time.sleep(3)
            with another_client(server) as disturbed:
                statuses = attack(server, body, at_once=at_once, seconds=3)
            assert "422" in statuses
            assert statuses <= {"422", "503", "closed"}
            assert len(disturbed) > 10
            return p99(disturbed) / max(0.1, 5 * p99(quiet))

        assert best(excess, below=1.0)
        assert psutil.Process(server.pid).memory_info().rss < 700e6


def test_a_wide_body_is_refused_before_it_waits_for_the_stream(http: httpx.Client, meals: str) -> None:
    for body, word in ((EMPTY, "id is missing"), (WIDE, "numbers")):
        answer = http.post(f"{meals}/ask", content=body, headers=JSON_TYPE)
        assert answer.status_code == 422
        assert word in answer.json()["detail"]
        assert len(answer.text) < 1000


@pytest.mark.long
def test_silent_and_half_sent_connections_are_not_held(tmp_path: Path) -> None:
    """1,100 sockets that say nothing and 300 half requests, where 1,024 files may be open."""
    with serving(f"sqlite:///{tmp_path}/duels.db", files=1024) as server:
        httpx.post(f"{server.url}/v1/streams", json=MEALS, timeout=60)
        held: list[socket.socket] = []
        try:
            for number in range(1400):
                one = socket.create_connection(("127.0.0.1", server.port), timeout=10)
                if number >= 1100:
                    one.sendall(b"POST /v1/streams/meals/ask HTTP/1.1\r\nHost: 127.0.0.1\r\n")
                held.append(one)
            answer = httpx.post(
                f"{server.url}/v1/streams/meals/ask", json={"candidates": candidates()}, timeout=10
            )
            assert answer.status_code == 201
            deadline = time.monotonic() + 30
            while len(psutil.Process(server.pid).net_connections("tcp")) > 20:
                assert time.monotonic() < deadline, "connections are held"
                time.sleep(0.5)
        finally:
            for one in held:
                one.close()


@pytest.mark.long
def test_a_body_that_never_ends_is_given_up(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/duels.db") as server:
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(
                b"POST /v1/streams HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                b"Content-Length: 1000\r\n\r\n{"
            )
            slow.settimeout(45)
            assert slow.recv(1000) == b""
        assert httpx.get(f"{server.url}/healthz").status_code == 200


@pytest.mark.long
def test_a_client_that_hangs_up_leaves_no_trace(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serving(f"sqlite:///{tmp_path}/duels.db", log=log) as server:
        httpx.post(f"{server.url}/v1/streams", json=MEALS, timeout=60)
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port)) as rude:
                rude.sendall(
                    b"POST /v1/streams/meals/ask HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
                )
        time.sleep(0.5)
        metrics = httpx.get(f"{server.url}/metrics").text
    assert 'status="500"' not in metrics
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert not [line for line in lines if "exception" in line or line["level"] in ("error", "warning")]


def test_middleware_acts_on_every_route(store_url: str) -> None:
    app = create_app(store_url)
    app.add_middleware(CORSMiddleware, allow_origins=["https://shop.example"])
    transport = InProcess(app)
    with httpx.Client(base_url="http://127.0.0.1", transport=transport) as http:
        http.post("/v1/streams", json=MEALS)
        for path in ("/v1/streams", "/v1/streams/meals", "/healthz", "/", "/v1/streams/nothing"):
            answer = http.get(path, headers={"Origin": "https://shop.example"})
            assert answer.headers["access-control-allow-origin"] == "https://shop.example", path
    transport.stop()


def test_an_unknown_stream_says_nothing_of_the_database(http: httpx.Client, store_url: str) -> None:
    answer = http.get("/v1/streams/nothing")
    assert answer.status_code == 404
    assert "sqlite" not in answer.text
    assert store_url not in answer.text


def test_wrong_keys_are_slowed_down_and_right_ones_are_not(
    http: httpx.Client, meals: str, store_url: str, transport: InProcess
) -> None:
    store = open_store(store_url)
    token = add_key(store, name="till", role="read", stream=None, at=1.0)
    store.close()
    transport.app.state.service.guard.look_again()
    wrong, right = {"Authorization": "Bearer guess"}, {"Authorization": f"Bearer {token}"}
    began = time.monotonic()
    for _ in range(8):
        assert http.get(meals, headers=wrong).status_code == 401
    assert time.monotonic() - began > 0.5

    def right_one() -> float:
        began = time.monotonic()
        assert http.get(meals, headers=right).status_code == 200
        return time.monotonic() - began

    assert best(right_one, below=0.3)


class TestMemory:
    @pytest.fixture
    def settings(self) -> ServiceSettings:
        return ServiceSettings()

    def test_many_large_bodies_at_once_are_turned_away(
        self, http: httpx.Client, meals: str, transport: InProcess
    ) -> None:
        assert isinstance(transport.app, Application)
        fast_path = transport.app.fast_path
        assert fast_path is not None
        fast_path.room.hold(MOST_BYTES_HELD - 100_000)
        answer = http.post(f"{meals}/ask", content=b" " * 200_000, headers=JSON_TYPE)
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        small = http.post(f"{meals}/ask", json={"candidates": candidates()})
        assert small.status_code == 201


class TestLongBodies:
    """Longer ones may be allowed than all that are held by default."""

    @pytest.fixture
    def settings(self) -> ServiceSettings:
        return ServiceSettings(body_limit=MOST_BYTES_HELD + 1)

    def test_one_whose_length_is_not_said_is_taken(self, http: httpx.Client, meals: str) -> None:
        body = json.dumps({"candidates": candidates()}).encode()
        assert http.post(f"{meals}/ask", content=iter([body]), headers=JSON_TYPE).status_code == 201

    def test_two_of_the_longest_are_taken_at_once(self) -> None:
        room = Room(MOST_BYTES_HELD + 1)
        room.hold(MOST_BYTES_HELD + 1)
        room.hold(MOST_BYTES_HELD + 1)
        with pytest.raises(Overloaded):
            room.hold(1)


def test_requests_keep_their_id_and_the_log_names_it(
    http: httpx.Client, meals: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert http.get(meals, headers={"X-Request-Id": "mine-7"}).headers["x-request-id"] == "mine-7"
    odd = http.get(meals, headers={"X-Request-Id": "a b\tc"}).headers["x-request-id"]
    assert odd != "a b\tc"

    def fail(*_: object) -> None:
        raise RuntimeError("the secret")

    monkeypatch.setattr("duelwise.stream.DecisionStream.report", fail)
    http.get(meals, headers={"X-Request-Id": "mine-8"})
    assert "mine-8" in {getattr(record, "request_id", None) for record in caplog.records}
    assert f"GET {meals} failed" in caplog.messages

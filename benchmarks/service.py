"""Durable ask and tell over HTTP against an endpoint that only parses and returns the same JSON.

    python -m benchmarks.service [--clients 32] [--seconds 4] [--repeats 3] [--store URL]

One server process answers both, in the same run and turn by turn: /bare is dispatched
before anything of the service, so it pays for HTTP and JSON and nothing else. Each duel
is an ask and a tell (K = 10 candidates, d = 10, one-pass estimate), each acknowledged
only once it is on disk. A second pass measures latency at half the rate.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from benchmarks.timing import write_between_marks
from duelwise.service.serving import app_from_environment

DIM, ARMS = 10, 10
STREAM = "bench"


def app() -> ASGIApp:
    """What the server process runs: the service, and the bare endpoint in front of it."""
    service = app_from_environment()

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/bare":
            body = await Request(scope, receive).body()
            response = Response(orjson.dumps(orjson.loads(body)), media_type="application/json")
            await response(scope, receive, send)
        else:
            await service(scope, receive, send)

    return dispatch


class Connection:
    """As little HTTP as a load generator needs, so that it does not become the bottleneck."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        self._writer.write(
            b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body)
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length:", 1)[1].split(b"\r", 1)[0])
        return int(head[9:12]), await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()


def ask_body(number: int) -> bytes:
    offered = [
        {"id": f"c{i}", "features": [((number * 31 + i * 7 + j * 3) % 97) / 97 for j in range(DIM)]}
        for i in range(ARMS)
    ]
    return orjson.dumps({"candidates": offered})


TELL = orjson.dumps({"winner": "left"})
BODIES = [ask_body(number) for number in range(64)]

Work = Callable[[Connection, int], Awaitable[None]]
"""Two requests."""


async def durable(connection: Connection, number: int) -> None:
    status, answer = await connection.post(f"/v1/streams/{STREAM}/ask", BODIES[number % len(BODIES)])
    assert status == 201, answer
    ticket = orjson.loads(answer)["ticket"]
    status, answer = await connection.post(f"/v1/streams/{STREAM}/tickets/{ticket}/tell", TELL)
    assert status == 200, answer


async def bare(connection: Connection, number: int) -> None:
    for body in (BODIES[number % len(BODIES)], TELL):
        status, _ = await connection.post("/bare", body)
        assert status == 200


@dataclass(frozen=True)
class Measured:
    rate: float  # requests per second
    p50: float  # milliseconds, per request
    p99: float


async def load(port: int, work: Work, *, clients: int, seconds: float, rate: float | None = None) -> Measured:
    """As fast as the clients can, or spread evenly at a rate (latency then counts from the due time)."""
    numbers = count()
    times: list[float] = []
    began = time.perf_counter()

    async def one() -> None:
        connection = Connection(port)
        await connection.open()
        while True:
            number = next(numbers)
            due = time.perf_counter() if rate is None else began + 2 * number / rate
            if due - began > seconds:
                break
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            due = max(due, time.perf_counter()) if rate is None else due
            await work(connection, number)
            times.append((time.perf_counter() - due) / 2)
        connection.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    taken = time.perf_counter() - began
    cuts = statistics.quantiles(times, n=100)
    return Measured(2 * len(times) / taken, cuts[49] * 1e3, cuts[98] * 1e3)


def start_server(store: str) -> tuple[subprocess.Popen[bytes], int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "benchmarks.service:app", "--factory", "--port", str(port),
         "--log-level", "warning", "--no-access-log"],
        env={**os.environ, "DUELWISE_STORE": store, "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return server, port
        time.sleep(0.1)
    server.kill()
    raise SystemExit("the server did not start")


async def measure(port: int, *, clients: int, seconds: float, repeats: int) -> dict[str, object]:
    connection = Connection(port)
    await connection.open()
    body = orjson.dumps({"name": STREAM, "context_dim": DIM})
    assert (await connection.post("/v1/streams", body))[0] in (200, 201)
    connection.close()
    for work in (bare, durable):  # compile, open, warm up
        await load(port, work, clients=clients, seconds=1.0)
    pairs: list[tuple[Measured, Measured]] = []
    for _ in range(repeats):
        low = await load(port, bare, clients=clients, seconds=seconds)
        pairs.append((low, await load(port, durable, clients=clients, seconds=seconds)))
    ratios = [kept.rate / low.rate for low, kept in pairs]
    half = statistics.median(kept.rate for _, kept in pairs) / 2
    calm = [await load(port, work, clients=clients, seconds=seconds, rate=half) for work in (bare, durable)]
    return {
        "clients": clients,
        "bare_per_second": [round(low.rate) for low, _ in pairs],
        "durable_per_second": [round(kept.rate) for _, kept in pairs],
        "ratio": [round(ratio, 3) for ratio in ratios],
        "ratio_median": round(statistics.median(ratios), 3),
        "half_load_per_second": round(half),
        "bare_p99_ms": round(calm[0].p99, 2),
        "durable_p50_ms": round(calm[1].p50, 2),
        "durable_p99_ms": round(calm[1].p99, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--store", help="by default a SQLite file in a temporary folder")
    parser.add_argument("--page", type=Path, help="a page to write the table into, between its marks")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server, port = start_server(given.store or f"sqlite:///{folder}/duels.db")
        try:
            found = asyncio.run(
                measure(port, clients=given.clients, seconds=given.seconds, repeats=given.repeats)
            )
        finally:
            server.terminate()
            server.wait(30)
    print(json.dumps(found, indent=2))
    if given.page is not None:
        write_between_marks(given.page, "bench", table(found))


def table(found: dict[str, Any]) -> str:
    """The figures as a page shows them."""

    def span(name: str) -> str:
        return f"{min(found[name])} to {max(found[name])}"

    return (
        f"| {found['clients']} clients, one process | bare | durable | ratio |\n|---|---|---|---|\n"
        f"| requests per second, {len(found['ratio'])} turns | {span('bare_per_second')} "
        f"| {span('durable_per_second')} | {found['ratio_median']} ({span('ratio')}) |\n"
        f"| p99 at half the durable load, ms | {found['bare_p99_ms']} | {found['durable_p99_ms']} | |\n"
    )


if __name__ == "__main__":
    main()

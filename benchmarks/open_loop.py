"""Duels at a steady rate, whether or not the service keeps up: latency counts from when a request was due.

A closed loop (`wrk`) waits with its next request until it has an answer, so it never sees the
queue that builds up behind a slow one.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from dataclasses import dataclass
from itertools import count

import uvloop  # half of the processor time of asyncio's own loop, on cores that the service shares

DIM, ARMS = 10, 10


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
    return json.dumps({"candidates": offered}).encode()


TELL = b'{"winner":"left"}'
BODIES = [ask_body(number) for number in range(64)]


@dataclass(frozen=True)
class Latency:
    p50: float  # milliseconds, per request
    p99: float


async def _duel(connection: Connection, number: int) -> None:
    status, answer = await connection.post("/v1/streams/bench0/ask", BODIES[number % len(BODIES)])
    assert status == 201, answer
    ticket = json.loads(answer)["ticket"]
    status, answer = await connection.post(f"/v1/streams/bench0/tickets/{ticket}/tell", TELL)
    assert status == 200, answer


async def _load(port: int, *, rate: float, seconds: float, clients: int) -> Latency:
    numbers = count()
    times: list[float] = []
    began = time.perf_counter()

    async def one() -> None:
        connection = Connection(port)
        await connection.open()
        while (due := began + 2 * (number := next(numbers)) / rate) - began <= seconds:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            await _duel(connection, number)
            times.append((time.perf_counter() - due) / 2)
        connection.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    cuts = statistics.quantiles(times, n=100)
    return Latency(cuts[49] * 1e3, cuts[98] * 1e3)


def latency(port: int, *, rate: float, seconds: float, clients: int = 32) -> Latency:
    """Of asks and tells that come `rate` a second together."""
    return uvloop.run(_load(port, rate=rate, seconds=seconds, clients=clients))

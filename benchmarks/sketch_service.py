"""How fast the live path could be: the same learner behind the least that makes an answer durable.

It checks little and keeps nothing for a restart: a limit to measure the service against, not a service.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import numpy as np

from duelwise.stream import StreamSettings
from duelwise.types import Contexts, Votes

RUN, KNOWN = np.zeros(1, dtype=np.int64), np.zeros((1, 2, 0))
JSON_HEADERS = [(b"content-type", b"application/json")]


class Candidate(msgspec.Struct):
    id: str
    features: list[float]


class Body(msgspec.Struct):
    candidates: list[Candidate] = []
    winner: str = ""


class Sketch:
    def __init__(self, path: str) -> None:
        self._learner = StreamSettings(context_dim=10).start()
        self._decode = msgspec.json.Decoder(Body).decode
        self._pool = ThreadPoolExecutor(1)
        self._waiting: list[tuple[int, Body, asyncio.Future[bytes]]] = []
        self._busy = False
        self._sqlite = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._sqlite.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; "
            "CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, content BLOB)"
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] != "POST":
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body"})
            return
        message = await receive()
        loop = asyncio.get_running_loop()
        path = scope["path"].split("/")
        round = int(path[5].partition("-")[0]) if path[-1] == "tell" else -1
        done: asyncio.Future[bytes] = loop.create_future()
        self._waiting.append((round, self._decode(message["body"]), done))
        if not self._busy:
            self._busy = True
            loop.call_soon(self._begin, loop)
        answer = await done
        await send(
            {"type": "http.response.start", "status": 201 if round < 0 else 200,
             "headers": [*JSON_HEADERS, (b"content-length", str(len(answer)).encode())]}
        )  # fmt: skip
        await send({"type": "http.response.body", "body": answer})

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        group, self._waiting = self._waiting, []
        self._sqlite.execute("BEGIN IMMEDIATE")
        rows: list[tuple[bytes]] = []
        answers: list[bytes] = []
        for round, body, _ in group:
            answer, row = self._ask(body.candidates) if round < 0 else self._tell(round, body.winner)
            rows.append((row,))
            answers.append(msgspec.json.encode(answer))
        self._sqlite.executemany("INSERT INTO rows (content) VALUES (?)", rows)
        commit = loop.run_in_executor(self._pool, self._sqlite.execute, "COMMIT")
        commit.add_done_callback(lambda _: self._finish(group, answers, loop))

    def _finish(self, group: list[Any], answers: list[bytes], loop: asyncio.AbstractEventLoop) -> None:
        for (_, _, done), answer in zip(group, answers, strict=True):
            done.set_result(answer)
        self._busy = bool(self._waiting)
        if self._busy:
            loop.call_soon(self._begin, loop)

    def _ask(self, offered: list[Candidate]) -> tuple[object, bytes]:
        x = np.array([one.features for one in offered])
        duel = self._learner.choose(x[None])
        self._learner.serve(duel)
        self._learner.observe(Contexts(RUN, np.array([duel.round]), KNOWN))
        left, right = duel.arms[0].tolist()
        row = msgspec.json.encode([duel.round, left, right]) + duel.x.tobytes()
        sides = [{"id": offered[arm].id, "index": arm} for arm in (left, right)]
        return {"ticket": f"{duel.round}-x", "left": sides[0], "right": sides[1]}, row

    def _tell(self, round: int, winner: str) -> tuple[object, bytes]:
        self._learner.tell(Votes(RUN, np.array([round]), np.array([float(winner == "left")])))
        return {"ticket": f"{round}-x", "state": "told"}, msgspec.json.encode([round, winner])


class Application:
    """Made when the first request comes, in the server's own process."""

    def __init__(self) -> None:
        self._sketch: Sketch | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self._sketch = self._sketch or Sketch(os.environ["SKETCH_FILE"])
            await self._sketch(scope, receive, send)


app = Application()

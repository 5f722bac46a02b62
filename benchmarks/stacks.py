"""Servers, frameworks and decoders on the same two routes, in turns: what the service could be built on.

python -m benchmarks.stacks [--seconds 3] [--repeats 3] [--page docs/decisions/the-live-path.md]
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
from pathlib import Path
from typing import Any

import msgspec
from fastapi import FastAPI  # pyright: ignore[reportMissingImports]
from pydantic import BaseModel

from benchmarks import bare_service
from benchmarks.processes import free_port, running
from benchmarks.service import Row, in_turns
from benchmarks.timing import write_between_marks


class Candidate(BaseModel):
    id: str
    features: list[float]


class Ask(BaseModel):
    candidates: list[Candidate]


class Tell(BaseModel):
    winner: str


class Side(BaseModel):
    id: str
    index: int


class Duel(BaseModel):
    ticket: str
    left: Side
    right: Side


fastapi_app = FastAPI()
routed_app = FastAPI()
routed_app.router.routes.extend(bare_service.app.routes)
starlette_app = bare_service.app


@fastapi_app.post("/v1/streams/{name}/ask", status_code=201)
async def ask(name: str, body: Ask) -> Duel:
    left, right = (Side(id=body.candidates[i].id, index=i) for i in range(2))
    return Duel(ticket="1-x", left=left, right=right)


@fastapi_app.post("/v1/streams/{name}/tickets/{ticket}/tell")
async def tell(name: str, ticket: str, body: Tell) -> dict[str, Any]:
    return {"ticket": ticket, "state": "told", "changed": body.winner != ""}


async def plain_asgi(scope: Any, receive: Any, send: Any) -> None:
    """No framework at all."""
    message = await receive()
    body = message["body"]
    while message.get("more_body"):
        message = await receive()
        body += message["body"]
    content = msgspec.json.decode(body or b"{}")  # none where somebody asks whether it is up
    status, answer = (201, {"ticket": "1-x"}) if "candidates" in content else (200, {"ticket": "1-x"})
    out = msgspec.json.encode(answer)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(out))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": out})


def uvicorn(app: str, loop: str, http: str) -> tuple[list[str], dict[str, str], int]:
    port = free_port()
    flags = ["--port", str(port), "--log-level", "warning", "--no-access-log", "--lifespan", "off"]
    place = f"benchmarks.stacks:{app}"
    return [sys.executable, "-m", "uvicorn", place, *flags, "--loop", loop, "--http", http], {}, port


def granian(app: str) -> tuple[list[str], dict[str, str], int]:
    port = free_port()
    flags = ["--interface", "asginl", "--port", str(port), "--no-access-log", "--loop", "uvloop"]
    return [sys.executable, "-m", "granian", *flags, f"benchmarks.stacks:{app}"], {}, port


STACKS = {
    "uvicorn, asyncio, h11; FastAPI, pydantic": uvicorn("fastapi_app", "asyncio", "h11"),
    "uvicorn, uvloop, httptools; FastAPI, pydantic": uvicorn("fastapi_app", "uvloop", "httptools"),
    "uvicorn, uvloop, httptools; Starlette's routes in FastAPI, msgspec": uvicorn(
        "routed_app", "uvloop", "httptools"
    ),
    "uvicorn, uvloop, httptools; Starlette, msgspec": uvicorn("starlette_app", "uvloop", "httptools"),
    "uvicorn, uvloop, httptools; no framework, msgspec": uvicorn("plain_asgi", "uvloop", "httptools"),
    "granian; Starlette, msgspec": granian("starlette_app"),
    "granian; no framework, msgspec": granian("plain_asgi"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    with contextlib.ExitStack() as held:
        rows = [Row(name, held.enter_context(running(*made))) for name, made in STACKS.items()]
        in_turns(rows, seconds=given.seconds, repeats=given.repeats)
    text = "| stack | requests/s (spread) | p99 ms |\n|---|---|---|\n" + "".join(
        f"| {row.name} | {row.rate:.0f} ({min(row.rates):.0f} to {max(row.rates):.0f}) "
        f"| {statistics.median(row.p99):.1f} |\n"
        for row in rows
    )
    print(text)
    if given.page is not None:
        write_between_marks(given.page, "stacks", text)


if __name__ == "__main__":
    main()

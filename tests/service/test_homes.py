"""Who decides for a stream, on the event loop that the service runs on."""

from __future__ import annotations

import secrets
from types import SimpleNamespace
from typing import cast

import uvloop

from duelwise.service.homes import Homes
from duelwise.service.problems import Reply
from duelwise.service.routes import Call, Endpoint
from duelwise.service.service import Service

PATH = "/v1/streams/{name}/ask"


def process(number: int, secret: str) -> tuple[Homes, Endpoint]:
    """One of two processes, whose endpoint says where it was answered."""

    async def run(call: Call) -> Reply:
        return Reply(200, b"%d answers %s for %s" % (number, call.body, call.name.encode()))

    endpoint = Endpoint("POST", PATH, run, None, None, (), at_home=True)
    homes = Homes(number, 2, secret)
    homes.serve([endpoint])
    return homes, endpoint


def service() -> Service:
    """On a store with one writer: process 0 decides for all streams."""
    return cast(
        "Service", SimpleNamespace(streams=SimpleNamespace(store=SimpleNamespace(has_one_writer=True)))
    )


async def handed_over() -> list[bytes]:
    secret = secrets.token_hex(16)
    (home, _), (reader, endpoint) = process(0, secret), process(1, secret)
    await home.open(service())
    await reader.open(service())
    try:
        replies = [await reader.perform(endpoint, Call("soups", body=body)) for body in (b"one", b"two")]
    finally:
        await reader.close()
        await home.close()
    return [cast("Reply", reply).body for reply in replies]


def test_a_request_is_answered_by_the_process_that_decides_for_its_stream() -> None:
    assert uvloop.run(handed_over()) == [b"0 answers one for soups", b"0 answers two for soups"]


async def alone() -> bytes:
    reader, endpoint = process(1, secrets.token_hex(16))
    await reader.open(service())
    try:
        return cast("Reply", await reader.perform(endpoint, Call("soups", body=b"one"))).body
    finally:
        await reader.close()


def test_where_the_home_is_gone_whoever_has_the_request_decides() -> None:
    assert uvloop.run(alone()) == b"1 answers one for soups"

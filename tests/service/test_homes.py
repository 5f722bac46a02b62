"""Who decides for a stream, on the event loop that the service runs on."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import uvloop

from duelwise.service.homes import Homes
from duelwise.service.metrics import Counts
from duelwise.service.problems import Reply
from duelwise.service.routes import Call, Endpoint
from duelwise.service.service import Service
from duelwise.service.settings import ServiceSettings
from duelwise.storage import Store, open_store
from duelwise.stream import DecisionStream, StreamSettings

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
    """A store whose streams are all number 0, which is process 0's."""

    async def run(work: Callable[[], object]) -> object:
        return work()

    store = SimpleNamespace(stream=lambda name: SimpleNamespace(id=0))
    return cast("Service", SimpleNamespace(streams=SimpleNamespace(store=store, run=run)))


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


def test_a_process_knows_whether_it_is_the_only_one() -> None:
    assert Homes(0, 1).are_one
    assert not Homes(0, 2).are_one


def test_overdue_duels_are_closed_by_the_process_that_decides_for_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[tuple[int, str]] = []
    process: list[int] = []

    def expire(self: DecisionStream) -> int:
        swept.append((process[-1], self.name))
        return 0

    monkeypatch.setattr(DecisionStream, "expire", expire)

    async def sweep(store: Store, number: int) -> None:
        process.append(number)
        service = Service(store, ServiceSettings(expire_seconds=1))
        for name in ("soups", "meals"):
            await service.streams.create(name, StreamSettings(context_dim=2))
        sweeping = asyncio.create_task(service.expire_for_ever(Homes(number, 2).is_home_of))
        await asyncio.sleep(1.5)
        sweeping.cancel()
        service.close()

    with closing(open_store(f"sqlite:///{tmp_path}/two.db")) as store:
        for number in range(2):
            uvloop.run(sweep(store, number))
        homes = {name: store.stream(name).id % 2 for name in ("soups", "meals")}
    assert sorted(homes.values()) == [0, 1]
    assert sorted(swept) == sorted((home, name) for name, home in homes.items())


def begun(homes: Homes, endpoint: Endpoint) -> tuple[bool, list[Reply]]:
    """Whether a request could be begun without a wait, and what has been delivered at once."""
    replies: list[Reply] = []
    return homes.begin(endpoint, Call("soups", body=b"it"), replies.append), replies


def can_begin(endpoint: Endpoint) -> Endpoint:
    def begin(call: Call, deliver: Callable[[Reply], None]) -> bool:
        deliver(Reply(200, b"begun here"))
        return True

    return endpoint._replace(begin=begin)


def test_what_can_be_begun_without_a_wait_is_begun_where_the_stream_is_at_home() -> None:
    async def met() -> list[tuple[bool, list[Reply]]]:
        secret = secrets.token_hex(16)
        (home, endpoint), (reader, _) = process(0, secret), process(1, secret)
        alone, quick = Homes(0, 1), can_begin(endpoint)
        await home.open(service())
        await reader.open(service())
        try:
            found = [begun(alone, quick), begun(alone, endpoint), begun(home, quick)]
            await home.perform(quick, Call("soups", body=b"one"))  # whose stream it is, is known now
            found += [begun(home, quick), begun(reader, quick)]
            await reader.perform(quick, Call("soups", body=b"one"))  # the link is open now
            found.append(begun(reader, quick))
            await asyncio.sleep(0.05)
        finally:
            await reader.close()
            await home.close()
        return found

    here, later = (True, [Reply(200, b"begun here")]), (True, [Reply(200, b"0 answers it for soups")])
    assert uvloop.run(met()) == [here, (False, []), (False, []), here, (False, []), later]


def test_streams_are_spread_over_the_processes() -> None:
    async def homes() -> list[bytes]:
        store = SimpleNamespace(stream=lambda name: SimpleNamespace(id=int(name)))

        async def run(work: Callable[[], object]) -> object:
            return work()

        spread = cast("Service", SimpleNamespace(streams=SimpleNamespace(store=store, run=run)))
        secret = secrets.token_hex(16)
        (first, endpoint), (second, _) = process(0, secret), process(1, secret)
        await first.open(spread)
        await second.open(spread)
        try:
            replies = [await first.perform(endpoint, Call(name, body=b"it")) for name in ("6", "7", "7")]
        finally:
            await first.close()
            await second.close()
        return [cast("Reply", reply).body for reply in replies]

    assert uvloop.run(homes()) == [b"0 answers it for 6", b"1 answers it for 7", b"1 answers it for 7"]


def test_counts_are_those_of_all_processes_together() -> None:
    async def counted() -> list[Counts]:
        secret = secrets.token_hex(16)
        met = [process(number, secret)[0] for number in range(2)]
        for number, homes in enumerate(met):
            own = Counts(requests={PATH: {200: 1 + number}})
            await homes.open(cast("Service", SimpleNamespace(counts=lambda own=own: own)))
        try:
            return [await homes.counts() for homes in met]
        finally:
            for homes in met:
                await homes.close()

    assert uvloop.run(counted()) == [Counts(requests={PATH: {200: 3}})] * 2


async def alone() -> bytes:
    reader, endpoint = process(1, secrets.token_hex(16))
    await reader.open(service())
    try:
        return cast("Reply", await reader.perform(endpoint, Call("soups", body=b"one"))).body
    finally:
        await reader.close()


def test_where_the_home_is_gone_whoever_has_the_request_decides() -> None:
    assert uvloop.run(alone()) == b"1 answers one for soups"


async def beside_one_that_was_stopped() -> bytes:
    """What is answered; the connection to it is closed."""
    secret = secrets.token_hex(16)
    reader, endpoint = process(1, secret)
    await reader.open(service())
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stopped:
        stopped.bind(reader._address(0))
        stopped.listen()  # the kernel takes connections, and nobody reads
        try:
            reply = await reader.perform(endpoint, Call("soups", body=b"one"))
        finally:
            await reader.close()
        taken, _ = stopped.accept()
        with taken:
            taken.settimeout(5)
            while taken.recv(1000):
                pass
    return cast("Reply", reply).body


def test_where_the_home_was_stopped_whoever_has_the_request_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duelwise.service.homes.CONNECT_SECONDS", 0.1)
    monkeypatch.setattr("duelwise.service.process_links.ANSWER_SECONDS", 1.0)
    assert uvloop.run(beside_one_that_was_stopped()) == b"1 answers one for soups"

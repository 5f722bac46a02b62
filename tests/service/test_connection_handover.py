"""Connections move to the process that decides for their streams, and their clients do not notice."""

import asyncio
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import uvloop
from servers import free_port

from duelwise.service import ServiceSettings, create_app
from duelwise.service.connection_handover import ConnectionHandover
from duelwise.service.connections import MOVED_AFTER
from duelwise.service.homes import Homes
from duelwise.service.serving import Server, configured
from duelwise.storage import open_store
from duelwise.stream import DecisionStream, StreamSettings
from in_process import candidates

ASK = json.dumps({"candidates": candidates()}).encode()


class Process(NamedTuple):
    """One of two, in a thread of its own."""

    server: Server
    homes: Homes
    port: int

    @property
    def connections(self) -> int:
        return len(self.server.server_state.connections)


@contextmanager
def begun(store: str, number: int, secret: str) -> Iterator[Process]:
    homes = Homes(number, 2, secret)
    config = configured(create_app(store, ServiceSettings(key_refresh_seconds=1000), homes))
    config.host, config.port = "127.0.0.1", free_port()
    server = Server(config)
    homes.take_connections(server.adopt)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield Process(server, homes, config.port)
    finally:
        server.should_exit = True
        thread.join(30)


def post(name: str, body: bytes = ASK, *, path: str = "ask") -> bytes:
    line = f"POST /v1/streams/{name}/{path} HTTP/1.1\r\n".encode()
    head = b"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    return line + head + body


class Client:
    """One connection, never a second one."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._received = b""

    def send(self, name: str, body: bytes = ASK, *, path: str = "ask") -> None:
        self.socket.sendall(post(name, body, path=path))

    def answer(self) -> tuple[int, bytes]:
        """Status and body of the next answer."""
        while b"\r\n\r\n" not in self._received:
            self._receive()
        head, _, rest = self._received.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(rest) < length:
            rest += self._receive()
        self._received = rest[length:]
        return int(head.split()[1]), rest[:length]

    def _receive(self) -> bytes:
        got = self.socket.recv(65_536)
        assert got, "the connection was closed"
        self._received += got
        return got

    def ask(self, name: str) -> str:
        """The ticket of a new duel."""
        self.send(name)
        status, body = self.answer()
        assert status == 201, body
        return json.loads(body)["ticket"]


class Two(NamedTuple):
    """Two processes of one service, the names of a stream of each, and who is connected to the second."""

    first: Process
    second: Process
    of_first: str
    of_second: str
    client: Client


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    store = f"sqlite:///{tmp_path}/two.db"
    with closing(open_store(store)) as opened:
        settings = StreamSettings(context_dim=3, post_dim=2)
        for name in ("soups", "meals"):
            DecisionStream.create(opened, name, settings).close()
        names = {opened.stream(name).id % 2: name for name in ("soups", "meals")}
    with ExitStack() as held:
        secret = secrets.token_hex(16)
        first, second = (held.enter_context(begun(store, number, secret)) for number in range(2))
        client = Client(second.port)
        held.callback(client.socket.close)
        for name in names.values():  # whose they are is known now, and the way there is open
            client.ask(name)
        yield Two(first, second, names[0], names[1], client)


def soon(is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.01)
    return is_so()


def test_a_connection_goes_where_all_its_requests_are_answered(two: Two) -> None:
    for _ in range(MOVED_AFTER - 1):
        two.client.ask(two.of_first)
    assert (two.first.connections, two.second.connections) == (0, 1)
    tickets = {two.client.ask(two.of_first)}
    assert soon(lambda: (two.first.connections, two.second.connections) == (1, 0))
    tickets |= {two.client.ask(two.of_first) for _ in range(3)}
    assert len(tickets) == 4
    for ticket in tickets:
        two.client.send(two.of_first, b'{"winner": "left"}', path=f"tickets/{ticket}/tell")
        assert two.client.answer()[0] == 200
    assert (two.first.connections, two.second.connections) == (1, 0)


def test_it_comes_back_when_it_asks_for_others(two: Two) -> None:
    for _ in range(MOVED_AFTER):
        two.client.ask(two.of_first)
    assert soon(lambda: two.first.connections == 1)
    two.client.ask(two.of_second)  # the way back is opened by this one
    for _ in range(MOVED_AFTER):
        two.client.ask(two.of_second)
    assert soon(lambda: (two.first.connections, two.second.connections) == (0, 1))


def test_who_asks_of_both_stays(two: Two) -> None:
    for _ in range(MOVED_AFTER):
        two.client.ask(two.of_first)
        two.client.ask(two.of_second)
    assert (two.first.connections, two.second.connections) == (0, 1)


def test_half_a_request_is_not_left_behind(two: Two) -> None:
    for _ in range(MOVED_AFTER - 1):
        two.client.ask(two.of_first)
    request = post(two.of_first)
    two.client.socket.sendall(request + request[:30])  # the beginning of another comes with it
    assert two.client.answer()[0] == 201
    two.client.socket.sendall(request[30:])
    assert two.client.answer()[0] == 201
    for _ in range(MOVED_AFTER):
        two.client.ask(two.of_first)
    assert two.first.connections + two.second.connections == 1


def test_two_requests_at_once_are_both_answered(two: Two) -> None:
    for _ in range(MOVED_AFTER - 1):
        two.client.ask(two.of_first)
    for _ in range(3):
        two.client.socket.sendall(2 * post(two.of_first))
        assert [two.client.answer()[0] for _ in range(2)] == [201, 201]


def test_where_the_other_cannot_take_it_it_stays(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    monkeypatch.setattr(ConnectionHandover, "send", lambda *given: tried.append(given[1]))
    for _ in range(2 * MOVED_AFTER + 1):
        two.client.ask(two.of_first)
    assert tried == [0, 0]
    assert (two.first.connections, two.second.connections) == (0, 1)


def test_a_moved_connection_has_the_time_of_an_idle_one(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duelwise.service.connections.HEADER_SECONDS", 0.2)
    for _ in range(MOVED_AFTER):
        two.client.ask(two.of_first)
    assert soon(lambda: two.first.connections == 1)
    time.sleep(0.5)
    two.client.ask(two.of_first)


def test_nothing_is_taken_over_by_a_process_that_ends(two: Two) -> None:
    two.first.server.should_exit = True
    here, there = socket.socketpair()
    with here:
        asyncio.run(two.first.server.adopt(there))
        assert here.recv(1) == b""


def address(number: int) -> str:
    return f"\0duelwise-test-{os.getpid()}-{number}"


def sent(secret: bytes) -> bytes:
    """What a peer hears when its connection is sent with this secret: a greeting, or the end."""

    async def main() -> bytes:
        async def adopt(connection: socket.socket) -> None:
            with connection:
                connection.sendall(b"welcome")

        doors = [ConnectionHandover(address, b"right"), ConnectionHandover(address, secret)]
        here, there = socket.socketpair()
        for number, door in enumerate(doors):
            door.open(number, adopt)
        try:
            assert doors[1].send(0, there.fileno())
            assert not doors[1].send(2, there.fileno())  # there is no such process
            there.close()
            here.setblocking(False)
            return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(here, 99), 10)
        finally:
            here.close()
            for door in doors:
                door.close()

    return uvloop.run(main())


def test_who_knows_the_secret_is_let_in() -> None:
    assert sent(b"right") == b"welcome"


@pytest.mark.parametrize("secret", [b"wrong", b"right and more", b""])
def test_strangers_are_not(secret: bytes) -> None:
    assert sent(secret) == b""


def test_one_that_cannot_be_served_is_closed_and_told_of(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> bytes:
        async def adopt(connection: socket.socket) -> None:
            raise OSError("no room")

        door = ConnectionHandover(address, b"right")
        here, there = socket.socketpair()
        with here:
            door.open(0, adopt)
            try:
                assert door.send(0, there.fileno())
                there.close()
                here.setblocking(False)
                return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(here, 99), 10)
            finally:
                door.close()

    assert uvloop.run(main()) == b""
    assert "could not be taken over" in caplog.text


def test_without_a_door_nothing_goes_out() -> None:
    assert not ConnectionHandover(address, b"right").send(0, 0)

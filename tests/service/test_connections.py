"""How long a connection is waited for, by a clock of our own: headers, bodies, idling, and the cap."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, cast

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from duelwise.service import connections
from duelwise.service.connections import GuardedProtocol, held_by_the_system, most_connections

HEAD = b"POST /echo?a=b HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\n"
IN_CHUNKS = HEAD.replace(b"Content-Length: 2", b"Transfer-Encoding: chunked")


class Clock:
    """An event loop that has nothing but the time, and timers that are asked for."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.tasks: list[Any] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        self.timers.append((when, call))
        return cast("asyncio.TimerHandle", Handle(self, (when, call)))

    def create_task(self, work: Any, **_: Any) -> asyncio.Future[None]:
        self.tasks.append(work)
        return cast("asyncio.Future[None]", Nobody())

    def pass_to(self, now: float) -> None:
        """Let time go by; timers that are due are called."""
        while due := [one for one in self.timers if one[0] <= now]:
            self.timers.remove(due[0])
            self.now = max(self.now, due[0][0])
            due[0][1]()
        self.now = now


class Handle:
    """A timer that can be cancelled."""

    def __init__(self, clock: Clock, timer: tuple[float, Callable[[], None]]) -> None:
        self._clock, self._timer = clock, timer

    def cancel(self) -> None:
        if self._timer in self._clock.timers:
            self._clock.timers.remove(self._timer)


class Nobody:
    def add_done_callback(self, _: object) -> None:
        pass


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written, self.aborted, self.closed = b"", False, False
        self.untaken = 0  # bytes that the other side has not read

    def abort(self) -> None:
        self.aborted = True

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return self.untaken

    def get_extra_info(self, _: str) -> None:
        return None

    def is_closing(self) -> bool:
        return self.aborted

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = f"{scope['method']} {scope['path']} {scope['query_string'].decode()} ".encode()
    body += (await receive())["body"]
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Room:
    """Where connections are made: a clock and what they share."""

    def __init__(self) -> None:
        self.clock, self._state = Clock(), ServerState()
        self._config = uvicorn.Config(echo, ws="none", log_config=None)
        self._config.load()

    def connect(self) -> tuple[GuardedProtocol, Wire]:
        loop, wire = cast("asyncio.AbstractEventLoop", self.clock), Wire()
        one = GuardedProtocol(config=self._config, server_state=self._state, app_state={}, _loop=loop)
        one.connection_made(cast("asyncio.Transport", wire))
        return one, wire

    def answer(self) -> None:
        """Run the application on all that has been read."""
        for work in self.clock.tasks:
            asyncio.run(work)
        self.clock.tasks.clear()


@pytest.fixture
def room() -> Iterator[Room]:
    room = Room()
    yield room
    for work in room.clock.tasks:
        work.close()


def test_who_says_nothing_is_cut_off_after_ten_seconds(room: Room) -> None:
    one, wire = room.connect()
    assert one.due == 110.0
    room.clock.pass_to(109.9)
    assert not wire.aborted
    room.clock.pass_to(110.0)
    assert wire.aborted
    assert room.clock.timers == []


def test_headers_have_ten_seconds_a_body_thirty_and_idling_thirty(room: Room) -> None:
    one, wire = room.connect()
    room.clock.pass_to(105.0)
    one.data_received(HEAD[:20])
    assert one.due == 115.0
    room.clock.pass_to(106.0)
    one.data_received(HEAD[20:])
    assert one.due == 136.0
    one.data_received(b"hi")
    assert one.due == float("inf")  # it is our turn
    room.clock.pass_to(1000.0)
    assert not wire.aborted
    room.answer()
    assert wire.written.endswith(b"\r\n\r\nPOST /echo a=b hi")
    assert one.due == 1030.0
    room.clock.pass_to(1029.9)
    assert not wire.aborted
    room.clock.pass_to(1041.0)
    assert wire.aborted


def test_while_it_is_our_turn_the_watch_looks_again_every_ten_seconds(room: Room) -> None:
    one, _ = room.connect()
    one.data_received(HEAD + b"hi")
    assert [when for when, _ in room.clock.timers] == [110.0]
    room.clock.pass_to(110.0)
    assert [when for when, _ in room.clock.timers] == [120.0]
    room.answer()
    one.connection_lost(None)
    assert room.clock.timers == []


def test_an_answer_has_the_time_it_takes_to_be_read(room: Room) -> None:
    one, wire = room.connect()
    one.data_received(HEAD + b"hi")
    room.answer()
    for seconds in range(20, 200, 20):  # slower than anybody idles
        wire.untaken = 1000 - seconds
        room.clock.pass_to(100.0 + seconds)
    assert not wire.aborted
    wire.untaken = 0
    room.clock.pass_to(315.0)
    assert not wire.aborted  # it may idle after that
    room.clock.pass_to(350.0)
    assert wire.aborted


def test_who_stops_reading_is_cut_off_even_while_it_is_our_turn(room: Room) -> None:
    one, wire = room.connect()
    one.data_received(HEAD + b"hi")  # an answer in pieces is under way
    wire.untaken = 1000
    room.clock.pass_to(125.0)
    wire.untaken = 2000
    one.resume_writing()  # it has read all, and there are as many bytes again
    wire.untaken = 1000
    room.clock.pass_to(165.0)
    assert not wire.aborted
    room.clock.pass_to(200.0)
    assert wire.aborted


def test_who_reads_slowly_is_not_cut_off(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system takes more only when a good part of what it holds has gone."""
    one, wire = room.connect()
    one.data_received(HEAD + b"hi")
    wire.untaken, held = 1000, 4_000_000
    monkeypatch.setattr(connections, "held_by_the_system", lambda _: held)  # pyright: ignore[reportUnknownLambdaType,reportUnknownArgumentType]
    for now in range(125, 600, 25):
        held -= 100_000
        room.clock.pass_to(float(now))
    assert not wire.aborted
    room.clock.pass_to(700.0)  # nothing more is read
    assert wire.aborted


def test_what_the_system_holds_is_what_the_other_side_has_not_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs = server.accept()[0]
        theirs.settimeout(5.0)
    with ours, theirs:
        assert held_by_the_system(ours) == 0
        ours.setblocking(False)
        with suppress(BlockingIOError):
            while ours.send(bytes(100_000)):
                pass
        full = held_by_the_system(ours)
        assert full > 0
        while held_by_the_system(ours) == full:
            assert theirs.recv(100_000)
    assert held_by_the_system(ours) == 0  # it is closed
    assert held_by_the_system(None) == 0


async def refuse(scope: Scope, _: Receive, send: Send) -> None:
    headers = [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 405, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def test_who_hangs_up_behind_two_requests_is_not_answered(room: Room) -> None:
    one, wire = room.connect()
    one.app = refuse
    one.data_received(HEAD + b"hi" + HEAD + b"ho")
    one.connection_lost(None)
    room.answer()
    assert wire.written == b""


def test_who_only_ends_his_own_side_is_answered_first(room: Room) -> None:
    one, wire = room.connect()
    one.data_received(HEAD + b"hi" + HEAD + b"ho")
    assert one.eof_received()
    room.clock.pass_to(1000.0)
    room.answer()
    assert wire.written.count(b"HTTP/1.1 200") == 2
    assert wire.written.endswith(b"\r\n\r\nPOST /echo a=b ho")
    assert wire.closed
    for sent in (b"", HEAD):  # nothing, or not all of a request
        one, wire = room.connect()
        one.data_received(sent)
        assert not one.eof_received()


@pytest.mark.parametrize("whole", [1, 2])
def test_who_ends_his_own_side_in_the_next_body_is_answered_first(room: Room, whole: int) -> None:
    one, wire = room.connect()
    one.data_received((HEAD + b"hi") * whole + HEAD + b"h")
    assert one.eof_received()
    room.clock.pass_to(1000.0)
    room.answer()
    assert wire.written.count(b"HTTP/1.1 200") == whole
    assert wire.written.endswith(b"\r\n\r\nPOST /echo a=b hi")
    assert wire.closed
    assert not room.clock.tasks  # half a request is not begun


def test_who_ends_his_own_side_in_the_next_head_is_answered_first(room: Room) -> None:
    one, wire = room.connect()
    one.data_received(HEAD + b"hi" + HEAD[:20])
    assert one.eof_received()
    room.answer()
    assert wire.written.endswith(b"\r\n\r\nPOST /echo a=b hi")
    assert wire.closed


def test_who_was_answered_before_the_end_of_the_body_is_not_waited_for_for_ever(room: Room) -> None:
    one, wire = room.connect()
    one.app = refuse
    one.data_received(HEAD)
    room.answer()
    assert wire.written.startswith(b"HTTP/1.1 405")
    room.clock.pass_to(105.0)
    one.data_received(b"hi")
    assert one.due == 135.0
    room.clock.pass_to(135.0)
    assert wire.aborted


def test_a_request_that_came_behind_another_has_the_time_it_takes(room: Room) -> None:
    one, wire = room.connect()
    one.data_received(HEAD + b"hi" + HEAD + b"ho")
    asyncio.run(room.clock.tasks.pop(0))
    assert one.due == float("inf")  # the second one's answer is our turn too
    room.clock.pass_to(1000.0)
    assert not wire.aborted
    room.answer()
    assert wire.written.endswith(b"\r\n\r\nPOST /echo a=b ho")
    assert one.due == 1030.0


def test_a_body_that_is_none_is_answered_with_400(room: Room) -> None:
    one, wire = room.connect()
    one.data_received(IN_CHUNKS + b"no")
    assert wire.written.startswith(b"HTTP/1.1 400")


def test_behind_a_request_it_is_not_and_ends_the_connection(room: Room) -> None:
    one, wire = room.connect()
    one.data_received(HEAD + b"hi" + IN_CHUNKS + b"no")
    assert wire.written == b""
    asyncio.run(room.clock.tasks.pop(0))
    assert wire.written.endswith(b"\r\n\r\nPOST /echo a=b hi")
    assert wire.closed


def test_what_comes_behind_bytes_that_are_no_request_is_not_read(room: Room) -> None:
    one, wire = room.connect()
    one.data_received(HEAD + b"hi")
    one.data_received(b"\0")
    assert one.flow.read_paused
    one.data_received(b"\0" * 100_000)  # what the kernel had read by then
    assert not wire.aborted
    room.answer()
    assert wire.written.endswith(b"\r\n\r\nPOST /echo a=b hi")


def test_a_body_behind_another_request_has_its_time_from_when_it_is_read(room: Room) -> None:
    one, wire = room.connect()
    one.data_received(HEAD + b"hi" + HEAD)
    assert one.flow.read_paused
    room.clock.pass_to(1000.0)
    assert not wire.aborted
    asyncio.run(room.clock.tasks.pop(0))
    assert one.due == 1030.0


@pytest.mark.parametrize(("size", "aborted"), [(65_536, False), (65_537, True)])
def test_headers_without_an_end_are_not_read_for_ever(room: Room, size: int, aborted: bool) -> None:
    """Counted from the second piece on."""
    one, wire = room.connect()
    one.data_received(b"GET / HTTP/1.1\r\nX-Long: ")
    one.data_received(b"a" * (size - 1))
    one.data_received(b"a")
    assert wire.aborted == aborted


def test_a_long_body_is_no_long_header(room: Room) -> None:
    one, wire = room.connect()
    one.data_received(HEAD.replace(b"Length: 2", b"Length: 200000"))
    one.data_received(b"a" * 100_000)
    assert not wire.aborted


H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAM\r\n\r\n"
ASKS_FOR_HTTP_2 = HEAD[:-2] + H2C  # as Java's client does by default


@pytest.mark.parametrize(
    "packets",
    {
        "whole": [ASKS_FOR_HTTP_2 + b"hi"],
        "the body by itself": [ASKS_FOR_HTTP_2, b"hi"],
        "byte by byte": [bytes([byte]) for byte in ASKS_FOR_HTTP_2 + b"hi"],
        "in chunks": [
            ASKS_FOR_HTTP_2.replace(b"Content-Length: 2", b"Transfer-Encoding: chunked"),
            b"1\r\nh\r\n1\r\ni\r\n0\r\n\r\n",
        ],
    }.items(),
    ids=lambda item: item[0],
)
def test_an_upgrade_that_is_not_offered_is_ignored(room: Room, packets: tuple[str, list[bytes]]) -> None:
    one, wire = room.connect()
    for packet in packets[1]:
        one.data_received(packet)
    assert one.due == float("inf")
    room.answer()
    one.data_received(HEAD + b"ho")
    room.answer()
    first, second = wire.written.split(b"HTTP/1.1 200 OK")[1:]
    assert first.endswith(b"\r\n\r\nPOST /echo a=b hi")
    assert second.endswith(b"\r\n\r\nPOST /echo a=b ho")
    assert not wire.aborted


def test_upgrades_that_come_behind_one_another_are_all_ignored(room: Room) -> None:
    """Three requests in one packet, of which the second has no body."""
    one, wire = room.connect()
    second = b"GET /echo HTTP/1.1\r\nHost: here\r\n" + H2C
    one.data_received(ASKS_FOR_HTTP_2 + b"hi" + second + ASKS_FOR_HTTP_2 + b"ho")
    room.answer()
    said = [answer.split(b"\r\n\r\n")[1] for answer in wire.written.split(b"HTTP/1.1 200 OK")[1:]]
    assert said == [b"POST /echo a=b hi", b"GET /echo  ", b"POST /echo a=b ho"]


def test_at_the_cap_the_one_waited_for_longest_makes_room(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GuardedProtocol, "most", 3)
    met: list[Wire] = []
    for number in range(4):
        room.clock.now += 1.0
        one, wire = room.connect()
        met.append(wire)
        if number == 0:
            one.data_received(HEAD + b"hi")  # it is our turn: not the one to go
    assert [wire.aborted for wire in met] == [False, True, False, False]


FILES = [  # soft limit, hard limit, and how many connections there may be
    (1024, 1024, 1024 - 128),
    (1024, 4096, 4096 - 128),
    (1024, 1_000_000, 16_384 - 128),
    (1024, resource.RLIM_INFINITY, 16_384 - 128),
    (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 16_384 - 128),
    (100_000, 100_000, 16_384 - 128),
    (200, 200, 100),
    (256, 256, 128),
]


@pytest.mark.parametrize(("soft", "hard", "most"), FILES)
def test_connections_leave_files_to_the_others(
    soft: int, hard: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[tuple[int, int]] = []
    monkeypatch.setattr(connections.resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(connections.resource, "setrlimit", lambda _, limits: raised.append(limits))
    assert most_connections() == most
    assert raised == ([(most + 128, hard)] if 0 <= soft < most else [])

"""Connections that cannot be held for ever: time-outs for headers, bodies and idling, and a cap."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import math
import re
import resource
import socket
import termios
from struct import Struct
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from duelwise.service.exchange import Exchange
from duelwise.service.fast_path import FastPath, FastRequest

HEADER_SECONDS = 10.0  # from the first byte of a request, or from the connection, to the end of its headers
BODY_SECONDS = 30.0  # from there to the end of its body
IDLE_SECONDS = 30.0  # between two requests
TAKING_SECONDS = 30.0  # without a byte taken of an answer that waits to be read
LONGEST_HEADERS = 65_536  # bytes
SPARE_FILES = 128  # descriptors that connections leave to the database, logs and links
MOST_FILES = 16_384
MOVED_AFTER = 16  # requests in a row that another process has answered
_COUNT = Struct("i")
_PLAIN = re.compile(rb"/[A-Za-z0-9._~/?&=+,:@-]*")  # an address that stands for itself


def most_connections() -> int:
    """As many as the process may have files open, less some; the soft limit is raised where it can be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    files = MOST_FILES if soft == resource.RLIM_INFINITY else min(soft, MOST_FILES)
    return max(files - SPARE_FILES, files // 2)


def held_by_the_system(connection: socket.socket | None) -> int:
    """Bytes that were written and that the other side has not got yet; 0 where the system does not tell.

    It holds some megabytes and takes more only when a good part of them has gone. Of a client that reads
    slowly nothing else would show for a minute that it does read.
    """
    if connection is not None:
        with contextlib.suppress(OSError, ValueError):  # a closed one has no number
            return _COUNT.unpack(fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(_COUNT.size)))[0]
    return 0


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's own protocol, with a deadline for whatever the client has to do next.

    At the cap a new connection takes the place of the one that has been waited for longest.
    """

    most = 1_000_000  # connections of this process; set when it starts to serve

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.deadline: float | None = None  # None: it is our turn
        self._timer: asyncio.TimerHandle | None = None
        self._header_bytes: int | None = 0  # None: the headers are complete
        self._fast_path: FastPath | None = getattr(cast("Any", self).app, "fast_path", None)
        self._direct: FastRequest | None = None  # whose body is being read
        self._head_again = b""  # of a request that asks for an upgrade: the same without it
        self._is_between = True  # whether the parser waits for the first byte of a request
        self._elsewhere: int | None = None  # the other process that has answered the last requests
        self._alike = 0  # how many of them
        self._running: Any = None  # the request that is being answered; `cycle` is the last one read
        self._untaken = 0  # bytes of answers that the client had not read when we last looked,
        self._taken_until = 0.0  # and when it must have read some

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self._make_room()
        self._expect(HEADER_SECONDS)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._direct is not None:
            self._direct.give_back()
            self._direct = None
        if self._running is not None:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        fast_path, before, was_between = self._fast_path, self.cycle, self._is_between
        if fast_path is not None and was_between and self._take_known(fast_path, data):
            return
        if self._header_bytes is not None:
            self._header_bytes += len(data)
        self._parse(data)
        if self._header_bytes is not None and self._header_bytes > LONGEST_HEADERS:
            self.transport.abort()
        cycle = cast("object", self.cycle)
        if fast_path is not None and was_between and cycle is not before and isinstance(cycle, FastRequest):
            fast_path.heads.remember(data, cycle.head)

    def eof_received(self) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The client sends no more. What it has asked is answered before the connection ends."""
        if self._direct is not None or not self._has_unanswered():
            return False
        self._end_after_answers()
        return True

    def _end_after_answers(self) -> None:
        """What was asked is answered; there is no further request, and half of one is not begun."""
        if self.cycle.more_body and self.pipeline:
            self.pipeline.popleft()
            self.cycle = self.pipeline[0][0] if self.pipeline else self._running
        self.cycle.keep_alive, self.deadline = False, None

    def _parse(self, data: bytes) -> None:
        """Feed the parser; requests that are none are refused.

        No upgrade is offered, so one that a client asks for is ignored, as HTTP has it: Java's client asks
        with its first request. The parser stops after such headers as if there were no body. It is given
        them again without the upgrade, and then what came after them.
        """
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._feed(rest) :]
                head, self._head_again = self._head_again, b""
                if head:
                    self._feed(head)
        except httptools.HttpParserError:
            message = "Invalid HTTP request received."
            self.logger.warning(message)
            if self._has_unanswered():  # 400 would be taken for the answer to the first of them
                self._header_bytes = None  # what follows is none either, and is not read
                self.flow.pause_reading()
                self._end_after_answers()
            else:
                self.send_400_response(message)

    def _has_unanswered(self) -> bool:
        """Whether answers are due for requests before the one that is being read."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison]
            return False
        return bool(self.pipeline) or not cycle.more_body

    def _feed(self, data: bytes | memoryview) -> int:
        """How many bytes the parser has taken: all, or those before an upgrade."""
        try:
            cast("Any", self.parser).feed_data(data)
        except httptools.HttpParserUpgrade as stop:
            return int(stop.args[0])
        return len(data)

    def _take_known(self, fast_path: FastPath, data: bytes) -> bool:
        """A whole request whose headers were parsed before goes on without the parser; else False."""
        cycle = self.cycle
        is_free = cycle is None or cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]
        found = fast_path.heads.find(data) if is_free and not self.flow.write_paused else None
        if found is None or _PLAIN.fullmatch(found[0]) is None:
            return False
        url, head, body = found
        direct = fast_path.take_known(self, url.decode("ascii"), head)
        if direct is None:
            return False
        self.url, self.headers, self.expect_100_continue = url, head.headers, False
        self.cycle, direct.body, self.deadline = cast("Any", direct), body, None
        self._go(direct)
        return True

    def on_message_begin(self) -> None:
        """A request begins. Its scope is made when the application needs one."""
        self._expect(HEADER_SECONDS)
        self._header_bytes, self._is_between = 0, False
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def _make_scope(self) -> None:
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers  # the scope has this list

    def on_headers_complete(self) -> None:
        """Start the application. A plain request skips what only upgrades, escapes and HTTP/1.0 need."""
        self._expect(BODY_SECONDS)
        self._header_bytes = None
        parser, url, cycle = cast("Any", self.parser), self.url, self.cycle
        if parser.should_upgrade() and parser.get_method() != b"CONNECT":
            self._head_again = self._without_upgrade()
            return
        is_first = cycle is None or cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]
        is_plain = _PLAIN.fullmatch(url) is not None and parser.get_http_version() == "1.1"
        is_plain = is_plain and parser.should_keep_alive() and not parser.should_upgrade()
        if not is_first or not is_plain or self.expect_100_continue:
            self._make_scope()
            super().on_headers_complete()
            if not is_first:
                self.deadline = None  # nothing is read until those before are answered: it is our turn
            return
        if self._fast_path is not None and parser.get_method() == b"POST" and not self.flow.write_paused:
            self._direct = self._fast_path.take(self, url.decode("ascii"), self.headers)
            if self._direct is not None:
                self.cycle = cast("Any", self._direct)
                return
        self._start(url, parser.get_method())

    def _without_upgrade(self) -> bytes:
        """The head that has just been read, without the header `Upgrade`."""
        method, version = cast("Any", self.parser).get_method(), cast("Any", self.parser).get_http_version()
        lines = [b"%b %b HTTP/%b" % (method, self.url, version.encode("ascii"))]
        lines += [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])

    def _start(self, url: bytes, method: bytes, body: bytes | None = None) -> None:
        """The application answers; `body` is what has been read already, to its end."""
        path, _, query = url.partition(b"?")
        self._make_scope()
        scope = self.scope
        scope["method"] = method.decode("ascii")
        scope["path"], scope["raw_path"], scope["query_string"] = path.decode("ascii"), path, query
        self.cycle = Exchange(
            scope=scope, transport=self.transport, flow=self.flow, logger=self.logger,
            access_logger=self.access_logger, access_log=False, default_headers=[],
            message_event=asyncio.Event(), expect_100_continue=False, keep_alive=True,
            on_response=self.on_response_complete,
        )  # fmt: skip
        if body is not None:
            self.cycle.body, self.cycle.more_body = bytearray(body), False
            self.cycle.message_event.set()
        self._start_asgi_task(self.cycle, cast("Any", self).app)

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        if self._direct is None:
            super().on_body(body)
        else:
            self._direct.body += body

    def on_message_complete(self) -> None:
        if self._head_again:
            return  # it is read once more, with its body
        self._is_between = True
        self._expect_request()
        direct, self._direct = self._direct, None
        if direct is None:
            super().on_message_complete()
        else:
            self._go(direct)

    def _go(self, direct: FastRequest) -> None:
        """A request that was read to its end goes the short way, or else the long one."""
        self._running = direct
        if not direct.begin():
            direct.give_back()
            self._start(self.url, b"POST", direct.body)

    def on_response_complete(self) -> None:
        self._running = None
        self._expect_request()
        if self.pipeline or self.transport.is_closing():
            super().on_response_complete()
        else:  # without uvicorn's own timer: `_watch` looks at the deadline
            self.server_state.total_requests += 1
            self.flow.resume_reading()

    def was_answered_by(self, home: int | None) -> None:
        """The last request was another process's to answer, or (None) this one's."""
        self._alike = self._alike + 1 if home == self._elsewhere else 1
        self._elsewhere = home
        if home is not None and self._alike == MOVED_AFTER:
            self.loop.call_soon(self._move, home)  # when the answer is on its way

    def _move(self, home: int) -> None:
        """Go to the process that answers all requests, if there is nothing of another one here yet."""
        transport, fast_path, self._alike = self.transport, self._fast_path, 0
        is_free = self._is_between and self.cycle.response_complete
        if fast_path is None or not is_free or transport.is_closing() or transport.get_write_buffer_size():
            return
        transport.pause_reading()
        if fast_path.homes.move(transport.get_extra_info("socket").fileno(), home):
            transport.close()
        else:
            transport.resume_reading()

    def wait_as_idle(self) -> None:
        """As after an answer: it has been served elsewhere before."""
        self._expect(IDLE_SECONDS)

    def _expect_request(self) -> None:
        """After a whole request or an answer: the next one, unless one that was read waits for its answer."""
        if self._is_between and not self.cycle.response_complete:
            self.deadline = None
        else:
            self._expect(IDLE_SECONDS)

    def _expect(self, seconds: float) -> None:
        self.deadline = self.loop.time() + seconds

    def _watch(self) -> None:
        """One timer for each connection, set anew when it fires, not with each request."""
        now, due = self.loop.time(), self._taking() or self.deadline
        if due is not None and now >= due:
            self.transport.abort()
            return
        self._timer = self.loop.call_at(due or now + HEADER_SECONDS, self._watch)

    def resume_writing(self) -> None:
        """Some was read: what is written now may be as long again."""
        self._untaken = 0
        super().resume_writing()

    def _taking(self) -> float | None:
        """Until when some of an answer must be read; None: all of it is. An idle time begins after that."""
        now, untaken = self.loop.time(), self.transport.get_write_buffer_size()
        if untaken:
            untaken += held_by_the_system(self.transport.get_extra_info("socket"))
        if untaken != self._untaken:
            self._untaken, self._taken_until = untaken, now + TAKING_SECONDS
            if self.deadline is not None:
                self._expect(IDLE_SECONDS)
        return self._taken_until if untaken else None

    def _make_room(self) -> None:
        longest: GuardedProtocol = self
        for one in cast("set[GuardedProtocol]", self.connections):
            if one is not self and one.due < longest.due:
                longest = one
        longest.transport.abort()

    @property
    def due(self) -> float:
        """When the client should have acted; never, while it is our turn."""
        return math.inf if self.deadline is None else self.deadline

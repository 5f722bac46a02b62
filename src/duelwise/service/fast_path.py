"""The short way of the usual request: an ask, an observe or a tell that is small and whole.

It passes no middleware and needs no task: what the protocol has read is decoded and put in line for the next
transaction, and the reply is written when that is durable. A request that would have to wait for anything
else, or that is unusual in any way, goes through the application as every other one does; so do all of them
once a middleware is added.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from duelwise.errors import DuelwiseError, Overloaded, Unauthorised
from duelwise.service.auth import Guard
from duelwise.service.decoding import LARGE
from duelwise.service.header_cache import HeaderCache, RequestHead
from duelwise.service.problems import JSON_TYPE, Reply, respond
from duelwise.service.request_middleware import HEADER, Watch
from duelwise.service.routes import Call, Endpoint, Room, pattern_of

if TYPE_CHECKING:
    from duelwise.service.homes import Homes


class Nothing:
    """Who would be told of a message, if anybody waited for it."""

    def set(self) -> None:
        pass


class FastRequest:
    """One request on the short way; to uvicorn's protocol it is a cycle like its own."""

    __slots__ = (
        "_fast_path", "_protocol", "began", "body", "disconnected", "endpoint", "head", "keep_alive", "path",
        "response_complete", "segments",
    )  # fmt: skip
    message_event = Nothing()
    more_body = False  # it begins when all of it has been read

    def __init__(
        self,
        fast_path: FastPath,
        protocol: Any,
        endpoint: Endpoint,
        path: str,
        segments: list[str],
        head: RequestHead,
    ) -> None:
        self._fast_path, self._protocol = fast_path, protocol
        self.endpoint, self.path, self.segments, self.head = endpoint, path, segments, head
        self.began = time.perf_counter()
        self.body = b""
        self.response_complete = self.disconnected = False
        self.keep_alive = True

    def begin(self) -> bool:
        """Everything has been read. False: it has to go the long way."""
        return self._fast_path.begin(self)

    def give_back(self) -> None:
        """It goes no further here."""
        self._fast_path.room.free(self.head.size)

    @property
    def address(self) -> str:
        client = self._protocol.client
        return client[0] if client else ""

    def reply(self, reply: Reply) -> None:
        """Write the answer in one piece, with the headers that the application would give it."""
        fast_path, protocol, body = self._fast_path, self._protocol, reply.body
        id = fast_path.watch.id_of(self.head.given.get(HEADER))
        seconds = time.perf_counter() - self.began
        fast_path.watch.answered("POST", self.path, self.endpoint.path, reply.status, seconds, id)
        fast_path.room.free(self.head.size)
        self.response_complete = True
        transport = protocol.transport
        if transport.is_closing():
            return
        further = b"" if self.keep_alive else b"connection: close\r\n"
        if reply.further:
            further += "".join(
                f"{name.lower()}: {value}\r\n" for name, value in reply.further.items()
            ).encode("latin-1")
        start = _start_of(reply.status, reply.media_type)
        transport.write(b"%b%d\r\n%bx-request-id: %b\r\n\r\n%b" % (start, len(body), further, id, body))
        if not self.keep_alive:
            transport.close()
        protocol.on_response_complete()
        if not fast_path.homes.are_one:
            protocol.was_answered_by(fast_path.homes.elsewhere(self.segments[3]))


@lru_cache(maxsize=64)
def _start_of(status: int, media_type: str) -> bytes:
    """An answer up to the length of its body."""
    return b"%bcontent-type: %b\r\ncontent-length: " % (STATUS_LINE[status], media_type.encode())


class FastPath:
    """Finds who may go the short way."""

    def __init__(
        self, endpoints: Iterable[Endpoint], guard: Guard, homes: Homes, watch: Watch, room: Room
    ) -> None:
        self._guard, self.homes = guard, homes
        self.watch, self.room, self.heads = watch, room, HeaderCache()
        self._places = {
            pattern_of(one.path.split("/")): one
            for one in endpoints
            if one.begin is not None and one.method == "POST"
        }

    def take(self, protocol: Any, path: str, headers: list[tuple[bytes, bytes]]) -> FastRequest | None:
        """A POST whose headers have been read; None: it goes the long way."""
        given = dict(headers)
        length = given.get(b"content-length", b"")
        if not length.isdigit() or len(length) > 6 or given.get(b"content-type") != JSON_TYPE.encode():
            return None
        size = int(length)
        if size > LARGE or b"transfer-encoding" in given:
            return None
        return self.take_known(protocol, path, RequestHead(headers, given, size))

    def take_known(self, protocol: Any, path: str, head: RequestHead) -> FastRequest | None:
        """The same with headers that may go the short way."""
        segments = path.split("/")
        endpoint = self._places.get(pattern_of(segments))
        if endpoint is None or "?" in path:
            return None
        try:
            self.room.hold(head.size)
        except Overloaded:
            return None
        return FastRequest(self, protocol, endpoint, path, segments, head)

    def begin(self, direct: FastRequest) -> bool:
        endpoint, segments = direct.endpoint, direct.segments
        name, ticket = segments[3], segments[5] if len(segments) > 5 else ""
        if not self._guard.is_fresh or endpoint.role is None:
            return False
        try:
            key = self._guard.check_known(direct.address, direct.head.given, endpoint.role, name)
        except Unauthorised:
            return False
        except DuelwiseError as error:
            direct.reply(respond(error))
            return True
        caller = "" if key is None else key.name
        if self.homes.begin(endpoint, Call(name, ticket, direct.body, key, caller), direct.reply):
            return True
        self._guard.will_be_checked_again(direct.address, key)
        return False

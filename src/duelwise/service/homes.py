"""Several processes, one home for each stream: who decides, and how the others hand over.

Every process reads and answers requests. One of them decides and learns for a stream, so its
learner is folded once and its requests share transactions; the others send it what they have
read. Streams are spread over the processes. Any process can decide, because the database keeps the order:
when a home does not answer, whoever has the request decides itself, until the home is back. A connection
whose requests are all handed to one process moves there.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import sys
import time
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from duelwise.errors import DuelwiseError
from duelwise.service.connection_handover import Adopt, ConnectionHandover
from duelwise.service.metrics import Counts
from duelwise.service.problems import Deliver, Reply, respond
from duelwise.service.process_links import ALIVE, Answering, Link, Question
from duelwise.service.routes import Call, Endpoint, json_reply

if TYPE_CHECKING:
    from duelwise.service.service import Service

COUNTS = -1  # the question that asks for a process's counts
AGAIN_SECONDS = 0.5  # before a home that was gone is looked for again
CONNECT_SECONDS = 1.0
NAMES_KEPT = 100_000
IS_POSSIBLE = sys.platform == "linux"  # links are abstract sockets: no file that could be left behind

log = logging.getLogger("duelwise.service")


def new_secret() -> str:
    return secrets.token_hex(16)


class Homes:
    """Process `number` of `workers`."""

    def __init__(self, number: int, workers: int, secret: str = "") -> None:
        self._number, self._workers, self._secret = number, workers if IS_POSSIBLE else 1, secret.encode()
        self._endpoints: Sequence[Endpoint] = ()
        self._positions: dict[tuple[str, str], int] = {}
        self._service: Service | None = None
        self._server: asyncio.AbstractServer | None = None
        self._answering: set[Answering] = set()
        self._links: dict[int, Link] = {}
        self._gone_until: dict[int, float] = {}
        self._ids: dict[str, int] = {}  # streams' numbers
        self._handover = ConnectionHandover(
            lambda number: self._address(number) + "-connections", self._secret
        )
        self._adopt: Adopt | None = None

    @property
    def are_one(self) -> bool:
        """Whether there is no other process."""
        return self._workers == 1

    def is_home_of(self, stream_id: int) -> bool:
        """Whether this process decides for the stream of this number."""
        return stream_id % self._workers == self._number

    def serve(self, endpoints: Sequence[Endpoint]) -> None:
        """What can be handed over: the same list in every process."""
        self._endpoints = endpoints
        self._positions = {
            (one.method, one.path): position for position, one in enumerate(endpoints) if one.at_home
        }

    def take_connections(self, adopt: Adopt) -> None:
        """Let connections move between processes, once this is opened: `adopt` serves those that come."""
        self._adopt = adopt

    async def open(self, service: Service) -> None:
        self._service = service
        if self._workers > 1:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(self._address(self._number))
            loop = asyncio.get_running_loop()
            self._server = await loop.create_unix_server(
                lambda: Answering(self._secret, self._begin_answer, self._answer, self._answering),
                sock=listener,
            )
            if self._adopt is not None:
                self._handover.open(self._number, self._adopt)

    async def close(self) -> None:
        self._handover.close()
        if self._server is not None:
            self._server.close()
        for link in (*self._links.values(), *self._answering):
            link.close()

    def perform(self, endpoint: Endpoint, call: Call) -> Coroutine[Any, Any, Reply | Response]:
        """The reply of the stream's home, or our own."""
        if self._workers == 1 or not endpoint.at_home:
            return endpoint.run(call)
        return self._perform_at_home(endpoint, call)

    async def _perform_at_home(self, endpoint: Endpoint, call: Call) -> Reply | Response:
        home = await self._home_of(call.name)
        link = None if home == self._number else await self._link(home)
        if link is None:
            return await endpoint.run(call)
        position = self._positions[endpoint.method, endpoint.path]
        return await link.answer(position, call.name, call.ticket, call.body, call.caller)

    def begin(self, endpoint: Endpoint, call: Call, deliver: Deliver) -> bool:
        """The same without a wait, where the home is known and can be reached; else False."""
        if endpoint.begin is None:
            return False
        if self._workers == 1:
            return endpoint.begin(call, deliver)
        home = self._known_home(call.name)
        if home == self._number:
            return endpoint.begin(call, deliver)
        link = None if home is None else self._links.get(home)
        if link is None or not link.is_open:
            return False
        position = self._positions[endpoint.method, endpoint.path]
        link.ask(position, call.name, call.ticket, call.body, call.caller, deliver)
        return True

    def elsewhere(self, name: str) -> int | None:
        """The other process that decides for a stream; None: this one does, or it is not known."""
        home = self._known_home(name)
        return None if home == self._number else home

    def move(self, connection: int, home: int) -> bool:
        """Hand the open connection of this file number to another process; False: it stays here."""
        link = self._links.get(home)
        return link is not None and link.is_open and self._handover.send(home, connection)

    async def counts(self) -> Counts:
        """What all processes have counted together; one that is gone is left out."""
        assert self._service is not None
        total = self._service.counts()
        for number in range(self._workers):
            link = None if number == self._number else await self._link(number)
            if link is not None:
                reply = await link.answer(COUNTS, "", "", b"")
                if reply.status == 200:
                    total = total.plus(msgspec.json.decode(reply.body, type=Counts))
        return total

    async def _answer(self, question: Question) -> Reply:
        """In the home: what another process was asked."""
        assert self._service is not None
        if question.endpoint == COUNTS:
            return json_reply(self._service.counts())
        endpoint = self._endpoints[question.endpoint]
        try:
            reply = await endpoint.run(_call(question))
        except DuelwiseError as error:
            return respond(error)
        except Exception as error:
            log.exception("%s %s failed for another process", endpoint.method, endpoint.path)
            return respond(error)
        assert isinstance(reply, Reply)
        return reply

    def _begin_answer(self, question: Question, deliver: Deliver) -> bool:
        begin = None if question.endpoint == COUNTS else self._endpoints[question.endpoint].begin
        if begin is None:
            return False
        return begin(_call(question), deliver)

    async def _home_of(self, name: str) -> int:
        home = self._known_home(name)
        if home is None:
            assert self._service is not None
            streams = self._service.streams
            number = (await streams.run(lambda: streams.store.stream(name))).id
            if len(self._ids) >= NAMES_KEPT:
                self._ids.clear()
            self._ids[name] = number
            home = number % self._workers
        return home

    def _known_home(self, name: str) -> int | None:
        number = self._ids.get(name)
        return None if number is None else number % self._workers

    async def _link(self, home: int) -> Link | None:
        link = self._links.get(home)
        if link is not None and link.is_open:
            return link
        now = time.monotonic()
        if now < self._gone_until.get(home, 0.0):
            return None
        # One tries, the others decide themselves meanwhile.
        self._gone_until[home] = now + CONNECT_SECONDS + AGAIN_SECONDS
        try:
            link = await asyncio.wait_for(self._connected(home), CONNECT_SECONDS)
        except OSError:
            return None
        self._links[home] = link
        self._gone_until.pop(home, None)
        return link

    async def _connected(self, home: int) -> Link:
        """A new link to a process that answers: the kernel takes connections for one that was stopped.

        Its socket is connected here: libuv takes a name that begins with a zero for none.
        """
        loop, to_home = asyncio.get_running_loop(), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            to_home.setblocking(False)
            await loop.sock_connect(to_home, self._address(home))
            link = (await loop.create_unix_connection(lambda: Link(self._secret), sock=to_home))[1]
        except BaseException:
            to_home.close()
            raise
        try:
            await link.answer(ALIVE, "", "", b"")
        except BaseException:
            link.close()
            raise
        if not link.is_open:
            raise ConnectionResetError("It ended before it answered.")
        return link

    def _address(self, number: int) -> str:
        return f"\0duelwise-{self._secret[:8].decode()}-{number}"


def _call(question: Question) -> Call:
    return Call(question.name, question.ticket, question.body, caller=question.caller)

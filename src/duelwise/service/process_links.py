"""A link between two processes of one service: requests one way, replies the other, many under way at once.

    length (4 bytes) | msgpack: a list of messages

The first frame of a link is a secret that only the processes of this service know.
"""

from __future__ import annotations

import asyncio
import hmac
import itertools
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Generic, TypeVar, cast

import msgspec

from duelwise.errors import StorageFailure
from duelwise.service.problems import Deliver, Reply, respond

MOST_BYTES = 1_000_000_000  # of one frame; all votes of a stream are one answer
MOST_HELD = 4  # messages of one frame: the other process begins with them while this one reads on
LARGE = 1_000_000  # bytes: messages that have more together go in frames of their own
ANSWER_SECONDS = 10.0  # without a word from the other process; then it is taken for dead
LOOK_SECONDS = 1.0  # between looks at whether it has said something
ALIVE = -2  # the question that is answered at once, however long the others take

T = TypeVar("T")


class Question(msgspec.Struct, array_like=True, gc=False):
    """A request that another process shall answer."""

    number: int
    endpoint: int  # its position among the endpoints, which all processes know alike
    name: str
    ticket: str
    body: bytes
    caller: str = ""


class Answered(msgspec.Struct, array_like=True, gc=False):
    """The whole answer."""

    number: int
    status: int
    body: bytes
    media_type: str
    further: dict[str, str]


Answerer = Callable[[Question], Coroutine[Any, Any, Reply]]
Beginner = Callable[[Question, Deliver], bool]
"""Begins to answer where nothing has to be waited for first; else False."""


class Frames(asyncio.Protocol, Generic[T]):
    """Frames in, frames out; a few messages of one turn of the event loop share a frame."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder: msgspec.msgpack.Decoder[list[T]] = msgspec.msgpack.Decoder(list[kind])
        self._encoder = msgspec.msgpack.Encoder()
        self._received = bytearray()  # the beginning of a frame
        self._outgoing: list[object] = []
        self._size = 0  # bytes in them, about
        self.most_bytes = MOST_BYTES  # of the next frame
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's has the methods, not the class

    def data_received(self, data: bytes | bytearray) -> None:
        if self._received:
            self._received += data
            data = self._received
        start, end = 0, len(data)
        while end - start >= 4:
            size = int.from_bytes(data[start : start + 4], "big")
            if size > self.most_bytes:
                self.close()
                return
            if end - start - 4 < size:
                break
            self.on_frame(data[start + 4 : start + 4 + size])
            start += 4 + size
        if data is self._received:
            del self._received[:start]
        elif start < end:
            self._received += data[start:]

    def on_frame(self, frame: bytes | bytearray) -> None:
        for message in self._decoder.decode(frame):
            self.on_message(message)

    def on_message(self, message: T) -> None:
        raise NotImplementedError

    def send(self, message: object, size: int = 0) -> None:
        """A message that holds about so many bytes."""
        if self._outgoing and self._size + size > LARGE:
            self._flush()
        if not self._outgoing:
            asyncio.get_running_loop().call_soon(self._flush)
        self._outgoing.append(message)
        self._size += size
        if len(self._outgoing) >= MOST_HELD:
            self._flush()

    def send_frame(self, frame: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(len(frame).to_bytes(4, "big") + frame)

    def close(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def _flush(self) -> None:
        if self._outgoing:
            self.send_frame(self._encoder.encode(self._outgoing))
            self._outgoing.clear()
            self._size = 0


class Link(Frames[Answered]):
    """The asking end."""

    def __init__(self, secret: bytes) -> None:
        super().__init__(Answered)
        self._secret = secret
        self._numbers = itertools.count()
        self._waiting: dict[int, Deliver] = {}
        self._silent_since: float | None = None  # asked whether it lives, and nothing was heard
        self._watch: asyncio.TimerHandle | None = None
        self.is_open = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.send_frame(self._secret)
        self._look()

    def ask(
        self, endpoint: int, name: str, ticket: str, body: bytes, caller: str, deliver: Deliver
    ) -> None:  # fmt: skip
        """`deliver` gets the reply, or the one that says that the other process is gone."""
        number = next(self._numbers)
        self._waiting[number] = deliver
        self.send(Question(number, endpoint, name, ticket, body, caller), len(body))

    async def answer(self, endpoint: int, name: str, ticket: str, body: bytes, caller: str = "") -> Reply:
        """The same for one who waits."""
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.ask(
            endpoint, name, ticket, body, caller, lambda got: None if reply.done() else reply.set_result(got)
        )
        return await reply

    def on_message(self, message: Answered) -> None:
        self._silent_since = None
        deliver = self._waiting.pop(message.number, None)
        if deliver is not None:
            deliver(Reply(message.status, message.body, message.media_type, message.further))

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._watch is not None:
            self._watch.cancel()
        waiting, self._waiting = self._waiting, {}
        for deliver in waiting.values():
            deliver(respond(_no_answer()))

    def _look(self) -> None:
        """Give up a process that says nothing, such as one that was stopped; an answer may take its time."""
        loop = asyncio.get_running_loop()
        if self._silent_since is not None and loop.time() - self._silent_since > ANSWER_SECONDS:
            self.close()
            return
        if self._waiting and self._silent_since is None:
            self._silent_since = loop.time()
            self.send(Question(next(self._numbers), ALIVE, "", "", b""))
        self._watch = loop.call_later(LOOK_SECONDS, self._look)


class Answering(Frames[Question]):
    """The answering end."""

    def __init__(self, secret: bytes, begin: Beginner, answer: Answerer, links: set[Answering]) -> None:
        super().__init__(Question)
        self._secret, self._begin, self._answer, self._links = secret, begin, answer, links
        self._is_known, self.most_bytes = False, len(secret)  # a stranger may not fill the memory
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._links.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._links.discard(self)

    def on_frame(self, frame: bytes | bytearray) -> None:
        if self._is_known:
            super().on_frame(frame)
        elif hmac.compare_digest(frame, self._secret):
            self._is_known, self.most_bytes = True, MOST_BYTES
        else:
            self.close()

    def on_message(self, message: Question) -> None:
        if message.endpoint == ALIVE:
            self._send_reply(message.number, Reply(204, b""))
            return
        if self._begin(message, partial(self._send_reply, message.number)):
            return
        task = asyncio.get_running_loop().create_task(self._reply(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reply(self, question: Question) -> None:
        self._send_reply(question.number, await self._answer(question))

    def _send_reply(self, number: int, reply: Reply) -> None:
        answered = Answered(number, reply.status, reply.body, reply.media_type, dict(reply.further))
        self.send(answered, len(reply.body))


def _no_answer() -> StorageFailure:
    return StorageFailure(
        "The process that decides for this stream ended before it answered. Whether the request was recorded "
        "is not known; sending it again is safe for votes, contexts, and asks that carry an event_id."
    )

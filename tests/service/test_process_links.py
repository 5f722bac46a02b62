"""Frames between processes: cut anywhere, sent together, refused where they are too long or strangers'."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec
import pytest

from duelwise.service import process_links
from duelwise.service.problems import Reply
from duelwise.service.process_links import Answered, Answering, Frames, Link, Question


class Wire:
    """A transport that keeps what is written, piece by piece."""

    def __init__(self) -> None:
        self.pieces, self.aborted = list[bytes](), False

    def write(self, data: bytes) -> None:
        self.pieces.append(data)

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True


class Numbers(Frames[int]):
    def __init__(self) -> None:
        super().__init__(int)
        self.got: list[int] = []
        self.wire = Wire()
        self.connection_made(cast("asyncio.BaseTransport", self.wire))

    def on_message(self, message: int) -> None:
        self.got.append(message)


def framed(*messages: object) -> bytes:
    """Messages that share a frame."""
    encoded = msgspec.msgpack.encode(messages)
    return len(encoded).to_bytes(4, "big") + encoded


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 100])
def test_frames_are_read_however_they_are_cut(size: int) -> None:
    numbers, many = Numbers(), range(0, 1_000_000, 77_777)
    sent = framed(*many[:3]) + framed() + framed(many[3]) + framed(*many[4:])
    for start in range(0, len(sent), size):
        numbers.data_received(sent[start : start + size])
    assert numbers.got == list(many)
    assert not numbers.wire.aborted


def test_a_frame_that_is_too_long_ends_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_links, "MOST_BYTES", 6)
    numbers = Numbers()
    numbers.data_received(framed(1_000_000))  # of six bytes
    assert (numbers.got, numbers.wire.aborted) == ([1_000_000], False)
    numbers.data_received((7).to_bytes(4, "big"))
    assert numbers.wire.aborted


def test_all_votes_of_a_long_stream_fit_into_a_frame() -> None:
    """A million of them are 350 MB of JSON lines."""
    numbers = Numbers()
    numbers.data_received((350_000_000).to_bytes(4, "big"))
    assert not numbers.wire.aborted


def test_a_few_messages_are_sent_together_and_no_more_than_four() -> None:
    async def sent(count: int) -> list[bytes]:
        numbers = Numbers()
        for number in range(count):
            numbers.send(number)
        await asyncio.sleep(0)
        return numbers.wire.pieces

    assert asyncio.run(sent(3)) == [framed(0, 1, 2)]
    assert asyncio.run(sent(4)) == [framed(0, 1, 2, 3)]
    assert asyncio.run(sent(6)) == [framed(0, 1, 2, 3), framed(4, 5)]


def test_large_messages_go_in_frames_of_their_own() -> None:
    async def sent() -> list[bytes]:
        numbers = Numbers()
        for number, size in enumerate((1, process_links.LARGE, process_links.LARGE, 10, 10)):
            numbers.send(number, size)
        await asyncio.sleep(0)
        return numbers.wire.pieces

    assert asyncio.run(sent()) == [framed(0), framed(1), framed(2), framed(3, 4)]


def connected(link: Frames[Any]) -> Wire:
    wire = Wire()
    link.connection_made(cast("asyncio.BaseTransport", wire))
    return wire


def test_replies_find_who_asked_and_an_end_is_told_to_the_others() -> None:
    async def heard() -> tuple[list[bytes], dict[str, Reply]]:
        link, replies = Link(b"secret"), dict[str, Reply]()
        wire = connected(link)
        for name in ("one", "two"):
            link.ask(3, name, "ticket", b"{}", "ann", lambda reply, name=name: replies.update({name: reply}))
        await asyncio.sleep(0)
        link.data_received(
            framed(Answered(1, 201, b"body", "text/plain", {"a": "b"}), Answered(9, 200, b"", "", {}))
        )
        assert list(replies) == ["two"]
        link.connection_lost(None)
        assert not link.is_open
        return wire.pieces, replies

    (first, piece), replies = asyncio.run(heard())
    questions = Question(0, 3, "one", "ticket", b"{}", "ann"), Question(1, 3, "two", "ticket", b"{}", "ann")
    assert first == (6).to_bytes(4, "big") + b"secret"
    assert piece == framed(*questions)
    assert replies["two"] == Reply(201, b"body", "text/plain", {"a": "b"})
    assert replies["one"].status == 503
    assert b"ended before it answered" in replies["one"].body


@pytest.mark.parametrize(("waited", "gone"), [(0.0, False), (9.9, False), (10.1, True)])
def test_a_process_that_says_nothing_for_ten_seconds_is_given_up(waited: float, gone: bool) -> None:
    async def look() -> bool:
        link = Link(b"secret")
        wire = connected(link)
        link.ask(0, "", "", b"", "", lambda _: None)
        _look_now(link)
        assert link._silent_since is not None
        link._silent_since -= waited
        _look_now(link)
        return wire.aborted

    assert asyncio.run(look()) == gone


def _look_now(link: Link) -> None:
    link._look()
    if link._watch is not None:
        link._watch.cancel()


def test_a_process_whose_answer_takes_long_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The raters of a hundred thousand votes take that long, and all others would be lost with them."""
    monkeypatch.setattr(process_links, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(process_links, "LOOK_SECONDS", 0.01)

    async def answer(question: Question) -> Reply:
        await asyncio.sleep(0.6)
        return Reply(200, question.name.encode())

    async def asked() -> list[bytes]:
        link, replies = Link(b"secret"), list[Reply]()
        answering = Answering(b"secret", lambda *_: False, answer, set())
        there, back = connected(link), connected(answering)
        link.ask(0, "soups", "", b"", "", replies.append)
        while not replies:
            await asyncio.sleep(0.01)
            for wire, end in ((there, answering), (back, link)):
                pieces, wire.pieces = wire.pieces, []
                end.data_received(b"".join(pieces))
            if there.aborted:
                link.connection_lost(None)
        link.connection_lost(None)
        return [reply.body for reply in replies]

    assert asyncio.run(asked()) == [b"soups"]


def test_who_does_not_know_the_secret_is_not_answered() -> None:
    async def answer(question: Question) -> Reply:
        return Reply(200, question.name.encode())

    async def asked(secret: bytes) -> tuple[bool, list[bytes]]:
        met: set[Answering] = set()
        answering = Answering(b"secret", lambda *_: False, answer, met)
        wire = connected(answering)
        assert met == {answering}
        question = framed(Question(5, 0, "soups", "", b""))
        answering.data_received(
            len(secret).to_bytes(4, "big") + secret + (b"" if secret != b"secret" else question)
        )
        await asyncio.sleep(0.01)
        answering.connection_lost(None)
        assert met == set()
        return wire.aborted, wire.pieces

    assert asyncio.run(asked(b"guess")) == (True, [])
    media_type = Reply(200, b"").media_type
    assert asyncio.run(asked(b"secret")) == (False, [framed(Answered(5, 200, b"soups", media_type, {}))])


def test_a_stranger_fills_no_memory() -> None:
    answering, wire = Answering(b"secret", cast("Any", None), cast("Any", None), set()), Wire()
    answering.connection_made(cast("asyncio.BaseTransport", wire))
    answering.data_received((999_999).to_bytes(4, "big"))
    assert wire.aborted

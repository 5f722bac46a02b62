"""Those who wait share a transaction, in the order they came, and not without limit."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import cast

import pytest

from duelwise.errors import Conflict, Overloaded, StorageFailure
from duelwise.receipts import Receipt
from duelwise.service import group_writer
from duelwise.service.group_writer import (
    Group,
    GroupWriter,
    Outcomes,
    QueuedRequest,
    StreamQueue,
    ThreadWriter,
    TurnWriter,
    take,
)
from duelwise.storage import Store
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.operations import Ask, Retract, Tell


class FakeStream:
    """Answers each ticket with itself; waits until it is let go."""

    name, settings = "fake", StreamSettings(context_dim=1)

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.go = threading.Event()
        self.error: Exception | None = None

    def commit(self, operations: list[Retract]) -> list[Receipt | Conflict]:
        self.go.wait(10)
        self.groups.append([operation.ticket for operation in operations])
        if self.error is not None:
            raise self.error
        return [
            Conflict(one.ticket) if one.ticket.startswith("bad") else Receipt(one.ticket, "retracted", True)
            for one in operations
        ]


def queue_of(stream: FakeStream, pool: ThreadPoolExecutor, sizes: list[int], *, limit: int) -> StreamQueue:
    return StreamQueue(cast("DecisionStream", stream), ThreadWriter(pool, sizes.append), limit=limit)


async def perform(queue: StreamQueue, tickets: list[str]) -> Outcomes:
    return await queue.perform([Retract(ticket) for ticket in tickets])


def ticket_of(outcome: Outcomes | BaseException, place: int = 0) -> str:
    """Of the answer at that place."""
    assert not isinstance(outcome, BaseException)
    answer = outcome[place]
    assert isinstance(answer, Receipt)
    return answer.ticket


def run(stream: FakeStream, tickets: list[list[str]], *, limit: int = 100) -> list[Outcomes | BaseException]:
    """Send all requests at once while the stream is busy with the first."""
    sizes: list[int] = []

    async def main() -> list[Outcomes | BaseException]:
        with ThreadPoolExecutor(1) as pool:
            queue = queue_of(stream, pool, sizes, limit=limit)
            work: list[asyncio.Task[Outcomes]] = []
            for each in tickets:
                work.append(asyncio.create_task(perform(queue, each)))
                await asyncio.sleep(0.01)  # the first is under way when the others come
            stream.go.set()
            done = await asyncio.gather(*work, return_exceptions=True)
            assert queue.waiting == 0
            return done

    done = asyncio.run(main())
    assert sizes == [len(group) for group in stream.groups]
    return done


def test_requests_that_wait_are_written_together_in_order() -> None:
    stream = FakeStream()
    outcomes = run(stream, [["a"], ["b", "c"], ["d"]])
    assert stream.groups == [["a"], ["b", "c", "d"]]
    assert [ticket_of(outcomes[at], place) for at, place in ((0, 0), (1, 0), (1, 1), (2, 0))] == list("abcd")


def test_a_refusal_is_its_own() -> None:
    first, second, third = run(FakeStream(), [["a"], ["bad"], ["c"]])
    assert not isinstance(second, BaseException)
    assert isinstance(second[0], Conflict)
    assert (ticket_of(first), ticket_of(third)) == ("a", "c")


def test_a_failing_database_fails_all_who_shared_the_transaction() -> None:
    stream = FakeStream()
    stream.error = StorageFailure("full")
    assert all(isinstance(outcome, StorageFailure) for outcome in run(stream, [["a"], ["b"], ["c"]]))


def test_too_many_are_turned_away_before_they_are_begun() -> None:
    stream = FakeStream()
    outcomes = run(stream, [["a"], ["b", "c"], ["d"], ["e"]], limit=4)
    assert isinstance(outcomes[3], Overloaded)
    assert stream.groups == [["a"], ["b", "c", "d"]]


def test_a_client_that_has_gone_does_not_disturb_the_others() -> None:
    stream = FakeStream()

    async def main() -> Outcomes:
        with ThreadPoolExecutor(1) as pool:
            queue = queue_of(stream, pool, [], limit=9)
            first = asyncio.ensure_future(queue.perform([Retract("a")]))
            await asyncio.sleep(0.01)
            gone = asyncio.ensure_future(queue.perform([Retract("b")]))
            last = asyncio.ensure_future(queue.perform([Retract("c")]))
            await asyncio.sleep(0.05)
            gone.cancel()
            stream.go.set()
            await first
            with pytest.raises(asyncio.CancelledError):
                await gone
            return await last

    assert ticket_of(asyncio.run(main())) == "c"
    assert stream.groups == [["a"], ["b", "c"]]  # what was sent is recorded all the same


def test_votes_come_before_asks_and_each_hears_its_own_answer() -> None:
    queue = SimpleNamespace(requests=deque[QueuedRequest](), stream=SimpleNamespace(name="a"), waiting=6)
    heard: dict[str, Outcomes | Exception] = {}
    ask, tell = Ask([[0.0], [1.0]]), Tell("1-a", "left")
    for name, operations in {
        "ask": [ask],
        "vote": [tell],
        "batch": [tell, ask],
        "late": [tell, tell],
    }.items():
        queue.requests.append(QueuedRequest(operations, partial(heard.__setitem__, name)))
    group = take(cast("StreamQueue", queue))
    assert group.operations == [tell, tell, tell, ask, tell, ask]  # in a batch its own order stays
    answers = [Receipt(str(place), "told", changed=True) for place in range(6)]
    assert group.hand_out(list(answers)) == 6
    assert heard == {"vote": answers[:1], "late": answers[1:3], "ask": answers[3:4], "batch": answers[4:]}


def test_one_who_cannot_be_answered_keeps_nobody_from_an_answer(caplog: pytest.LogCaptureFixture) -> None:
    stream = FakeStream()

    def gone(_: object) -> None:
        raise OSError("gone")

    async def main() -> Outcomes:
        with ThreadPoolExecutor(1) as pool:
            queue = queue_of(stream, pool, [], limit=9)
            queue.submit([Retract("a")], gone)
            last = asyncio.ensure_future(queue.perform([Retract("b")]))
            stream.go.set()
            answered = await asyncio.wait_for(last, 10)
            assert queue.waiting == 0
            return answered

    assert ticket_of(asyncio.run(main())) == "b"
    assert stream.groups == [["a", "b"]]
    assert "could not be handed over" in caplog.text


class FailingTurn:
    """A shared transaction that fails when it is committed, or after that."""

    def __init__(self, *, durable: bool) -> None:
        self._durable = durable

    def lock(self) -> bool:
        return True

    def commit(self) -> None:
        if not self._durable:
            raise StorageFailure("full")

    def finish(self) -> list[Outcomes]:
        raise StorageFailure("lost")


@pytest.mark.parametrize("durable", [False, True])
def test_a_turn_that_fails_fails_every_stream_in_it(durable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        group_writer, "begin_sqlite_turn", lambda store, work, ahead: FailingTurn(durable=durable)
    )

    async def main() -> list[Outcomes | BaseException]:
        with ThreadPoolExecutor(1) as pool:
            writer = TurnWriter(cast("Store", None), pool, lambda size: None)
            try:
                each = [StreamQueue(cast("DecisionStream", FakeStream()), writer, limit=9) for _ in range(3)]
                work = (perform(queue, [name]) for queue, name in zip(each, "abc", strict=True))
                return await asyncio.wait_for(asyncio.gather(*work, return_exceptions=True), 30)
            finally:
                writer.close()

    said = [str(outcome) for outcome in asyncio.run(main())]
    assert said == ["lost" if durable else "full"] * 3


class WaitingTurn:
    """A shared transaction for which the file is not free at first, or never."""

    def __init__(self, *, tries: int) -> None:
        self.tries, self.given_up = tries, False

    def lock(self) -> bool:
        self.tries -= 1
        return self.tries < 0

    def give_up(self) -> None:
        self.given_up = True

    def commit(self) -> None: ...

    def finish(self) -> list[Outcomes]:
        return [[Receipt("by turn", "retracted", True)]]


@pytest.mark.parametrize(("tries", "ticket"), [(0, "by turn"), (5, "by turn"), (10**6, "by thread")])
def test_a_file_that_is_not_free_is_tried_again_and_then_left_to_a_thread(
    tries: int, ticket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = WaitingTurn(tries=tries)
    monkeypatch.setattr(group_writer, "begin_sqlite_turn", lambda store, work, ahead: turn if ahead else None)
    monkeypatch.setattr(group_writer, "LONGEST_TURN", 0.05 if tries > 5 else 10.0)
    stream = FakeStream()
    stream.go.set()

    async def main() -> Outcomes:
        with ThreadPoolExecutor(1) as pool:
            writer = TurnWriter(cast("Store", None), pool, lambda size: None, is_alone=False)
            try:
                queue = StreamQueue(cast("DecisionStream", stream), writer, limit=9)
                return await asyncio.wait_for(perform(queue, ["by thread"]), 30)
            finally:
                writer.close()

    assert ticket_of(asyncio.run(main())) == ticket
    assert turn.given_up == (ticket == "by thread")


class Loop:
    """An event loop that keeps what it is asked to do."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], object]] = []

    def call_soon(self, call: Callable[..., object], *arguments: object) -> None:
        self.soon.append(lambda: call(*arguments))

    def turn(self) -> None:
        due, self.soon = self.soon, []
        for call in due:
            call()


class Held(GroupWriter):
    """Writes nothing by itself: a test says when a transaction is durable."""

    def __init__(self, loop: Loop, sizes: list[int]) -> None:
        super().__init__(cast("Executor", None), sizes.append)
        self.loop, self.groups = loop, list[Group]()

    @property
    def tickets(self) -> list[str]:
        return [cast("Retract", one).ticket for group in self.groups for one in group.operations]

    def _start(self, groups: list[Group], loop: asyncio.AbstractEventLoop) -> None:
        self.groups = groups

    def end(self) -> None:
        groups, self.groups = self.groups, []
        outcomes = [cast("Outcomes", group.operations) for group in groups]
        self._finish(groups, outcomes, cast("asyncio.AbstractEventLoop", self.loop))


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    loop = Loop()
    monkeypatch.setattr(group_writer.asyncio, "get_running_loop", lambda: loop)
    return loop


def submit(queue: StreamQueue, *tickets: str, answered: list[str] | None = None) -> None:
    def deliver(got: Outcomes | Exception) -> None:
        if answered is not None:
            answered.extend(cast("Retract", one).ticket for one in cast("Outcomes", got))

    queue.submit([Retract(ticket) for ticket in tickets], deliver)


def test_what_comes_in_one_turn_of_the_loop_is_written_together_and_the_rest_next(loop: Loop) -> None:
    sizes, answered = list[int](), list[str]()
    writer = Held(loop, sizes)
    queue, other = (StreamQueue(cast("DecisionStream", FakeStream()), writer, limit=9) for _ in range(2))
    submit(queue, "a", "b", answered=answered)
    submit(other, "c", answered=answered)
    assert writer.groups == []  # more may be read in this turn
    loop.turn()
    assert writer.tickets == ["a", "b", "c"]
    submit(queue, "d")
    submit(other, "e")
    assert loop.soon == []  # while a transaction is under way, the next group gathers
    writer.end()
    assert (sizes, answered, queue.waiting) == ([3], ["a", "b", "c"], 1)
    loop.turn()
    assert writer.tickets == ["d", "e"]
    writer.end()
    assert loop.soon == []  # nobody is waited for


def test_a_transaction_takes_so_many_operations_and_at_least_one_request(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_writer, "MOST_AT_ONCE", 3)
    queue = StreamQueue(cast("DecisionStream", FakeStream()), Held(loop, []), limit=99)
    for count in (2, 1, 2, 2, 5):
        submit(queue, *"abcde"[:count])
    sizes: list[int] = []
    while queue.requests:
        sizes.append(len(take(queue).operations))
    assert sizes == [3, 2, 2, 5]

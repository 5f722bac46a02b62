"""Group commit: requests that wait for a stream share its next transaction."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from queue import SimpleQueue
from typing import NamedTuple

from duelwise.errors import DuelwiseError, Overloaded
from duelwise.storage import Store
from duelwise.stream import DecisionStream
from duelwise.stream.group_commit import MOST_AT_ONCE
from duelwise.stream.operations import Answer, Ask, Operation
from duelwise.stream.sqlite_turns import Busy, SqliteTurn, begin_sqlite_turn

log = logging.getLogger("duelwise.service")

QUICK_COMMIT = 0.001  # seconds: one that takes less is waited for on the event loop
REMEMBERED_COMMITS = 8
AGAIN_SECONDS = 0.0003  # before a file that another process writes to is tried again; uvloop: its next turn
LONGEST_TURN = 1.0  # seconds; after that a thread waits for the file

Outcomes = list[Answer | DuelwiseError]
Deliver = Callable[[Outcomes | Exception], None]
"""Is called on the event loop, once: an outcome for each operation, or why there is none."""


class QueuedRequest(NamedTuple):
    """The operations of one request."""

    operations: Sequence[Operation]
    deliver: Deliver


class StreamQueue:
    """A stream and the operations that wait for it, in the order they came."""

    def __init__(self, stream: DecisionStream, writer: GroupWriter, *, limit: int) -> None:
        self.stream = stream
        after = stream.settings.post_names
        self.names = {"features": stream.settings.context_names, "left": after, "right": after}
        self.in_vectors = stream.settings.encoder.in_vectors
        self._writer, self._limit = writer, limit
        self.requests: deque[QueuedRequest] = deque()
        self.waiting = 0  # operations not yet answered

    def perform(self, operations: Sequence[Operation]) -> asyncio.Future[Outcomes]:
        """An answer or an error for each operation, once it is durable."""
        outcomes: asyncio.Future[Outcomes] = asyncio.get_running_loop().create_future()
        self.submit(operations, lambda got: _settle(outcomes, got))
        return outcomes

    def submit(self, operations: Sequence[Operation], deliver: Deliver) -> None:
        """The same for a caller that does not wait."""
        count = len(operations)
        if self.waiting + count > self._limit:
            raise Overloaded(
                f"{self.waiting} operations wait for this stream already; at most {self._limit} may."
            )
        self.requests.append(QueuedRequest(operations, deliver))
        self.waiting += count
        self._writer.added(self)


class Group(NamedTuple):
    """What one queue gives to a transaction."""

    queue: StreamQueue
    waiting: list[QueuedRequest]

    @property
    def operations(self) -> list[Operation]:
        return [one for waiting in self.waiting for one in waiting.operations]

    def hand_out(self, outcomes: Outcomes | Exception) -> int:
        """Answer everyone; returns how many operations there were."""
        start = 0
        for waiting in self.waiting:
            end = start + len(waiting.operations)
            try:
                waiting.deliver(outcomes if isinstance(outcomes, Exception) else outcomes[start:end])
            except Exception:  # the others of the group have their answers all the same
                log.exception("an answer of %s could not be handed over", self.queue.stream.name)
            start = end
        self.queue.waiting -= start
        return start


def _settle(future: asyncio.Future[Outcomes], got: Outcomes | Exception) -> None:
    if future.done():  # its client may have gone
        return
    if isinstance(got, Exception):
        future.set_exception(got)
    else:
        future.set_result(got)


def take(queue: StreamQueue) -> Group:
    """The oldest requests of a queue, as many as fit into one transaction."""
    size = count = 0
    for waiting in queue.requests:
        size += len(waiting.operations)
        if size > MOST_AT_ONCE and count:
            break
        count += 1
    group = [queue.requests.popleft() for _ in range(count)]
    # They came at the same time, so any order will do: votes first, and asks that follow one another.
    group.sort(key=_asks)
    return Group(queue, group)


def _asks(waiting: QueuedRequest) -> bool:
    operations = waiting.operations
    if len(operations) == 1:
        return isinstance(operations[0], Ask)
    return any(isinstance(one, Ask) for one in operations)


class GroupWriter(ABC):
    """Writes what waits in one queue or several, one transaction after another.

    While it writes, the next group gathers; a writer that is idle begins with what can be read at this
    moment.
    """

    def __init__(self, pool: Executor, on_group: Callable[[int], None]) -> None:
        self._pool, self._on_group = pool, on_group
        self._ready: dict[StreamQueue, None] = {}  # queues in which something waits, in the order they came
        self._is_busy = False  # a transaction is under way or about to begin

    def added(self, queue: StreamQueue) -> None:
        self._ready[queue] = None
        if not self._is_busy:
            self._begin_soon(asyncio.get_running_loop())

    def _begin_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_busy = True
        loop.call_soon(self._begin, loop)

    @abstractmethod
    def _start(self, groups: list[Group], loop: asyncio.AbstractEventLoop) -> None:
        """Write the groups; `_finish` is called on the event loop afterwards."""

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        groups = [take(queue) for queue in self._ready]
        self._ready = {queue: None for queue in self._ready if queue.requests}
        self._start(groups, loop)

    def _finish(
        self, groups: list[Group], outcomes: Sequence[Outcomes | Exception],
        loop: asyncio.AbstractEventLoop,
    ) -> None:  # fmt: skip
        self._on_group(sum(group.hand_out(each) for group, each in zip(groups, outcomes, strict=True)))
        self._go_on(loop, answered=sum(len(group.waiting) for group in groups))

    def _go_on(self, loop: asyncio.AbstractEventLoop, *, answered: int = 0) -> None:
        """Begin with what waits, if anything does; so many requests were just answered."""
        self._is_busy = False
        if self._ready:
            self._begin_soon(loop)


class ThreadWriter(GroupWriter):
    """Leaves all of a transaction to a thread, which may wait for the stream's lock."""

    def _start(self, groups: list[Group], loop: asyncio.AbstractEventLoop) -> None:
        self._pool.submit(self._write, groups, loop)

    def _write(self, groups: list[Group], loop: asyncio.AbstractEventLoop) -> None:
        outcomes = [committed(group) for group in groups]
        loop.call_soon_threadsafe(self._finish, groups, outcomes, loop)


class TurnWriter(ThreadWriter):
    """For a store with one writer: all streams share a transaction, and at most its commit needs a thread.

    A second thread that decides would want the interpreter whenever the event loop has it; handing
    it to and fro costs more than deciding, and more than a commit on a quick disk. When a stream has to catch
    up first, or another process is at the file for long, a thread does all of it, and the waiting too. Where
    other processes write as well (not `is_alone`), the file is theirs while this one decides.
    """

    def __init__(
        self, store: Store, pool: Executor, on_group: Callable[[int], None], *, is_alone: bool = True
    ) -> None:
        super().__init__(pool, on_group)
        self._store, self._is_alone = store, is_alone
        self._seconds = QUICK_COMMIT  # that a commit takes, of late; the first is left to the thread
        # One thread that waits for work: a pool would look for one each time, and wake another.
        self._turns: SimpleQueue[tuple[SqliteTurn, list[Group], asyncio.AbstractEventLoop] | None] = (
            SimpleQueue()
        )
        self._committer = threading.Thread(target=self._commit_for_ever, name="duelwise commits", daemon=True)
        self._committer.start()

    def close(self) -> None:
        """End when what was begun is durable."""
        self._turns.put(None)
        self._committer.join()

    def _start(self, groups: list[Group], loop: asyncio.AbstractEventLoop) -> None:
        work = [(group.queue.stream, group.operations) for group in groups]
        try:
            turn = begin_sqlite_turn(self._store, work, ahead=not self._is_alone)
        except Exception:  # whatever it is, each stream by itself will say it, or wait for it
            super()._start(groups, loop)
        else:
            self._lock(turn, groups, loop, loop.time() + LONGEST_TURN)

    def _lock(
        self, turn: SqliteTurn, groups: list[Group], loop: asyncio.AbstractEventLoop, until: float
    ) -> None:
        try:
            if not turn.lock():
                if loop.time() < until:
                    loop.call_later(AGAIN_SECONDS, self._lock, turn, groups, loop, until)
                    return
                turn.give_up()
                raise Busy
        except Exception:  # nothing was recorded
            super()._start(groups, loop)
            return
        if self._seconds < QUICK_COMMIT:
            self._commit(turn, groups, loop, _at_once)
        else:
            self._turns.put((turn, groups, loop))

    def _commit_for_ever(self) -> None:
        while (given := self._turns.get()) is not None:
            self._commit(*given, given[-1].call_soon_threadsafe)

    def _commit(
        self, turn: SqliteTurn, groups: list[Group], loop: asyncio.AbstractEventLoop,
        then: Callable[..., object],
    ) -> None:  # fmt: skip
        """Wait for the disk; `then` calls what follows on the event loop."""
        began = time.perf_counter()
        try:
            turn.commit()
        except Exception as error:
            then(self._finish, groups, [error] * len(groups), loop)
            return
        self._seconds += (time.perf_counter() - began - self._seconds) / REMEMBERED_COMMITS
        then(self._learn, turn, groups, loop)

    def _learn(self, turn: SqliteTurn, groups: list[Group], loop: asyncio.AbstractEventLoop) -> None:
        outcomes: Sequence[Outcomes | Exception]
        try:
            outcomes = turn.finish()
        except Exception as error:  # it is durable, and is folded from the log with the next request
            outcomes = [error] * len(groups)
        self._finish(groups, outcomes, loop)


def _at_once(call: Callable[..., object], *given: object) -> None:
    call(*given)


def committed(group: Group) -> Outcomes | Exception:
    """One stream's group in a transaction of its own."""
    try:
        return group.queue.stream.commit(group.operations)
    except Exception as error:
        return error

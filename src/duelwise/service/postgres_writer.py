"""Group commit on PostgreSQL: the event loop itself waits for the server's answers."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial

from duelwise.service.cores import Cores
from duelwise.service.group_writer import Group, GroupWriter, Outcomes, StreamQueue, committed
from duelwise.storage import Store, told_plainly
from duelwise.storage.postgres_pipeline import PostgresPipeline
from duelwise.stream.group_commit import MOST_AT_ONCE
from duelwise.stream.postgres_turns import PostgresTurn, begin_postgres_turn

LONGEST_PAUSE = 0.005  # seconds
SHORTEST_PAUSE = 0.001  # uvloop counts in milliseconds
NOT_PAUSING = 16  # groups after one for which too few came

Then = Callable[[Exception | None], None]
"""Is called when the answers are here, or with what went wrong."""


class PostgresWriter(GroupWriter):
    """Streams share a transaction, and no round trip of it needs a thread.

    When that cannot be (a lock is not free, a stream has to catch up first, there is no connection), each
    stream has a transaction of its own in a thread, which waits for what there is to wait for. Until
    it is back, the others go on without it.

    A small group costs the server and this process nearly as much as a large one. Where cores are short, a
    pause gives them to others: the next group waits for as many requests as were just answered, at most half
    as long as the last transaction took, in whole milliseconds. Elsewhere it would leave a core idle, and
    nobody waits.
    """

    def __init__(
        self, store: Store, pool: Executor, on_group: Callable[[int], None], cores: Cores | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:  # fmt: skip
        super().__init__(pool, on_group)
        self._store = store
        self._is_connecting = False
        self._away: set[StreamQueue] = set()  # with a thread
        self._cores, self._clock, self._began = cores or Cores(), clock, 0.0
        self._pause: asyncio.TimerHandle | None = None
        self._wanted = 0  # requests that end a pause
        self._not_pausing = 0  # groups that will not wait

    def added(self, queue: StreamQueue) -> None:
        if queue in self._away:
            return
        super().added(queue)
        if self._pause is not None and self._requests() >= self._wanted:
            self._pause.cancel()
            self._begin(asyncio.get_running_loop())

    def _go_on(self, loop: asyncio.AbstractEventLoop, *, answered: int = 0) -> None:
        now = self._clock()
        seconds = min((now - self._began) / 2, LONGEST_PAUSE)
        self._wanted = self._requests() + answered
        if self._not_pausing:
            self._not_pausing -= 1
        elif (
            answered and self._ready and seconds >= SHORTEST_PAUSE and self._wanted <= MOST_AT_ONCE
            and self._cores.are_short(now)
        ):  # fmt: skip
            self._pause = loop.call_later(math.ceil(1000 * seconds) / 1000, self._end_pause, loop)
            return
        super()._go_on(loop)

    def _end_pause(self, loop: asyncio.AbstractEventLoop) -> None:
        """They did not come."""
        self._not_pausing = NOT_PAUSING
        self._begin(loop)

    def _requests(self) -> int:
        return sum(len(queue.requests) for queue in self._ready)

    def close(self) -> None:
        """What was begun ends with the pool's threads, or with the store's connections."""
        if self._pause is not None:
            self._pause.cancel()

    def _start(self, groups: list[Group], loop: asyncio.AbstractEventLoop) -> None:
        self._pause, self._began = None, self._clock()
        try:
            turn = begin_postgres_turn(
                self._store, [(group.queue.stream, group.operations) for group in groups]
            )
        except Exception:  # whatever it is, each stream by itself will say it, or wait for it
            self._by_threads(groups, loop)
        else:
            then = partial(self._decide, turn, groups, loop)
            if turn.asks:
                wait_for(turn.connection, loop, then)
            else:
                then(None)

    def _decide(
        self, turn: PostgresTurn, groups: list[Group], loop: asyncio.AbstractEventLoop,
        error: Exception | None,
    ) -> None:  # fmt: skip
        try:
            if error is not None:
                raise error
            turn.decide()
        except Exception:
            turn.give_up()
            self._by_threads(groups, loop)
        else:
            wait_for(turn.connection, loop, partial(self._learn, turn, groups, loop))

    def _learn(
        self, turn: PostgresTurn, groups: list[Group], loop: asyncio.AbstractEventLoop,
        error: Exception | None,
    ) -> None:  # fmt: skip
        outcomes: Sequence[Outcomes | Exception]
        if error is not None:
            turn.give_up()
            if not turn.connection.is_lost:  # then nothing was recorded
                self._by_threads(groups, loop)
                return
            outcomes = [_told(error)] * len(groups)
        else:
            try:
                outcomes = turn.finish()
            except Exception as failure:  # it is durable, and is folded from the log with the next request
                outcomes = [failure] * len(groups)
        self._finish(groups, outcomes, loop)

    def _by_threads(self, groups: list[Group], loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_connecting:
            self._is_connecting = True
            self._pool.submit(self._connect)
        for group in groups:
            self._ready.pop(group.queue, None)  # more may wait in it than one transaction takes
            self._away.add(group.queue)
            self._pool.submit(self._write_alone, group, loop)
        self._go_on(loop)

    def _write_alone(self, group: Group, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon_threadsafe(self._come_back, group, committed(group))

    def _come_back(self, group: Group, outcomes: Outcomes | Exception) -> None:
        self._on_group(group.hand_out(outcomes))
        self._away.remove(group.queue)
        if group.queue.requests:
            self.added(group.queue)

    def _connect(self) -> None:
        try:
            self._store.open_pipeline()
        finally:
            self._is_connecting = False


def wait_for(pipeline: PostgresPipeline, loop: asyncio.AbstractEventLoop, then: Then) -> None:
    """Call `then` when all that was posted is answered, at the latest when the connection's patience ends."""

    def step() -> None:
        error: Exception | None = None
        try:
            if not pipeline.receive():
                if not pipeline.is_unsent:
                    loop.remove_writer(socket)
                return
        except Exception as raised:
            error = raised
        end(error)

    def too_late() -> None:
        try:
            pipeline.give_up()
        except Exception as error:
            end(error)

    def end(error: Exception | None) -> None:
        loop.remove_reader(socket)
        loop.remove_writer(socket)
        timer.cancel()
        then(error)

    socket = pipeline.fileno()
    timer = loop.call_later(pipeline.patience, too_late)
    loop.add_reader(socket, step)
    if pipeline.is_unsent:
        loop.add_writer(socket, step)


def _told(error: Exception) -> Exception:
    try:
        with told_plainly():
            raise error
    except Exception as plainly:
        return plainly

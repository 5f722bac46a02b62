"""Group commit: requests that wait for one stream share its next transaction."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import NamedTuple

from duelwise.errors import DuelwiseError, Overloaded
from duelwise.stream import DecisionStream
from duelwise.stream.operations import Answer, Operation

GROUP = 512  # operations of one transaction
PAUSE = 0.003  # seconds that a group waits at most for as many operations as the last one had

Outcomes = list[Answer | DuelwiseError]


class _Waiting(NamedTuple):
    operations: Sequence[Operation]
    outcomes: asyncio.Future[Outcomes]


class Lane:
    """A stream and the operations that wait for it, in the order they came.

    While one group is being written, the next one gathers: the more clients, the more
    operations share one commit. On a fast disk a group would be written before the answers of
    the last have brought new requests, so under load a group waits a moment for them: a
    transaction costs as much work as several operations.
    """

    def __init__(
        self, stream: DecisionStream, *, limit: int, pool: Executor, on_group: Callable[[int], None]
    ) -> None:
        self.stream = stream
        self._limit, self._pool, self._on_group = limit, pool, on_group
        self._queue: deque[_Waiting] = deque()
        self._worker: asyncio.Task[None] | None = None
        self.waiting = 0  # operations not yet answered
        self._wanted = 0  # how many are waited for,
        self._enough: asyncio.Future[None] | None = None  # and what is told when they are there

    async def perform(self, operations: Sequence[Operation]) -> Outcomes:
        """An answer or an error for each operation, once it is durable."""
        if self.waiting + len(operations) > self._limit:
            raise Overloaded(
                f"{self.waiting} operations wait for this stream already; at most {self._limit} may."
            )
        waiting = _Waiting(operations, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self.waiting += len(operations)
        if self._enough is not None and self.waiting >= self._wanted and not self._enough.done():
            self._enough.set_result(None)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await waiting.outcomes

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        operations: list[Operation] = []
        while self._queue:
            group = self._next_group()
            operations = [operation for waiting in group for operation in waiting.operations]
            self._on_group(len(operations))
            try:
                outcomes = await loop.run_in_executor(self._pool, self.stream.run, operations)
            except Exception as error:
                for waiting in group:
                    if not waiting.outcomes.done():  # its client may have gone
                        waiting.outcomes.set_exception(error)
            else:
                _hand_out(group, outcomes)
            self.waiting -= len(operations)
            if len(operations) > 1:
                await self._gather(len(operations))
        self._worker = None

    async def _gather(self, wanted: int) -> None:
        """Wait a moment until that many operations are there."""
        loop = asyncio.get_running_loop()
        self._wanted, self._enough = wanted, loop.create_future()
        late = loop.call_later(PAUSE, self._stop_waiting, self._enough)
        if self.waiting < wanted:
            await self._enough
        late.cancel()
        self._enough = None

    @staticmethod
    def _stop_waiting(enough: asyncio.Future[None]) -> None:
        if not enough.done():
            enough.set_result(None)

    def _next_group(self) -> list[_Waiting]:
        group = [self._queue.popleft()]
        size = len(group[0].operations)
        while self._queue and size + len(self._queue[0].operations) <= GROUP:
            group.append(self._queue.popleft())
            size += len(group[-1].operations)
        return group


def _hand_out(group: Sequence[_Waiting], outcomes: Outcomes) -> None:
    start = 0
    for waiting in group:
        end = start + len(waiting.operations)
        if not waiting.outcomes.done():
            waiting.outcomes.set_result(outcomes[start:end])
        start = end

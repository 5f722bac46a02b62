"""One transaction over several streams of a SQLite file, in steps none of which waits for another process.

A file has one writer at a time, so the requests of all its streams can share one commit. An event
loop takes the quick steps itself and leaves the commit, which waits for the disk, to a thread: the
interpreter then never has two threads that want it at once.

    turn = begin_turn(store, [(stream, operations), ...])   # event loop
    turn.commit()                                           # thread
    answers = turn.finish()                                 # event loop
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from duelwise.errors import DuelwiseError
from duelwise.storage import Store, told_plainly
from duelwise.storage.quick import Quick
from duelwise.stream.decision_stream import DecisionStream
from duelwise.stream.operations import Answer, Operation
from duelwise.stream.replica import Joined, Replica

Group = tuple[DecisionStream, Sequence[Operation]]
Answers = list[Answer | DuelwiseError]


class Busy(Exception):
    """Someone else is at the file or at a stream; `DecisionStream.commit` waits for them."""


class Turn:
    """Requests that are decided and sent to the database, and not yet committed."""

    def __init__(self, connection: Quick, joined: list[Joined], answers: list[Answers]) -> None:
        self._connection, self._joined, self._answers = connection, joined, answers

    def commit(self) -> None:
        """Make it durable. After an error nothing is recorded, and `finish` must not be called."""
        try:
            with told_plainly():
                self._connection.commit()
        except BaseException:
            _roll_back(self._connection, [one.replica for one in self._joined])
            raise

    def finish(self) -> list[Answers]:
        """Learn from what is durable now; the answers of each group."""
        finish(self._joined)
        return self._answers


def begin_turn(store: Store, groups: Sequence[Group]) -> Turn:
    """Decide each group and send what follows; `Busy` when that would mean to wait."""
    held = hold(groups)
    connection: Quick | None = None
    try:
        connection = store.begin_at_once()
        if connection is None:
            raise Busy
        joined: list[Joined] = []
        answers: list[Answers] = []
        for stream, operations in groups:
            one = stream.replica.join(store.writer(connection, stream.replica.row.id))
            if one is None:
                raise Busy
            joined.append(one)
            stream.replica.sweep(one.batch)
            answers.append(one.batch.decide(operations))
            one.writer.flush()
        return Turn(connection, joined, answers)
    except BaseException:
        _roll_back(connection, held)
        raise


def _roll_back(connection: Quick | None, held: Sequence[Replica]) -> None:
    try:
        if connection is not None:
            connection.rollback()
    finally:
        let_go(held)


def hold(groups: Sequence[Group]) -> list[Replica]:
    """The locks of these streams, all of them or none."""
    held: list[Replica] = []
    for stream, _ in groups:
        if not stream.replica.lock.acquire(blocking=False):
            let_go(held)
            raise Busy
        held.append(stream.replica)
    return held


def finish(joined: Sequence[Joined]) -> None:
    """Each stream learns from its part of a transaction that is durable now, and can be used again."""
    with contextlib.ExitStack() as held:
        for one in joined:
            held.callback(one.replica.lock.release)
        for one in joined:
            one.replica.finish_joined(one)


def let_go(held: Sequence[Replica]) -> None:
    """Nothing of the transaction is recorded; its streams can be used again."""
    for replica in held:
        replica.give_up_joined()
        replica.lock.release()

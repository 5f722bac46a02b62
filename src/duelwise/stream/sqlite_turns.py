"""One transaction over several streams of a SQLite file, in steps none of which waits for another process.

A file has one writer at a time, so the requests of all its streams can share one commit. An event
loop takes the steps itself, and leaves a commit that waits for the disk to a thread: the
interpreter then never has two threads that want it at once.

    turn = begin_sqlite_turn(store, [(stream, operations), ...])   # decide
    while not turn.lock():                                         # another process writes: try again
        ...
    turn.commit()                                                  # or a thread does, if the disk is slow
    answers = turn.finish()

With `ahead`, the file is not locked before everything is decided: several processes, each with streams of its
own, decide at the same time. Should somebody else have lengthened a stream meanwhile, the database refuses
what follows, and nothing is recorded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence

from duelwise.errors import DuelwiseError
from duelwise.storage import Store, Writer, told_plainly
from duelwise.storage.sqlite_connection import SqliteConnection
from duelwise.storage.writer import flush_all
from duelwise.stream.decision_stream import DecisionStream
from duelwise.stream.operations import Answer, Operation
from duelwise.stream.replica import Joined, Replica

Group = tuple[DecisionStream, Sequence[Operation]]
Answers = list[Answer | DuelwiseError]


class Busy(Exception):
    """Someone else is at the file or at a stream; `DecisionStream.commit` waits for them."""


class SqliteTurn:
    """Requests that are decided, and not yet committed. When a step raises, nothing is recorded, and the
    turn is over."""

    def __init__(self, connection: SqliteConnection, *, is_locked: bool) -> None:
        self._connection, self._is_locked = connection, is_locked
        self._joined: list[Joined] = []
        self._answers: list[Answers] = []

    def decide(self, replica: Replica, writer: Writer, operations: Sequence[Operation]) -> None:
        """Decide one group; `Busy` when something else has to be done first."""
        one = replica.join(writer)
        if one is None:
            raise Busy
        self._joined.append(one)
        replica.sweep(one.batch)
        self._answers.append(one.batch.decide(operations))

    def lock(self) -> bool:
        """Take the file's lock and send what follows; False when another process has it."""
        with self._ending():
            if not self._is_locked and not self._connection.begin():
                return False
            flush_all([one.writer for one in self._joined])
            return True

    def commit(self) -> None:
        """Make it durable."""
        with self._ending():
            self._connection.commit()

    def finish(self) -> list[Answers]:
        """Learn from what is durable now; the answers of each group."""
        finish(self._joined)
        return self._answers

    def give_up(self) -> None:
        """Nothing of this becomes durable."""
        _roll_back(self._connection, [one.replica for one in self._joined])

    @contextlib.contextmanager
    def _ending(self) -> Generator[None]:
        """An error ends the turn."""
        try:
            with told_plainly():
                yield
        except BaseException:
            self.give_up()
            raise


def begin_sqlite_turn(store: Store, groups: Sequence[Group], *, ahead: bool = False) -> SqliteTurn:
    """Decide each group; `Busy` when that would mean to wait."""
    held = hold(groups)
    connection: SqliteConnection | None = None
    try:
        connection = store.sqlite_connection()
        if connection.is_in_use or (not ahead and not connection.begin()):
            connection = None
            raise Busy
        turn = SqliteTurn(connection, is_locked=not ahead)
        writers = store.writers(connection, [replica.row.id for replica in held])
        for replica, writer, (_, operations) in zip(held, writers, groups, strict=True):
            turn.decide(replica, writer, operations)
        return turn
    except BaseException:
        _roll_back(connection, held)
        raise


def _roll_back(connection: SqliteConnection | None, held: Sequence[Replica]) -> None:
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

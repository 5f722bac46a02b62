"""One transaction over several streams in PostgreSQL, in steps none of which waits for the server.

    turn = begin_postgres_turn(store, [(stream, operations), ...])  # asks for locks and tickets, if it has to
    ...                                                             # until turn.connection has received them
    turn.decide()                                                   # sends what follows, and the commit
    ...                                                             # until that is received too
    answers = turn.finish()

All steps are an event loop's, which serves others meanwhile. When a step raises, `give_up` ends the turn. No
process has to wait for another with the lock of a stream in its hand: a lock that is not free is an error.

Where nobody else has written to the streams of late and every ticket is known, there is nothing to ask for:
what follows is sent at once, and the database refuses it if a stream does not stand where it is thought to.
"""

from __future__ import annotations

from collections.abc import Sequence

from duelwise.storage import Store, StreamRow, Writer
from duelwise.storage.postgres_pipeline import PostgresPipeline
from duelwise.storage.writer import Locking, flush_all
from duelwise.stream.operations import Operation
from duelwise.stream.replica import Joined, Replica
from duelwise.stream.sqlite_turns import Answers, Busy, Group, finish, hold, let_go
from duelwise.stream.transaction import names_of, rounds_of


class PostgresTurn:
    """Requests whose streams are being locked, then decided, then committed."""

    def __init__(
        self, connection: PostgresPipeline, groups: Sequence[Group], held: Sequence[Replica]
    ) -> None:
        self.connection = connection
        self._groups, self._held = groups, held
        self._known = [_known(stream.replica, asked) for stream, asked in groups]
        self._locking: list[Locking] = []
        self.asks = any(row is None for row in self._known)  # something that has to be received first
        if self.asks:
            self._locking = [_locking(connection, stream.replica, asked) for stream, asked in groups]
            connection.post()
        self._joined: list[Joined] = []
        self._answers: list[Answers] = []

    def decide(self) -> None:
        """Decide each group and send what follows; `Busy` when that would mean to wait."""
        for (stream, operations), writer in zip(self._groups, self._writers(), strict=True):
            one = stream.replica.join(writer)
            if one is None or one.batch.needs_history(operations):
                raise Busy
            self._joined.append(one)
        for (_, operations), one in zip(self._groups, self._joined, strict=True):
            self._answers.append(one.batch.decide(operations))
        flush_all([one.writer for one in self._joined])
        self.connection.send("COMMIT")
        self.connection.post()
        for one in self._joined:  # while the server is at it
            one.batch.transaction.fold_so_far()

    def _writers(self) -> list[Writer]:
        if self.asks:
            return [locking.writer() for locking in self._locking]
        return [Writer(self.connection, row) for row in self._known if row is not None]

    def finish(self) -> list[Answers]:
        """Learn from what is durable now; the answers of each group."""
        self.connection.release()
        finish(self._joined)
        return self._answers

    def give_up(self) -> None:
        """Nothing of this becomes durable, unless the connection was lost while it was being committed."""
        try:
            self.connection.roll_back()
        finally:
            let_go(self._held)


def begin_postgres_turn(store: Store, groups: Sequence[Group]) -> PostgresTurn:
    """Ask for every stream's lock; `Busy` when something else has to be waited for or done first."""
    held = hold(groups)
    try:
        connection = None if any(replica.sweep_is_due for replica in held) else store.begin_pipeline()
        if connection is None:
            raise Busy
    except BaseException:
        let_go(held)
        raise
    try:
        return PostgresTurn(connection, groups, held)
    except BaseException:
        try:
            connection.roll_back()
        finally:
            let_go(held)
        raise


def _known(replica: Replica, operations: Sequence[Operation]) -> StreamRow | None:
    """Where a stream stands, if it can be decided without asking."""
    if names_of(operations) or replica.unknown_tickets(rounds_of(operations)):
        return None
    return replica.ahead()


def _locking(connection: PostgresPipeline, replica: Replica, operations: Sequence[Operation]) -> Locking:
    rounds = replica.unknown_tickets(rounds_of(operations))
    return Locking(connection, replica.row.id, rounds, names_of(operations), at_once=True)

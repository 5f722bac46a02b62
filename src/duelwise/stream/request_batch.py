"""One transaction's worth of requests: check each ticket's state, append what follows.

Before each choice the events appended so far are folded, so that an ask knows of the duels asked for just
before it. Asks that follow one another are chosen in one compiled call, to the same pairs and floats.
Should the transaction fail, the state is ahead of the log and is loaded again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import cast

from duelwise.errors import DuelwiseError
from duelwise.storage import TicketRow, Writer
from duelwise.storage.rows import TicketPlace
from duelwise.stream import events, tickets
from duelwise.stream.asking import Asking
from duelwise.stream.choosing import Chooser
from duelwise.stream.events import Event
from duelwise.stream.feedback import Feedback
from duelwise.stream.lifecycle import LATE_CONTEXT
from duelwise.stream.operations import Answer, Ask, Observe, Operation, Retract, Tell
from duelwise.stream.stream_state import StreamState
from duelwise.stream.transaction import Transaction, taken


class Batch:
    """Requests decided inside one transaction."""

    def __init__(
        self, writer: Writer, folded: StreamState, chooser: Chooser, *, at: float,
        recent: Mapping[int, TicketRow],
    ) -> None:  # fmt: skip
        self.transaction = Transaction(writer, folded, at=at, recent=recent)
        self._asking, self._feedback = Asking(self.transaction, chooser), Feedback(self.transaction)

    def decide(self, operations: Iterable[Operation]) -> list[Answer | DuelwiseError]:
        """One answer for each request, in order; a refused one leaves no trace."""
        operations = list(operations)
        ranged = self.transaction.folded.due_ranges()
        if ranged is not None:
            self.record(ranged)
        self.transaction.look_up(operations)
        answers: list[Answer | DuelwiseError] = []
        for is_ask, some in groupby(operations, lambda one: isinstance(one, Ask)):
            if is_ask:
                answers += self._asking.ask_all(cast("list[Ask]", list(some)))
            else:
                answers += [taken(self._decide, one) for one in some]
        return answers

    def needs_history(self, operations: Sequence[Operation]) -> bool:
        """Whether deciding these would read events: parts of a context are merged with those before."""
        observed = [operation for operation in operations if isinstance(operation, Observe)]
        if not observed:
            return False
        self.transaction.look_up(observed)
        found = [self.transaction.look_at(operation.ticket) for operation in observed]
        return any(one is not None and (one.observed_seq or one.state in LATE_CONTEXT) for one in found)

    def _decide(self, operation: Operation) -> Answer:
        if isinstance(operation, Observe):
            return self._feedback.observe(operation)
        if isinstance(operation, Tell):
            return self._feedback.tell(operation)
        if isinstance(operation, Retract):
            return self._feedback.retract(operation)
        assert not isinstance(operation, Ask)  # they are decided together
        return self._asking.import_past(operation)

    def expire(self, *, asked_before: float, after: TicketPlace, limit: int) -> TicketPlace | None:
        """Close tickets that waited too long, oldest first; returns where to go on, if there is more.

        One whose row contradicts the log is passed over.
        """
        overdue = self.transaction.writer.overdue(asked_before=asked_before, after=after, limit=limit)
        for ticket in self.transaction.sound(overdue):
            self.transaction.advance(ticket, events.Expired(ticket.round))
        return overdue[-1].place if len(overdue) == limit else None

    def retract_source(self, source: str, *, after: int, limit: int) -> tuple[int, int | None]:
        """Retract votes of one source, from the round after `after` on.

        Returns how many, and the round to go on after; None when there are no more.
        """
        found = self.transaction.writer.from_source(source, after=after, limit=limit + 1)
        more = len(found) > limit
        count = 0
        for ticket in self.transaction.sound(found[:limit]):
            own = [vote for vote in tickets.votes_of(ticket) if vote.source == source]
            if own:
                self._feedback.retract_votes(ticket, own, more=more)
            count += len(own)
        return count, found[limit - 1].round if more else None

    def record(self, *happened: Event) -> None:
        """Record what concerns no duel."""
        for event in happened:
            self.transaction.append(event)

    def impute(self, *, asked_before: float, after: TicketPlace, limit: int) -> TicketPlace | None:
        """Learn from votes whose context did not come in time; returns as `expire` does."""
        return self._feedback.impute_overdue(asked_before=asked_before, after=after, limit=limit)

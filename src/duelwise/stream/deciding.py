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
from duelwise.storage.rows import NO_ROUND, Place
from duelwise.stream import events, tickets
from duelwise.stream.asking import Asking
from duelwise.stream.candidates import check_name
from duelwise.stream.choosing import Chooser
from duelwise.stream.events import (
    ClockConfirmed,
    ItemsPut,
    ItemsWithdrawn,
    Projected,
    Recorded,
    SourceHeld,
    SourceReleased,
    SourcesWeighed,
)
from duelwise.stream.folded import Folded
from duelwise.stream.hearing import Hearing
from duelwise.stream.lifecycle import LATE_CONTEXT
from duelwise.stream.operations import Answer, Ask, Observe, Operation, Retract, Tell
from duelwise.stream.transaction import Transaction, taken


class Batch:
    """Requests decided inside one transaction."""

    def __init__(
        self, writer: Writer, folded: Folded, chooser: Chooser, *, at: float,
        recent: Mapping[int, TicketRow],
    ) -> None:  # fmt: skip
        self._record = Transaction(writer, folded, at=at, recent=recent)
        self._asking, self._hearing = Asking(self._record, chooser), Hearing(self._record)

    @property
    def appended(self) -> list[Recorded]:
        """What was recorded, in order."""
        return self._record.appended

    @property
    def moved(self) -> dict[int, TicketRow]:
        """The tickets that were moved on, by round."""
        return self._record.moved

    @property
    def folded_upto(self) -> int:
        """How many of these the state already knows of."""
        return self._record.folded_upto

    @property
    def is_ahead(self) -> bool:
        """Whether the state may know of what is not durable yet."""
        return self._record.is_ahead

    def decide(self, operations: Iterable[Operation]) -> list[Answer | DuelwiseError]:
        """One answer for each request, in order; a refused one leaves no trace."""
        operations = list(operations)
        ranged = self._record.folded.due_ranges()
        if ranged is not None:
            self._record.append(ranged, NO_ROUND, None)
        self._record.look_up(operations)
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
        self._record.look_up(observed)
        found = [self._record.look_at(operation.ticket) for operation in observed]
        return any(one is not None and (one.observed_seq or one.state in LATE_CONTEXT) for one in found)

    def fold(self) -> None:
        """Let the state know of everything that was recorded, before it is durable."""
        self._record.fold_so_far()

    def _decide(self, operation: Operation) -> Answer:
        if isinstance(operation, Observe):
            return self._hearing.observe(operation)
        if isinstance(operation, Tell):
            return self._hearing.tell(operation)
        if isinstance(operation, Retract):
            return self._hearing.retract(operation)
        assert not isinstance(operation, Ask)  # they are decided together
        return self._asking.import_past(operation)

    def expire(self, *, asked_before: float, after: Place, limit: int) -> Place | None:
        """Close tickets that waited too long, oldest first; returns where to go on, if there is more.

        One whose row contradicts the log is passed over.
        """
        overdue = self._record.writer.overdue(asked_before=asked_before, after=after, limit=limit)
        for ticket in self._record.sound(overdue):
            self._record.advance(ticket, events.Expired(ticket.round))
        return overdue[-1].place if len(overdue) == limit else None

    def retract_source(self, source: str, *, after: int, limit: int) -> tuple[int, int | None]:
        """Retract votes of one source, from the round after `after` on.

        Returns how many, and the round to go on after; None when there are no more.
        """
        found = self._record.writer.from_source(source, after=after, limit=limit + 1)
        more = len(found) > limit
        count = 0
        for ticket in self._record.sound(found[:limit]):
            own = [vote for vote in tickets.votes_of(ticket) if vote.source == source]
            if own:
                self._hearing.retract_votes(ticket, own, more=more)
            count += len(own)
        return count, found[limit - 1].round if more else None

    def confirm_clock(self) -> None:
        """Record that the time of this transaction is right."""
        self._record.append(ClockConfirmed(), NO_ROUND, None)

    def put_items(self, put: ItemsPut) -> None:
        """Record items that are new or have changed."""
        self._record.append(put, NO_ROUND, None)

    def keep_projections(self, fitted: Sequence[Projected]) -> None:
        """Record projections that were fitted to items."""
        for projected in fitted:
            self._record.append(projected, NO_ROUND, None)

    def withdraw_items(self, ids: Sequence[str]) -> None:
        """Record that these items are offered no longer."""
        self._record.append(ItemsWithdrawn(list(ids)), NO_ROUND, None)

    def hold_source(self, source: str) -> bool:
        """Record that a source is held back; False when it is already."""
        check_name("source", source)
        if source in self._record.folded.left_out.sources:
            return False
        self._record.append(SourceHeld(source), NO_ROUND, None)
        return True

    def release_source(self, source: str) -> bool:
        """Record that a source counts again; False when it does already."""
        check_name("source", source)
        if source not in self._record.folded.left_out.sources:
            return False
        self._record.append(SourceReleased(source), NO_ROUND, None)
        return True

    def weigh_sources(self, distrusted: Sequence[str], *, votes: int, changed: bool) -> None:
        """Record a judgement of all sources."""
        self._record.append(SourcesWeighed(list(distrusted), votes, changed), NO_ROUND, None)

    def impute(self, *, asked_before: float, after: Place, limit: int) -> Place | None:
        """Learn from votes whose context did not come in time; returns as `expire` does."""
        return self._hearing.impute_overdue(asked_before=asked_before, after=after, limit=limit)

"""What one transaction has recorded so far: its tickets, its events, and the fold that follows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from duelwise.errors import Conflict, Damaged, DuelExpired, DuelwiseError, TicketDamaged
from duelwise.receipts import Receipt
from duelwise.storage import OPEN_STATES, EventRow, TicketRow, Writer
from duelwise.stream import events, tickets
from duelwise.stream.candidates import is_name
from duelwise.stream.events import Asked, Event, Recorded, encode, kind_of
from duelwise.stream.operations import Answer, Ask, Import, Operation
from duelwise.stream.stream_state import StreamState

T = TypeVar("T")


class Transaction:
    """Tickets looked up and moved on, events appended; all or nothing of it becomes durable."""

    def __init__(
        self, writer: Writer, folded: StreamState, *, at: float, recent: Mapping[int, TicketRow]
    ) -> None:
        self.writer, self.folded, self.at, self._recent = writer, folded, at, recent
        self.settings = folded.settings
        self.now: float = folded.ledger.time.now(at)
        self.named: dict[str, EventRow] = {}  # events of the ids that are spoken of
        self.appended: list[Recorded] = []
        self.folded_upto = 0  # of `appended`: what the next choice has to know of
        self.is_ahead = False  # the state may know of what is not durable yet
        self.moved: dict[int, TicketRow] = {}  # tickets as they are now, by round
        self._tickets: dict[int, TicketRow] = {}  # as they were

    def look_up(self, operations: Iterable[Operation]) -> None:
        """Fetch every ticket and event id that is spoken of, in one query each, unless it is known."""
        operations = list(operations)
        rounds, names = rounds_of(operations), names_of(operations)
        recent = self._recent
        self._tickets = {round: recent[round] for round in rounds if round in recent}
        unknown = rounds.difference(self._tickets)
        if unknown:
            self._tickets |= self.writer.tickets(unknown)
        if names:
            self.named = self.writer.named(names)

    def look_at(self, ticket: str) -> TicketRow | None:
        """The row of the round that a ticket names."""
        number = tickets.number_of(ticket)
        return None if number is None else self.moved.get(number) or self._tickets.get(number)

    def find(self, ticket: str) -> TicketRow:
        """The row of a ticket, which must say what the log says."""
        found = self.look_at(ticket)
        if found is None or tickets.write(found.round, found.tag) != ticket:
            raise tickets.unknown(ticket)
        if found.round not in self.moved and not self.sound([found]):
            raise TicketDamaged(
                f"The row of ticket {ticket} says that it was {found.state}, and the log says otherwise. "
                "Nothing was recorded. `duelwise repair` writes the tickets anew from the log."
            )
        return found

    def sound(self, found: Iterable[TicketRow]) -> list[TicketRow]:
        """Those whose rows say what the log says; `verify` names the others.

        What this transaction has moved on is not as its row says any more.
        """
        agrees, moved = self.folded.ledger.agrees_with, self.moved
        return [one for one in found if one.round not in moved and agrees(one.round, one.state)]

    def check_open(self, ticket: TicketRow, name: str, what: str) -> None:
        """A ticket past its time is closed here and now, whether or not a sweep has come by."""
        limit = self.settings.vote_ttl_seconds
        is_late = self.now - ticket.asked_at > limit
        if ticket.state in OPEN_STATES and is_late:
            ticket = self.advance(ticket, events.Expired(ticket.round))
        has_some = ticket.state == "told" and len(tickets.votes_of(ticket)) < ticket.wanted
        if ticket.state == "expired" or (is_late and has_some):
            raise DuelExpired(
                f"Ticket {name} has expired: this stream waits {limit:g} seconds for a vote and its context. "
                f"The {what} was not recorded; ask again for a new duel."
            )
        if ticket.state not in OPEN_STATES:
            raise Conflict(f"Ticket {name} was {ticket.state}; it takes no {what} any more.")

    def fold_so_far(self) -> None:
        """A choice knows all that this transaction has recorded before it, the duels just asked for too."""
        following = self.appended[self.folded_upto :]
        if following:
            self.folded_upto, self.is_ahead = len(self.appended), True
            self.folded.apply_all(following)

    def take_served(self) -> None:
        """What was appended since the last fold are duels that the learner has chosen and served already."""
        self.folded.take_served(self.appended[self.folded_upto :])
        self.folded_upto = len(self.appended)

    def append_asked(self, asked: Asked, event_id: str | None) -> TicketRow:
        """Record a new duel."""
        ticket = self.advance(None, asked, event_id)
        if event_id is not None:
            self.named[event_id] = self.writer.event(ticket.asked_seq)
        return ticket

    def advance(self, ticket: TicketRow | None, event: Event, event_id: str | None = None) -> TicketRow:
        """Record what happened to a ticket, and move it on."""
        after = tickets.after(ticket, self.append(event, event_id))
        assert after is not None  # every caller has looked at the ticket's state
        self.moved[after.round] = after
        self.writer.put(after)
        return after

    def append(self, event: Event, event_id: str | None = None) -> Recorded:
        """Record an event."""
        seq = self.writer.append(
            kind_of(event), encode(event), at=self.at, round=event.round, event_id=event_id
        )
        recorded = Recorded(seq, self.at, event, event_id)
        self.appended.append(recorded)
        return recorded

    def served(self, event_id: str) -> Asked:
        """The duel of a request that came before."""
        asked = events.decode(self.named[event_id]).event
        assert isinstance(asked, Asked)  # only asks carry an event_id
        return asked


def taken(decide: Callable[[T], Answer], operation: T) -> Answer | DuelwiseError:
    """The answer to one request, or why it was refused; damage ends the transaction."""
    try:
        return decide(operation)
    except Damaged:
        raise
    except DuelwiseError as refusal:
        return refusal


def rounds_of(operations: Iterable[Operation]) -> set[int]:
    """Of the tickets that are spoken of."""
    spoken = (one.ticket for one in operations if not isinstance(one, Ask | Import))
    return {number for number in map(tickets.number_of, spoken) if number is not None}


def names_of(operations: Iterable[Operation]) -> set[str]:
    """The callers' own names for their requests."""
    given = (one.event_id for one in operations if isinstance(one, Ask | Import))
    return {name for name in given if name is not None and is_name(name)}


def receipt_of(ticket: TicketRow) -> Receipt:
    """What the caller hears of a ticket that was moved on."""
    return Receipt(tickets.write(ticket.round, ticket.tag), ticket.state, changed=True)

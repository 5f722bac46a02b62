"""What comes back of a served duel: contexts, votes, and votes that are taken back."""

from __future__ import annotations

import numpy as np

from duelwise.errors import Conflict
from duelwise.receipts import Receipt
from duelwise.storage import TicketRow
from duelwise.storage.rows import TicketPlace
from duelwise.stream import events, tickets
from duelwise.stream.candidates import check_name, read_partial
from duelwise.stream.events import Asked, Imputed, Observed, Retracted, Skipped, Told
from duelwise.stream.lifecycle import LATE_CONTEXT, outcome_of
from duelwise.stream.operations import Observe, Retract, Tell
from duelwise.stream.transaction import Transaction, receipt_of
from duelwise.types import Array, BoolArray


class Feedback:
    """Feedback in a transaction."""

    def __init__(self, record: Transaction) -> None:
        self._record = record

    def observe(self, observe: Observe) -> Receipt:
        """What is new of a pair's context; the same again changes nothing."""
        ticket = self._record.find(observe.ticket)
        names = self._record.settings.post_names
        left = read_partial(observe.left, names, "the left candidate's context")
        right = read_partial(observe.right, names, "the right candidate's context")
        given = np.stack([right, left] if ticket.swapped else [left, right])
        y, fresh = _merge(self._known_context(ticket), given, observe.ticket)
        if not fresh.any() and (names or ticket.observed_seq is not None):
            return Receipt(observe.ticket, ticket.state, changed=False)
        if names and ticket.state in LATE_CONTEXT:  # skipped, or imputed before
            return receipt_of(self._record.advance(ticket, self._late_context(ticket, y, fresh)))
        self._record.check_open(ticket, observe.ticket, "context")
        return receipt_of(self._record.advance(ticket, Observed(ticket.round, y)))

    def tell(self, tell: Tell) -> Receipt:
        """A vote, or that there will be none; the same again changes nothing."""
        ticket = self._record.find(tell.ticket)
        check_name("source", tell.source)
        outcome = outcome_of(tell.winner, swapped=ticket.swapped)
        if outcome is None and ticket.state == "skipped":
            return Receipt(tell.ticket, ticket.state, changed=False)
        given = tickets.votes_of(ticket)
        own = [vote for vote in given if vote.source == tell.source]
        if own:
            if outcome == own[0].outcome:
                return Receipt(tell.ticket, ticket.state, changed=False, vote=str(own[0].seq))
            raise Conflict(
                f"Ticket {tell.ticket} already has another vote from this source. A vote is final; retract "
                "it if it was wrong."
            )
        if len(given) >= ticket.wanted:
            raise Conflict(
                f"Ticket {tell.ticket} already has its {ticket.wanted} votes, from other sources. "
                "Ask with votes_wanted to hear several raters on one duel."
            )
        self._record.check_open(ticket, tell.ticket, "vote")
        if ticket.state == "voted":
            raise Conflict(
                f"Ticket {tell.ticket} had its {ticket.wanted} votes before some were retracted, and waits "
                "for its context; it takes no vote any more."
            )
        if outcome is None:
            return receipt_of(self._record.advance(ticket, Skipped(ticket.round, tell.source)))
        ticket = self._record.advance(ticket, Told(ticket.round, outcome, tell.source))
        vote = str(ticket.told_seq)
        if ticket.state == "voted" and self._waited_enough(ticket):
            ticket = self._impute(ticket)
        return Receipt(tell.ticket, ticket.state, changed=True, vote=vote)

    def impute_overdue(self, *, asked_before: float, after: TicketPlace, limit: int) -> TicketPlace | None:
        """Learn from votes whose context did not come in time; returns where to go on, if there is more."""
        overdue = self._record.writer.without_context(asked_before=asked_before, after=after, limit=limit)
        for ticket in self._record.sound(overdue):
            self._impute(ticket)
        return overdue[-1].place if len(overdue) == limit else None

    def retract(self, retract: Retract) -> Receipt:
        """Votes that shall not count: one, those of a source, or all."""
        ticket = self._record.find(retract.ticket)
        if ticket.state == "retracted":
            return Receipt(retract.ticket, ticket.state, changed=False)
        if ticket.state in ("skipped", "expired"):
            raise Conflict(f"Ticket {retract.ticket} was {ticket.state}; there is no vote to retract.")
        given = tickets.votes_of(ticket)
        chosen = [
            vote
            for vote in given
            if retract.vote in (None, str(vote.seq)) and retract.source in (None, vote.source)
        ]
        if (retract.vote, retract.source) != (None, None) and not chosen:
            raise Conflict(
                f"Ticket {retract.ticket} has no such vote that counts. "
                "Look at the ticket: it lists its votes, each with its id."
            )
        return receipt_of(self.retract_votes(ticket, chosen, more=False))

    def retract_votes(self, ticket: TicketRow, votes: list[tickets.Vote], *, more: bool) -> TicketRow:
        """Some votes of a ticket, or the ticket as a whole where none would be left."""
        if len(votes) == len(tickets.votes_of(ticket)):
            return self._record.advance(ticket, Retracted(ticket.round, more=more))
        for vote in votes:
            last = vote is votes[-1]
            ticket = self._record.advance(
                ticket, Retracted(ticket.round, more=more or not last, vote=vote.seq)
            )
        return ticket

    def _known_context(self, ticket: TicketRow) -> Array:
        """(2, dy) what was observed of the pair so far."""
        if ticket.observed_seq is None:
            return np.full((2, self._record.settings.post_dim), np.nan)
        event = events.decode(self._record.writer.event(ticket.observed_seq)).event
        assert isinstance(event, Asked | Observed)
        assert event.y is not None
        return event.y

    def _late_context(self, ticket: TicketRow, y: Array, fresh: BoolArray) -> Observed:
        """What comes after a duel has stopped waiting for it: φ̂ still learns."""
        asked = events.decode(self._record.writer.event(ticket.asked_seq)).event
        assert isinstance(asked, Asked)
        return Observed(ticket.round, y, asked.x, fresh.astype(np.int64))

    def _waited_enough(self, ticket: TicketRow) -> bool:
        """Whether a vote need not wait for its context any longer."""
        limit = self._record.settings.context_ttl_seconds
        return limit > 0 and self._record.now - ticket.asked_at > limit

    def _impute(self, ticket: TicketRow) -> TicketRow:
        """What φ̂ expects stands for the context that did not come."""
        self._record.fold_so_far()
        return self._record.advance(
            ticket, Imputed(ticket.round, self._record.folded.inputs.expected_context(0, ticket.round))
        )


def _merge(known: Array, given: Array, ticket: str) -> tuple[Array, BoolArray]:
    """(2, dy) known and given values together, and which are new; another for a known one is a conflict."""
    both = ~np.isnan(known) & ~np.isnan(given)
    if not np.array_equal(known[both], given[both]):
        raise Conflict(
            f"Ticket {ticket} already has another context. A value is recorded once; "
            "retract the ticket if the first one was wrong."
        )
    fresh = np.isnan(known) & ~np.isnan(given)
    return np.where(fresh, given, known), fresh

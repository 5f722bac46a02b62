"""How a ticket is written, and its row in the store."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import NamedTuple

from duelwise.errors import UnknownTicket
from duelwise.storage import TicketRow
from duelwise.stream.events import Asked, Imputed, Observed, Recorded, Retracted, Skipped, Told
from duelwise.stream.lifecycle import transition


def new_tag(uid: str, round: int, at: float) -> str:
    """Tells the tickets of two streams, and of two histories of one stream, apart."""
    return blake2b(f"{uid} {round} {at!r}".encode(), digest_size=5).hexdigest()


def write(round: int, tag: str) -> str:
    return f"{round}-{tag}"


def number_of(ticket: str) -> int | None:
    """The round a ticket names, if it is written like a ticket at all."""
    if not isinstance(ticket, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        return None  # a decision, perhaps, in place of its ticket
    number, dash, _ = ticket.partition("-")
    well_formed = dash and number.isascii() and number.isdigit() and len(number) <= 15
    return int(number) if well_formed else None


def unknown(ticket: str) -> UnknownTicket:
    return UnknownTicket(
        f"This stream gave out no ticket {ticket!r:.80}. "
        "Use the ticket that ask returned, with the stream that was asked."
    )


def after(ticket: TicketRow | None, recorded: Recorded) -> TicketRow | None:
    """The ticket once this event has happened to it; None where it cannot happen."""
    event, seq = recorded.event, recorded.seq
    state = transition(ticket, event)
    if state is None:
        return None
    if isinstance(event, Asked):
        return TicketRow(
            round=event.round,
            tag=event.tag,
            state=state,
            asked_at=recorded.at,
            asked_seq=seq,
            observed_seq=None if event.y is None else seq,
            told_seq=None,
            closed_seq=None,
            outcome=None,
            source=None,
            swapped=event.swapped,
            wanted=event.wanted or 1,
        )
    assert ticket is not None  # nothing else can be a ticket's first event
    if isinstance(event, Observed):
        return ticket._replace(state=state, observed_seq=seq)
    if isinstance(event, Imputed):
        return ticket._replace(state=state)
    if isinstance(event, Told):
        if ticket.wanted > 1:
            heard = [*votes_of(ticket), Vote(seq, event.outcome, event.source)]
            return ticket._replace(state=state, told_seq=seq, votes=_written(heard))
        return ticket._replace(state=state, told_seq=seq, outcome=event.outcome, source=event.source)
    if isinstance(event, Skipped):
        if ticket.wanted > 1:
            return ticket
        return ticket._replace(state=state, closed_seq=seq, source=event.source)
    if isinstance(event, Retracted) and event.vote is not None:
        left = [vote for vote in votes_of(ticket) if vote.seq != event.vote]
        return ticket._replace(state=state, votes=_written(left))
    return ticket._replace(state=state, closed_seq=seq)


class Vote(NamedTuple):
    """One vote on a duel, by the number of its event."""

    seq: int
    outcome: float
    source: str | None


def votes_of(ticket: TicketRow) -> list[Vote]:
    """The votes on a duel that count."""
    if ticket.state == "retracted":
        return []
    if ticket.wanted > 1:
        return [Vote(*vote) for vote in json.loads(ticket.votes or "[]")]
    if ticket.outcome is None or ticket.told_seq is None:
        return []
    return [Vote(ticket.told_seq, ticket.outcome, ticket.source)]


def _written(votes: list[Vote]) -> str:
    return json.dumps([list(vote) for vote in votes])

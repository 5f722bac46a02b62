"""A ticket goes asked → observed → told, context and vote in either order.

asked ──context──▶ observed ──vote──▶ told
  └─────vote─────▶ voted ───context───▶ told
side exits: skipped, expired, retracted
"""

from __future__ import annotations

from hashlib import blake2b

from duelwise.errors import UnknownTicket
from duelwise.storage import OPEN_STATES, TicketRow
from duelwise.stream.events import (
    Asked,
    Event,
    Expired,
    Observed,
    Recorded,
    Retracted,
    Skipped,
    Told,
    kind_of,
)

_ALLOWED: dict[type[Event], tuple[str, ...]] = {
    Observed: ("asked", "voted"),
    Told: ("asked", "observed"),
    Skipped: ("asked", "observed"),
    Expired: OPEN_STATES,
    Retracted: (*OPEN_STATES, "told"),
}


def new_tag(uid: str, round: int, at: float) -> str:
    """Tells the tickets of two streams, and of two histories of one stream, apart."""
    return blake2b(f"{uid} {round} {at!r}".encode(), digest_size=5).hexdigest()


def write(round: int, tag: str) -> str:
    return f"{round}-{tag}"


def number_of(ticket: str) -> int | None:
    """The round a ticket names, if it is written like a ticket at all."""
    number, dash, _ = ticket.partition("-")
    well_formed = dash and number.isascii() and number.isdigit() and len(number) <= 15
    return int(number) if well_formed else None


def unknown(ticket: str) -> UnknownTicket:
    return UnknownTicket(
        f"This stream gave out no ticket {ticket[:80]!r}. "
        "Use the ticket that ask returned, with the stream that was asked."
    )


def is_allowed(ticket: TicketRow | None, event: Event) -> bool:
    """Whether a ticket in this state can take the event."""
    if isinstance(event, Asked):
        return ticket is None
    return type(event) not in _ALLOWED or (ticket is not None and ticket.state in _ALLOWED[type(event)])


def after_asked(recorded: Recorded, asked: Asked) -> TicketRow:
    known = asked.y is not None
    return TicketRow(
        round=asked.round,
        tag=asked.tag,
        state="observed" if known else "asked",
        asked_at=recorded.at,
        asked_seq=recorded.seq,
        observed_seq=recorded.seq if known else None,
        told_seq=None,
        closed_seq=None,
        outcome=None,
        source=None,
        swapped=asked.swapped,
    )


def after(ticket: TicketRow, recorded: Recorded) -> TicketRow:
    """The state of the ticket once this allowed event has happened to it."""
    event, seq = recorded.event, recorded.seq
    if isinstance(event, Observed):
        return ticket._replace(state="told" if ticket.state == "voted" else "observed", observed_seq=seq)
    if isinstance(event, Told):
        state = "told" if ticket.state == "observed" else "voted"
        return ticket._replace(state=state, told_seq=seq, outcome=event.outcome, source=event.source)
    if isinstance(event, Skipped):
        return ticket._replace(state="skipped", closed_seq=seq, source=event.source)
    return ticket._replace(state=kind_of(event), closed_seq=seq)

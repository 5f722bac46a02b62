"""The life of a ticket, written once: which event may follow which state, and what it leads to.

asked ──context──▶ observed ──votes──▶ told
  └─────votes────▶ voted ───context───▶ told
side exits: skipped, expired, retracted

A duel may want several votes, and its context may come in parts: the state changes with the last.
"""

from __future__ import annotations

from typing import Literal, Protocol, cast, get_args

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.stream.events import Asked, Event, Expired, Imputed, Observed, Retracted, Skipped, Told

State = Literal["asked", "observed", "voted", "told", "skipped", "expired", "retracted"]
STATES = cast("tuple[State, ...]", get_args(State))

Winner = Literal["left", "right", "tie", "skip"]
WINNERS = cast("tuple[Winner, ...]", get_args(Winner))

_LIFE: dict[type[Event], dict[str, State]] = {
    Asked: {},  # the first step
    Observed: {"asked": "observed", "voted": "told"},
    Imputed: {"asked": "observed", "voted": "told"},
    Told: {"asked": "voted", "observed": "told"},
    Skipped: {"asked": "skipped", "observed": "skipped"},
    Expired: {"asked": "expired", "observed": "expired", "voted": "expired"},
    Retracted: dict.fromkeys(("asked", "observed", "voted", "told"), "retracted"),
}
"""Event → the states it may meet → what it leaves. An event that is not here concerns no ticket."""


STEPS = frozenset(_LIFE)
"""The events that are a step in some ticket's life."""

FIRST: dict[bool, State] = {False: "asked", True: "observed"}
"""The state of a new ticket, by whether all of its context is known at once."""

ON_CONTEXT: dict[str, State] = _LIFE[Observed]
ON_VOTE: dict[str, State] = _LIFE[Told]
"""What a whole context leads to, and the only vote: the states it may meet → what it leaves."""


class TicketProgress(Protocol):
    """What the next step of a ticket depends on."""

    @property
    def state(self) -> str: ...
    @property
    def wanted(self) -> int: ...  # votes
    @property
    def heard(self) -> int: ...  # votes that count


LATE_CONTEXT: dict[str, State] = {"skipped": "skipped", "told": "told", "observed": "observed"}
"""Where a duel waits for no context any more, what comes still teaches φ̂."""


def transition(ticket: TicketProgress | None, event: Event) -> State | None:
    """The state that the event leads to; None where a ticket in this state cannot take it.

    None stands for a ticket that was not given out yet.
    """
    if ticket is None:
        if not isinstance(event, Asked):
            return None
        return FIRST[event.y is not None]
    life = LATE_CONTEXT if isinstance(event, Observed) and event.x is not None else _LIFE[type(event)]
    after = life.get(ticket.state)
    if after is not None and _is_a_part(ticket, event):
        return cast("State", ticket.state)
    if isinstance(event, Expired) and ticket.state == "observed" and ticket.heard:
        return "told"  # with fewer votes than were wanted
    return after


def _is_a_part(ticket: TicketProgress, event: Event) -> bool:
    """Whether more of the same kind is still waited for, or left."""
    if isinstance(event, Told):
        return ticket.wanted > 1 and ticket.heard + 1 < ticket.wanted
    if isinstance(event, Observed):
        return bool(np.isnan(event.y).any())
    if isinstance(event, Skipped):
        return ticket.wanted > 1  # one rater will not say; others may
    return isinstance(event, Retracted) and event.vote is not None


def outcome_of(winner: str, *, swapped: bool) -> float | None:
    """1 when the first of the pair won, 0 the second, ½ a tie, None for no vote."""
    if winner not in WINNERS:
        raise InvalidInput(f"The winner is {winner!r:.80}; expected one of {', '.join(WINNERS)}.")
    if winner in ("tie", "skip"):
        return 0.5 if winner == "tie" else None
    return float((winner == "left") != swapped)


def winner_of(outcome: float | None, *, swapped: bool) -> Winner:
    """The side that an outcome stands for: what `outcome_of` was given."""
    if outcome is None:
        return "skip"
    if outcome == 0.5:
        return "tie"
    return "left" if (outcome == 1) != swapped else "right"

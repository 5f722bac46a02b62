"""The life of a ticket, written once: which event may follow which state, and what it leads to.

asked ──context──▶ observed ──vote──▶ told
  └─────vote─────▶ voted ───context───▶ told
side exits: skipped, expired, retracted
"""

from __future__ import annotations

from typing import Literal, Protocol, cast, get_args

from duelwise.errors import InvalidInput
from duelwise.stream.events import Asked, Event, Expired, Observed, Retracted, Skipped, Told

State = Literal["asked", "observed", "voted", "told", "skipped", "expired", "retracted"]
STATES = cast("tuple[State, ...]", get_args(State))

Winner = Literal["left", "right", "tie", "skip"]
WINNERS = cast("tuple[Winner, ...]", get_args(Winner))

_LIFE: dict[type[Event], dict[str | None, State]] = {
    Asked: {None: "asked"},
    Observed: {"asked": "observed", "voted": "told"},
    Told: {"asked": "voted", "observed": "told"},
    Skipped: {"asked": "skipped", "observed": "skipped"},
    Expired: {"asked": "expired", "observed": "expired", "voted": "expired"},
    Retracted: dict.fromkeys(("asked", "observed", "voted", "told"), "retracted"),
}
"""Event → the states it may meet → what it leaves. An event that is not here concerns no ticket."""


STEPS = frozenset(_LIFE)
"""The events that are a step in some ticket's life."""


class Ticket(Protocol):
    """What the next step of a ticket depends on."""

    @property
    def state(self) -> str: ...


def transition(ticket: Ticket | None, event: Event) -> State | None:
    """The state that the event leads to; None where a ticket in this state cannot take it.

    None stands for a ticket that was not given out yet.
    """
    after = _LIFE[type(event)].get(None if ticket is None else ticket.state)
    if after == "asked" and isinstance(event, Asked) and event.y is not None:
        return "observed"  # all there is to know was known at once
    return after


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

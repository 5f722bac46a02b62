"""What a caller can ask of a stream, and what comes back."""

from __future__ import annotations

from typing import NamedTuple

from duelwise.receipts import Receipt, Side
from duelwise.storage import JSON
from duelwise.stream.candidates import Candidates, Features, PartialFeatures
from duelwise.stream.lifecycle import Winner

MOST_VOTES = 1000  # that one duel may want


class FromCatalogue(NamedTuple):
    """Items of the stream's catalogue: these, those of a group, or with neither all of them."""

    ids: tuple[str, ...] | None = None
    group: str | None = None


class Ask(NamedTuple):
    """Which two of these shall be shown?"""

    candidates: Candidates | FromCatalogue
    event_id: str | None = None  # the same id again returns the same duel
    votes_wanted: int | None = None  # None: as many as the stream wants


class Observe(NamedTuple):
    """What became known of the two after serving; None where nothing is, or not yet."""

    ticket: str
    left: PartialFeatures | None
    right: PartialFeatures | None


class Tell(NamedTuple):
    """Which of the two won; "skip" when nobody will say."""

    ticket: str
    winner: str
    source: str | None = None


class Retract(NamedTuple):
    """The duel's votes shall not count: all of them, or one, or those of one source."""

    ticket: str
    vote: str | None = None
    source: str | None = None


class Import(NamedTuple):
    """A past duel, decided elsewhere: context, what became known, and the vote at once."""

    left: Features
    right: Features
    winner: str
    left_context: Features = ()
    right_context: Features = ()
    source: str | None = None
    event_id: str | None = None


Operation = Ask | Observe | Tell | Retract | Import


class Decision(NamedTuple):
    """The answer to `Ask`: the pair to show, and the ticket under which to report."""

    ticket: str
    left: Side
    right: Side
    model_version: int  # the last event the choice knew of
    probability: float | None  # of this pair, when the stream draws some at random
    repeated: bool  # the event_id was seen before, and this is its duel
    fallback: bool = False  # the learner could not choose: the pair was drawn at random
    clamped: tuple[str, ...] = ()  # features of which some candidate lies beyond the range


Answer = Decision | Receipt


class Happening(NamedTuple):
    """A line of a ticket's history."""

    seq: int
    at: float
    kind: str
    details: dict[str, JSON]


class GivenVote(NamedTuple):
    """A vote that counts."""

    vote: str
    winner: Winner
    source: str | None
    at: float
    weight: float | None  # how much it counts, where that is known: once its context is


class Ticket(NamedTuple):
    """A ticket's state and how it came to it."""

    ticket: str
    state: str
    asked_at: float
    left: Side
    right: Side
    winner: Winner | None
    source: str | None
    wanted: int
    votes: tuple[GivenVote, ...]
    history: tuple[Happening, ...]

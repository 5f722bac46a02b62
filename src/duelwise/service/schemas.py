"""What requests and answers look like: the source of the OpenAPI document and of every check.

A request is decoded and checked in one pass over its bytes, which stops at the first mistake.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from duelwise.service.problems import ProblemDetails
from duelwise.stream.candidates import LARGEST
from duelwise.stream.operations import MOST_VOTES

# Ids and names go into logs, addresses and spreadsheets, where look-alikes and invisible
# characters do harm: printable ASCII only. `(?!\n)`, because `$` alone would let a line end pass.
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$(?!\n)"
ID_PATTERN = r"^[!-~]([ -~]{0,198}[!-~])?$(?!\n)"
FEATURE_PATTERN = r"^[^\u0000-\u001f\u007f]{1,200}$(?!\n)"
TICKET_PATTERN = r"^[A-Za-z0-9._-]{1,100}$(?!\n)"

SCHEMAS = "#/components/schemas/"

Name = Annotated[str, Meta(pattern=NAME_PATTERN)]
Id = Annotated[str, Meta(pattern=ID_PATTERN)]
FeatureName = Annotated[str, Meta(pattern=FEATURE_PATTERN)]
Ticket = Annotated[str, Meta(pattern=TICKET_PATTERN)]
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Numbers = list[Number] | dict[str, Number]
Features = list[Number] | dict[str, Number | str | list[Number]]
"""In the order of the stream's names, or by name; levels and vectors where the stream encodes them."""
Known = list[Number | None] | dict[str, Number | None] | None
"""The same, null or left out where something is not known yet."""
Winner = Literal["left", "right", "tie", "skip"]


class Body(Struct, forbid_unknown_fields=True, gc=False):
    """What a request may bring."""


class Candidate(Body):
    """One of the things that could be shown."""

    # The pattern is checked for all candidates together: one by one it would cost as much as the rest.
    id: Annotated[str, Meta(extra_json_schema={"pattern": ID_PATTERN})]
    features: Features


class AskBody(Body):
    """The candidates of one duel, or items of the catalogue by id or group; with neither all items."""

    candidates: Annotated[list[Candidate], Meta(min_length=2)] | UnsetType = UNSET
    event_id: Id | None = None
    ids: list[Id] | UnsetType = UNSET
    group: Id | UnsetType = UNSET
    votes_wanted: Annotated[int, Meta(ge=1, le=MOST_VOTES)] | None = None


class ObserveBody(Body):
    """What became known of the two after serving, or a part of it."""

    left: Known = None
    right: Known = None


class RetractBody(Body):
    """Which votes of a duel shall not count: one, those of a source, or all."""

    vote: Annotated[str, Meta(max_length=40)] | None = None
    source: Id | None = None


class TellBody(Body):
    """Which of the two won."""

    winner: Winner
    source: Id | None = None


class RetractSourceBody(Body):
    """A source whose votes shall no longer count."""

    source: Id


class ExpireBody(Body):
    """The age in seconds from which duels are closed; the stream's own where it is left out."""

    older_than: Annotated[float, Meta(ge=0)] | None = None
    confirm_clock: bool = False  # the clock is right, however far it is ahead of the log


class AskItem(AskBody, tag_field="op", tag="ask"):
    """An ask in a batch."""


class ObserveItem(Body, kw_only=True, tag_field="op", tag="observe"):
    """An observation in a batch."""

    ticket: Ticket
    left: Known = None
    right: Known = None


class TellItem(Body, kw_only=True, tag_field="op", tag="tell"):
    """A vote in a batch."""

    ticket: Ticket
    winner: Winner
    source: Id | None = None


class RetractItem(Body, tag_field="op", tag="retract"):
    """A retraction in a batch."""

    ticket: Ticket
    vote: Annotated[str, Meta(max_length=40)] | None = None
    source: Id | None = None


class ImportItem(Body, kw_only=True, tag_field="op", tag="import"):
    """A past duel, decided elsewhere, in a batch."""

    left: Features
    right: Features
    winner: Literal["left", "right", "tie"]
    left_context: Numbers = []
    right_context: Numbers = []
    source: Id | None = None
    event_id: Id | None = None


Item = AskItem | ObserveItem | TellItem | RetractItem | ImportItem


def _any_of(*types: str) -> dict[str, object]:
    """The schema of a list whose members are of one of these types."""
    return {"items": {"anyOf": [{"$ref": SCHEMAS + name} for name in types]}}


class BatchBody(Body):
    """Operations in order. An item that is none of these gets its own 422 in the results."""

    items: Annotated[list[Raw], Meta(extra_json_schema={"items": {"type": "object"}})]


class Side(Struct, gc=False):
    """A candidate that was chosen, and its position among the candidates."""

    id: str | None
    index: int


class DuelAnswer(Struct, gc=False):
    """The pair to show."""

    ticket: str
    left: Side
    right: Side
    model_version: int
    probability: float | None
    fallback: bool  # the learner could not choose: the pair was drawn at random
    clamped: list[str]  # features of which some candidate lies beyond the range


class ReceiptAnswer(Struct, gc=False):
    """A ticket's state, and whether this request changed it."""

    ticket: str
    state: str
    changed: bool
    vote: str | None  # its own id, where the request was a vote


class Vote(Struct):
    """A vote that counts."""

    vote: str
    winner: Winner
    source: str | None
    at: float
    weight: float | None  # how much it counts, where that is known


class Happening(Struct):
    """A line of a ticket's history."""

    seq: int
    at: float
    kind: str
    details: dict[str, Any]


class TicketAnswer(Struct):
    """A ticket's state and how it came to it."""

    ticket: str
    state: str
    asked_at: float
    left: Side
    right: Side
    winner: Winner | None
    source: str | None
    wanted: int
    votes: list[Vote]
    history: list[Happening]


class AskResult(Struct):
    """What an ask in a batch gets."""

    status: Literal[201]
    ticket: str
    left: Side
    right: Side
    model_version: int
    probability: float | None
    fallback: bool  # the learner could not choose: the pair was drawn at random
    clamped: list[str]  # features of which some candidate lies beyond the range


class ReceiptResult(Struct):
    """What any other item gets."""

    status: Literal[200]
    ticket: str
    state: str
    changed: bool
    vote: str | None


class ProblemResult(Struct):
    """What an item gets that was refused."""

    status: int
    problem: ProblemDetails


class BatchAnswer(Struct):
    """One result per item, in order: what the item's own path would answer, or a problem."""

    results: Annotated[
        list[Any], Meta(extra_json_schema=_any_of("AskResult", "ReceiptResult", "ProblemResult"))
    ]


class StreamAnswer(Struct):
    """A stream's settings and where it stands."""

    name: str
    settings: dict[str, Any]
    model_version: int  # the number of the last event
    counts: dict[str, int]
    pending: int
    oldest_pending_seconds: float | None
    read_only: str | None


class BrokenStream(Struct):
    """A stream that cannot be opened, and why; the others go on."""

    name: str
    problem: str


class StreamsAnswer(Struct):
    """Every stream that the key may see."""

    streams: Annotated[list[Any], Meta(extra_json_schema=_any_of("StreamAnswer", "BrokenStream"))]


class ErasedAnswer(Struct):
    """What stands in the place of the source's name now."""

    pseudonym: str


class CountAnswer(Struct):
    """How many tickets were changed."""

    changed: int


class HealthAnswer(Struct):
    """The service is alive; whether it is ready is another question."""

    status: Literal["ok"]
    version: str


class ReadyAnswer(Struct):
    """The database answers and the learner is compiled."""

    status: Literal["ready"]
    streams: int

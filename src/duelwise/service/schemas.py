"""What requests and answers look like: the source of the OpenAPI document and of every check.

A request is decoded and checked in one pass over its bytes, which stops at the first mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, defstruct
from msgspec.structs import asdict

from duelwise.service.problems import Problem
from duelwise.stream.candidates import LARGEST
from duelwise.stream.operations import MOST_VOTES
from duelwise.stream_fields import setting_fields

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


class NamedBody(Body):
    """What a request brings that makes a stream: its name, and settings."""

    name: Name


_BOUNDS: dict[str, Meta] = {
    "context_dim": Meta(ge=1, lt=2**31),
    "post_dim": Meta(ge=0, lt=2**31),
    "votes_wanted": Meta(ge=1, le=MOST_VOTES),
    "context_ttl_seconds": Meta(ge=0),
    "vote_ttl_seconds": Meta(gt=0),
    "seed": Meta(ge=0, le=2**63 - 1),
    "random_share": Meta(ge=0, le=1),
    "top": Meta(ge=1),
    "edition": Meta(ge=1),
}
"""What a setting's type does not say of it."""

_WRITTEN: dict[type, Any] = {tuple: list[FeatureName], Mapping: dict[str, Any]}
_WRITTEN_BY_NAME: dict[str, Any] = {
    "goal": Literal["serve", "settle"],
    "sources": Literal["equal", "weighted"],
    "ranges": dict[FeatureName, Annotated[list[Number], Meta(min_length=2, max_length=2)]],
}


def _settings_body(name: str, says: str, *own: tuple[Any, ...], required: bool) -> type[NamedBody]:
    """A body with a field for every setting of a stream, made from their one definition."""
    fields: list[Any] = list(own)
    for one in setting_fields():
        written = _WRITTEN_BY_NAME.get(one.name, _WRITTEN.get(one.type, one.type))
        kind: Any = Annotated[written, Meta(description=one.help)]
        if one.name in _BOUNDS:
            kind = Annotated[kind, _BOUNDS[one.name]]
        must = required and one.required
        fields.append((one.name, kind) if must else (one.name, kind | UnsetType, UNSET))
    made = defstruct(
        name, fields, bases=(NamedBody,), module=__name__, namespace={"__doc__": says}, kw_only=True
    )
    return cast("type[NamedBody]", made)


StreamBody = _settings_body(
    "StreamBody", "A stream to create; what is left out has the stream's default.", required=True
)
DeriveBody = _settings_body(
    "DeriveBody", "A stream made from the log of another; what is left out is as it is there.",
    ("columns", dict[str, str] | UnsetType, UNSET), required=False,
)  # fmt: skip


def settings_in(body: NamedBody) -> dict[str, Any]:
    """The settings that a body gives."""
    known = {one.name for one in setting_fields()}
    return {name: value for name, value in asdict(body).items() if name in known and value is not UNSET}


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

    left: Numbers
    right: Numbers
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
    problem: Problem


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

"""What requests and answers look like: the source of the OpenAPI document and of every check.

Typed dictionaries, because a request is parsed and checked in one pass over its bytes
and goes to the stream as it is.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field, JsonValue, with_config
from typing_extensions import TypedDict

from duelwise.service.problems import Problem
from duelwise.stream.candidates import LARGEST

STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

# Ids and names go into logs, addresses and spreadsheets, where look-alikes and invisible
# characters do harm: printable ASCII only.
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
ID_PATTERN = r"^[!-~]([ -~]{0,198}[!-~])?$"
FEATURE_PATTERN = r"^[^\u0000-\u001f\u007f]{1,200}$"
TICKET_PATTERN = r"^[A-Za-z0-9._-]{1,100}$"

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Id = Annotated[str, Field(pattern=ID_PATTERN)]
FeatureName = Annotated[str, Field(pattern=FEATURE_PATTERN)]
Ticket = Annotated[str, Field(pattern=TICKET_PATTERN)]
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
Winner = Literal["left", "right", "tie", "skip"]


@with_config(STRICT)
class StreamBody(TypedDict):
    """A stream to create."""

    name: Name
    context_dim: Annotated[int, Field(ge=1)]
    post_dim: NotRequired[Annotated[int, Field(ge=0)]]
    recipe: NotRequired[str]
    options: NotRequired[dict[str, JsonValue]]
    feature_names: NotRequired[list[FeatureName]]
    vote_ttl_seconds: NotRequired[Annotated[float, Field(gt=0)]]
    seed: NotRequired[Annotated[int, Field(ge=0, lt=2**63)]]
    random_share: NotRequired[Annotated[float, Field(ge=0, le=1)]]
    keep_candidates: NotRequired[bool]


@with_config(STRICT)
class Candidate(TypedDict):
    """One of the things that could be shown."""

    id: Id
    features: list[Number]


@with_config(STRICT)
class AskBody(TypedDict):
    """The candidates of one duel."""

    candidates: Annotated[list[Candidate], Field(min_length=2)]
    event_id: NotRequired[Id | None]


@with_config(STRICT)
class ObserveBody(TypedDict):
    """What became known of the two after serving."""

    left: list[Number]
    right: list[Number]


@with_config(STRICT)
class TellBody(TypedDict):
    """Which of the two won."""

    winner: Winner
    source: NotRequired[Id | None]


@with_config(STRICT)
class RetractSourceBody(TypedDict):
    """A source whose votes shall no longer count."""

    source: Id


@with_config(STRICT)
class ExpireBody(TypedDict):
    """The age in seconds from which duels are closed."""

    older_than: Annotated[float, Field(ge=0)]


@with_config(STRICT)
class AskItem(AskBody):
    op: Literal["ask"]


@with_config(STRICT)
class ObserveItem(ObserveBody):
    op: Literal["observe"]
    ticket: Ticket


@with_config(STRICT)
class TellItem(TellBody):
    op: Literal["tell"]
    ticket: Ticket


@with_config(STRICT)
class RetractItem(TypedDict):
    op: Literal["retract"]
    ticket: Ticket


Item = AskItem | ObserveItem | TellItem | RetractItem
CheckedItem = Annotated[Item, Field(discriminator="op")]


@with_config(STRICT)
class BatchBody(TypedDict):
    """Operations in order. An item that is none of these gets its own 422 in the results."""

    items: list[AskItem | ObserveItem | TellItem | RetractItem | dict[str, JsonValue]]


@with_config(STRICT)
class RawBatch(TypedDict):
    """A batch before its items are looked at one by one."""

    items: list[dict[str, JsonValue]]


class Side(TypedDict):
    """A candidate that was chosen, and its position among the candidates."""

    id: str | None
    index: int


class DuelAnswer(TypedDict):
    """The pair to show."""

    ticket: str
    left: Side
    right: Side
    model_version: int
    probability: float | None


class ReceiptAnswer(TypedDict):
    """A ticket's state, and whether this request changed it."""

    ticket: str
    state: str
    changed: bool


class Happening(TypedDict):
    """A line of a ticket's history."""

    seq: int
    at: float
    kind: str
    details: dict[str, JsonValue]


class TicketAnswer(TypedDict):
    """A ticket's state and how it came to it."""

    ticket: str
    state: str
    asked_at: float
    left: Side
    right: Side
    winner: Winner | None
    source: str | None
    history: list[Happening]


class AskResult(DuelAnswer):
    status: Literal[201]


class ReceiptResult(ReceiptAnswer):
    status: Literal[200]


class ProblemResult(TypedDict):
    status: int
    problem: Problem


class BatchAnswer(TypedDict):
    """One result per item, in order: what the item's own path would answer, or a problem."""

    results: list[AskResult | ReceiptResult | ProblemResult]


class StreamSettingsAnswer(TypedDict):
    """What the stream was created with."""

    context_dim: int
    post_dim: int
    recipe: str
    options: dict[str, JsonValue]
    feature_names: list[str]
    vote_ttl_seconds: float
    seed: int
    random_share: float
    keep_candidates: bool


class StreamAnswer(TypedDict):
    """A stream's settings and where it stands."""

    name: str
    settings: StreamSettingsAnswer
    model_version: int  # the number of the last event
    counts: dict[str, int]
    pending: int
    oldest_pending_seconds: float | None
    read_only: str | None


class StreamsAnswer(TypedDict):
    """Every stream that the key may see."""

    streams: list[StreamAnswer]


class CountAnswer(TypedDict):
    """How many tickets were changed."""

    changed: int


class HealthAnswer(TypedDict):
    """The service answers and its database too."""

    status: Literal["ok"]
    version: str
    streams: int

"""What requests for answers and the answers themselves look like."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from duelwise.service.schemas import Body, Candidate, Features, Id
from duelwise.stream.items import LONGEST_CONTENT

Flag = Literal["at chance", "against", "one-sided", "too few to tell", "undecidable"]


class RankBody(Body):
    """What to rank: candidates, items by id or by group, or with none of them all items."""

    candidates: Annotated[list[Candidate], Meta(min_length=2)] | UnsetType = UNSET
    ids: list[Id] | UnsetType = UNSET
    group: Id | UnsetType = UNSET
    adjust: list[str] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1)] = 100
    clustered: Annotated[bool, Meta(description="Allow for sources whose votes are alike.")] = False


class ItemBody(Body):
    """An item of the catalogue."""

    id: Id
    features: Features
    group: Id | None = None
    post: Features | None = None
    content: Annotated[Any, Meta(description=f"Any JSON of at most {LONGEST_CONTENT} characters.")] = None


class ItemsBody(Body):
    """Items to add or to change; they may come in chunks."""

    items: Annotated[list[ItemBody], Meta(min_length=1)]


class IdsBody(Body):
    """Items that shall be offered no longer."""

    ids: Annotated[list[Id], Meta(min_length=1)]


class SourceBody(Body):
    """A source of votes."""

    source: Id


class GoldBody(Body):
    """Two items of which one is known to be better."""

    better: Id
    worse: Id


class TestedBody(Body):
    """Pairs whose answer is known, to test raters by."""

    gold: Annotated[list[GoldBody], Meta(min_length=1)]


class RankedItem(Struct):
    """One line of a ranking."""

    id: str
    utility: float
    standard_error: float
    low: float
    high: float
    rank: int
    rank_low: int
    rank_high: int
    probability_best: float
    beats_next: float | None


class Verdict(Struct):
    """Whether the leader is settled, and about how many more votes that takes."""

    level: float
    settled: bool
    leader: str
    leaders: list[str]
    votes_needed: int | None
    votes_low: int | None
    votes_high: int | None


class PositionBias(Struct):
    """What being shown on the left adds to a candidate's utility."""

    estimate: float
    standard_error: float
    low: float
    high: float


class RankAnswer(Struct):
    """Items in order of rank."""

    items: list[RankedItem]
    settled: Verdict
    adjusted: list[str]
    position_bias: PositionBias | None


class BestAnswer(Struct):
    """The one to serve without a duel."""

    id: str
    probability_best: float


class RaterAnswer(Struct):
    """What is known of a source."""

    source: str
    votes: int
    agreement: float
    reliability: float
    low: float
    high: float
    left_share: float
    seconds: float | None
    flag: Flag | None
    weight: float
    held: bool
    distrusted: bool
    gold_votes: int
    gold_right: float


class RatersAnswer(Struct):
    """Every source, most votes first."""

    raters: list[RaterAnswer]


class SourceAnswer(Struct):
    """Whether a source is held back now, and whether this request changed that."""

    source: str
    held: bool
    changed: bool


class PutAnswer(Struct):
    """How many items were new, different, or the same."""

    added: int
    changed: int
    same: int


class ItemAnswer(Struct):
    """An item as it is kept."""

    id: str
    features: list[float]
    group: str | None
    post: list[float] | None
    content: Any


class ItemsAnswer(Struct):
    """A page of the catalogue, in the order in which items came."""

    items: list[ItemAnswer]
    total: int


class AuditAnswer(Struct):
    """What an audit has found; of the ledger the votes of most influence."""

    votes: int
    leader: str | None
    alarms: list[str]
    pivotal_votes: int
    full_weight: list[float]
    groups: list[dict[str, Any]]
    ledger: list[dict[str, Any]]

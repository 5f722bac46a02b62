"""What can happen to a stream, and how it is written down.

A pair is kept in the learner's order (its first and second arm); `swapped` says that
the first was shown on the right. Contexts are in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, cast

import numpy as np
from msgspec import Struct, defstruct

from duelwise.errors import Damaged, InvalidInput, StorageFailure
from duelwise.storage import JSON, EventRow, pack, unpack
from duelwise.storage.rows import NO_ROUND
from duelwise.types import AnyArray, Array, IntArray


class Asked(NamedTuple):
    """A pair was served, or a past one imported."""

    round: int
    tag: str
    arms: IntArray  # (2,) positions among the candidates
    x: Array  # (2, dx)
    predicted: Array  # (2, dy)
    swapped: bool
    model_version: int  # the last event the choice knew of
    y: Array | None = None  # (2, dy) where it was known at once
    ids: Sequence[str] | None = None
    probability: float | None = None  # of this pair among all, where some pairs are drawn at random
    candidates: Array | None = None  # (K, dx)
    candidate_ids: Sequence[str] | None = None
    offered: str | None = None  # a digest of what was asked, where the caller named the request
    wanted: int | None = None  # votes, where it is more than one
    bounds: Array | None = None  # (2, dx) least and greatest of each feature, while ranges are learned
    fallback: bool = False  # the learner could not choose, and the pair was drawn at random


class Observed(NamedTuple):
    """What is known of the pair after serving, this event included: NaN where it is not known yet.

    Where the duel waits for nothing any more, x of the pair is there too: only φ̂ learns from it.
    """

    round: int
    y: Array  # (2, dy)
    x: Array | None = None  # (2, dx)
    fresh: IntArray | None = None  # (2, dy) then: 1 where y was not known before


class Imputed(NamedTuple):
    """Context was waited for long enough: what φ̂ expects stands for what is not known."""

    round: int
    y: Array  # (2, dy) NaN where it was known


class Told(NamedTuple):
    """Which of the pair won."""

    round: int
    outcome: float  # 1: the first of the pair, 0: the second, ½: a tie
    source: str | None = None


class Skipped(NamedTuple):
    """There will be no vote."""

    round: int
    source: str | None = None


class Retracted(NamedTuple):
    """The duel's votes do not count; when they were learned already, a rebuild takes them out."""

    round: int
    more: bool = False  # others of the same retraction follow: a rebuild waits for the last
    vote: int | None = None  # only the vote of this event


class Expired(NamedTuple):
    """Vote or context did not come in time."""

    round: int


class Rebuilt(NamedTuple):
    """From here on the learner is a fresh fold up to `upto` without the votes retracted by then."""

    upto: int
    round: int = NO_ROUND


class Cut(NamedTuple):
    """A repair set the event of this number aside; its round, when that was served here."""

    round: int = NO_ROUND


class ClockConfirmed(NamedTuple):
    """An operator said that the time of this event is right, however far it jumped."""

    round: int = NO_ROUND


class ItemsPut(NamedTuple):
    """Items were added to the catalogue, or changed: all that is known of each."""

    ids: Sequence[str]
    x: Array  # (n, dx)
    y: Array | None = None  # (n, dy) post-serving values, where they are known already
    known: Sequence[bool] | None = None  # (n,) of which items they are
    groups: Sequence[str | None] | None = None
    contents: Sequence[JSON] | None = None
    round: int = NO_ROUND


class ItemsWithdrawn(NamedTuple):
    """Items are offered no longer."""

    ids: Sequence[str]
    round: int = NO_ROUND


class Projected(NamedTuple):
    """From here on vectors of this feature are projected so: fitted to the items that came first."""

    name: str
    centre: Array  # (length,)
    axes: Array  # (length, dim)
    round: int = NO_ROUND


class SourceHeld(NamedTuple):
    """The votes of a source do not count until it is released; a rebuild takes out what was learned."""

    source: str
    round: int = NO_ROUND


class SourceReleased(NamedTuple):
    """The votes of a source count again; a rebuild brings back what was held."""

    source: str
    round: int = NO_ROUND


class SourcesWeighed(NamedTuple):
    """All sources were judged: the votes of these do not count until the next judgement."""

    sources: Sequence[str]
    votes: int  # how many there were
    changed: bool  # other sources than before: a rebuild follows
    round: int = NO_ROUND


class Ranged(NamedTuple):
    """From here on features are taken in these units and bounds: of x, then of y."""

    centre: Array  # (d,)
    half: Array  # (d,) one unit
    reach: Array  # (d,) bounds, in units
    settled: bool  # the units stay; until then all duels so far are folded again
    round: int = NO_ROUND


Event = (
    Asked
    | Observed
    | Imputed
    | Told
    | Skipped
    | Retracted
    | Expired
    | Rebuilt
    | Cut
    | ClockConfirmed
    | Ranged
    | ItemsPut
    | ItemsWithdrawn
    | Projected
    | SourceHeld
    | SourceReleased
    | SourcesWeighed
)

KINDS: dict[str, Callable[..., Event]] = {
    "asked": Asked,
    "observed": Observed,
    "imputed": Imputed,
    "told": Told,
    "skipped": Skipped,
    "retracted": Retracted,
    "expired": Expired,
    "rebuilt": Rebuilt,
    "cut": Cut,
    "clock_confirmed": ClockConfirmed,
    "items_put": ItemsPut,
    "items_withdrawn": ItemsWithdrawn,
    "projected": Projected,
    "source_held": SourceHeld,
    "source_released": SourceReleased,
    "sources_weighed": SourcesWeighed,
    "ranged": Ranged,
}
REWRITING = ("retracted", "rebuilt", "source_held", "source_released", "sources_weighed")
"""Kinds that say what a fold leaves out."""

OF_ITEMS = ("items_put", "items_withdrawn", "projected")
"""Kinds that make the catalogue, and the projections of its vectors."""

_NAMES = {made: name for name, made in KINDS.items()}
_INTEGERS = ("arms", "fresh")
_FLOATS = ("x", "predicted", "y", "candidates", "bounds", "centre", "half", "reach", "axes")
_ARRAYS = frozenset(_INTEGERS + _FLOATS)


class Recorded(NamedTuple):
    """An event with its number and time."""

    seq: int
    at: float
    event: Event
    event_id: str | None = None


def kind_of(event: Event) -> str:
    return _NAMES[type(event)]


class _Form(NamedTuple):
    """How events of one kind are written: what is None is left out."""

    fields: Callable[..., Struct]
    values: Callable[[Event], tuple[Any, ...]]  # for these fields
    names: tuple[str, ...]  # of arrays
    arrays: Callable[[Event], tuple[Any, ...]]


def _form(made: Any) -> _Form:
    names: tuple[str, ...] = made._fields
    plain = tuple(name for name in names if name not in _ARRAYS)
    arrays = tuple(name for name in names if name in _ARRAYS)
    fields = defstruct(made.__name__, [(name, Any, None) for name in plain], omit_defaults=True)
    return _Form(fields, _at(names, plain), arrays, _at(names, arrays))


def _at(names: tuple[str, ...], wanted: tuple[str, ...]) -> Callable[[Event], tuple[Any, ...]]:
    """The values of these among all the names of an event."""
    places = [names.index(name) for name in wanted]
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))


_FORMS = {made: _form(made) for made in _NAMES}


def encode(event: Event) -> bytes:
    fields, values, names, arrays = _FORMS[type(event)]
    return pack(fields(*values(event)), dict(zip(names, arrays(event), strict=True)) if names else {})


def decode(row: EventRow) -> Recorded:
    """The event of a row; one that this version cannot read is damage, and named."""
    try:
        seq, kind, _, event_id, at, payload = row
        fields, arrays = unpack(payload)
        said = KINDS[kind](**fields, **arrays) if arrays else KINDS[kind](**fields)
        return Recorded(seq, at, said, event_id)
    except (LookupError, TypeError, ValueError, StorageFailure) as error:
        raise Damaged(
            f"Event {row.seq} ({row.kind!r:.40}) cannot be read: {type(error).__name__}: {error}. "
            "A later version may have written it; if none did, `repair` sets the row aside.",
            seq=row.seq,
        ) from error


def to_json(recorded: Recorded) -> dict[str, JSON]:
    """One line of an exported log; floats survive, since JSON here writes every digit."""
    line: dict[str, JSON] = {"seq": recorded.seq, "at": recorded.at, "kind": kind_of(recorded.event)}
    if recorded.event_id is not None:
        line["event_id"] = recorded.event_id
    for name, value in zip(recorded.event._fields, recorded.event, strict=True):
        if value is not None:
            line[name] = _listed(value) if isinstance(value, np.ndarray) else cast("JSON", value)
    return line


def _listed(values: AnyArray) -> JSON:
    """Nested lists, null for what is not known: JSON has no NaN."""
    if values.dtype != np.float64 or not np.isnan(values).any():
        return cast("JSON", values.tolist())
    told = values.astype(object)
    told[np.isnan(values)] = None
    return cast("JSON", told.tolist())


def from_json(line: dict[str, JSON]) -> Recorded:
    """The event of one line of an exported log."""
    values: dict[str, object] = dict(line)
    try:
        seq, at, kind = values.pop("seq"), values.pop("at"), values.pop("kind")
        event_id = values.pop("event_id", None)
        for name in _INTEGERS + _FLOATS:
            if name in values:
                values[name] = np.array(values[name], dtype=np.int64 if name in _INTEGERS else np.float64)
        event = KINDS[cast("str", kind)](**values)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"This is no line of an exported log ({type(error).__name__}: {error}): {str(line)[:200]}"
        ) from error
    return Recorded(cast("int", seq), cast("float", at), event, cast("str | None", event_id))

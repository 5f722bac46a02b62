"""Events of a log as columns: what a fold takes many at a time.

Nearly all events of a log are plain: a pair is asked for one vote, its whole context is observed, a side has
won. Those are read into arrays without an object for each. Any other event is odd, and read by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np

from duelwise.learning.core.sequence import HEARING, OBSERVING, SERVING
from duelwise.storage.codec import unpack_together
from duelwise.storage.rows import EventColumns
from duelwise.stream.events import Recorded, decode
from duelwise.stream.settings import StreamSettings
from duelwise.types import Array, BoolArray, IntArray, Snapshot

T = TypeVar("T")

ODD = -1
_KINDS = {"asked": SERVING, "observed": OBSERVING, "told": HEARING}
_ASKED_ARRAYS = {"arms", "x", "predicted", "y", "candidates", "bounds"}


class _Asked(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """What an event says beside its arrays."""

    round: int
    tag: str
    swapped: bool
    model_version: int
    ids: list[str] | None = None
    probability: float | None = None
    candidate_ids: list[str] | None = None
    offered: str | None = None
    wanted: int | None = None
    fallback: bool = False


class _Observed(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    round: int


class _Told(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    round: int
    outcome: float
    source: str | None = None


_ASKED = msgspec.json.Decoder(list[_Asked])
_OBSERVED = msgspec.json.Decoder(list[_Observed])
_TOLD = msgspec.json.Decoder(list[_Told])


class AskedColumns(NamedTuple):
    """Duels that were asked, each for one vote."""

    arms: IntArray  # (a, 2)
    x: Array  # (a, 2, dx)
    predicted: Array  # (a, 2, dy)
    y: Array  # (a, 2, dy)
    at_once: BoolArray  # (a,) whether y was known; else it is NaN
    bounds: Array  # (a, 2, dx)
    bounded: BoolArray  # (a,) whether bounds were noted; else they are NaN
    swapped: BoolArray  # (a,)
    fallback: BoolArray  # (a,)


class Columns(NamedTuple):
    """Consecutive events, and of those that are plain what they say, by kind and in their order."""

    rows: EventColumns
    kind: IntArray  # (n,) SERVING, OBSERVING, HEARING, or ODD
    round: IntArray  # (n,) -1 where odd
    asked: AskedColumns
    y: Array  # (c, 2, dy) of contexts
    outcome: Array  # (v,) of votes
    source: Sequence[str | None]  # (v,)

    def __len__(self) -> int:
        return len(self.kind)

    def recorded(self, place: int) -> Recorded:
        """One of the events by itself."""
        return decode(self.rows.row(place))

    def part(self, begin: int, end: int) -> Columns:
        """The events from one place on to before another."""
        own = self.kind[begin:end]
        asked, seen, told = (
            slice(first, first + int(np.count_nonzero(own == kind)))
            for kind in (SERVING, OBSERVING, HEARING)
            for first in [int(np.count_nonzero(self.kind[:begin] == kind))]
        )
        return Columns(
            self.rows.part(begin, end), own, self.round[begin:end],
            AskedColumns._make(column[asked] for column in self.asked),
            self.y[seen], self.outcome[told], self.source[told],
        )  # fmt: skip


def columns_of(rows: EventColumns, settings: StreamSettings) -> Columns:
    """Rows of a stream of these settings, read. What cannot be read is odd: by itself it is an error."""
    kind = np.array(list(map(_KINDS.get, rows.kind, repeat(ODD))), dtype=np.int64)
    round = np.full(len(kind), -1, dtype=np.int64)
    try:
        asked = _asked(_Group(rows, kind, round, SERVING), settings)
        y = _observed(_Group(rows, kind, round, OBSERVING), settings)
        outcome, source = _told(_Group(rows, kind, round, HEARING))
    except (ValueError, OverflowError):
        return columns_of(rows._replace(kind=["odd"] * len(kind)), settings)
    return Columns(rows, kind, round, asked, y, outcome, source)


Places = IntArray | BoolArray | slice


class _Group:
    """The events of one kind: `places` (m,) among all; which of them are plain, and their round, is noted."""

    def __init__(self, rows: EventColumns, kind: IntArray, round: IntArray, own: int) -> None:
        self.places: IntArray = np.flatnonzero(kind == own)
        self.plain: BoolArray = np.zeros(len(self.places), dtype=np.bool_)
        self._rows, self._kind, self._round = rows, kind, round

    def __len__(self) -> int:
        return len(self.places)

    def read(self, decoder: msgspec.json.Decoder[list[T]]) -> Iterator[tuple[Places, list[T], Snapshot]]:
        """Where in the group some events stand, what they say, and their arrays."""
        places: list[int] = self.places.tolist()
        for alike in unpack_together([self._rows.payload[k] for k in places], decoder):
            at: Places = slice(None)
            if len(alike.places) < len(self):
                at = alike.places
            yield at, alike.fields, alike.arrays

    def note(self, at: Places, round: list[int], plain: BoolArray) -> None:
        """Events `at` these positions of the group are plain, or not."""
        self.plain[at] = plain
        self._round[self.places[at]] = round

    def close(self) -> Places:
        """Those that are plain; the others are odd from here on."""
        if self.plain.all():
            return slice(None)
        self._kind[self.places[~self.plain]] = ODD
        self._round[self.places[~self.plain]] = -1
        return self.plain


def _asked(group: _Group, settings: StreamSettings) -> AskedColumns:
    n, dx, dy = len(group), settings.context_dim, settings.post_dim
    flag: BoolArray = np.zeros(n, dtype=np.bool_)
    held = AskedColumns(
        arms=np.zeros((n, 2), dtype=np.int64), x=np.empty((n, 2, dx)), predicted=np.empty((n, 2, dy)),
        y=np.full((n, 2, dy), np.nan), at_once=flag.copy(),
        bounds=np.full((n, 2, dx), np.nan), bounded=flag.copy(), swapped=flag.copy(), fallback=flag.copy(),
    )  # fmt: skip
    shapes = {name: getattr(held, name).shape[1:] for name in ("arms", "x", "predicted", "y", "bounds")}
    for at, said, arrays in group.read(_ASKED):
        expected = {"arms", "x", "predicted"} | (shapes.keys() & arrays.keys())
        if not arrays.keys() <= _ASKED_ARRAYS or any(
            name not in arrays or arrays[name].shape[1:] != shapes[name] for name in expected
        ):
            continue
        for name in expected:
            getattr(held, name)[at] = arrays[name]
        held.at_once[at], held.bounded[at] = "y" in arrays, "bounds" in arrays
        held.swapped[at] = [one.swapped for one in said]
        held.fallback[at] = [one.fallback for one in said]
        plain = np.array([one.wanted is None for one in said])
        for name in expected - {"arms"}:
            plain &= _finite(arrays[name])
        group.note(at, [one.round for one in said], plain)
    plain = group.close()
    return AskedColumns._make(column[plain] for column in held)


def _finite(values: Array) -> BoolArray:
    """(n,) where all of values (n, 2, d) are finite."""
    return np.asarray(np.isfinite(values).all(axis=(1, 2)))


def _observed(group: _Group, settings: StreamSettings) -> Array:
    y = np.empty((len(group), 2, settings.post_dim))
    for at, said, arrays in group.read(_OBSERVED):
        if arrays.keys() == {"y"} and arrays["y"].shape[1:] == y.shape[1:]:
            y[at] = arrays["y"]
            group.note(at, [one.round for one in said], _finite(y[at]))
    return y[group.close()]


def _told(group: _Group) -> tuple[Array, Sequence[str | None]]:
    outcome, source = np.empty(len(group)), np.empty(len(group), dtype=object)
    for at, said, arrays in group.read(_TOLD):
        if arrays:
            continue
        outcome[at] = [one.outcome for one in said]
        source[at] = [one.source for one in said]
        doubled = 2.0 * outcome[at]
        group.note(at, [one.round for one in said], (doubled == 0.0) | (doubled == 1.0) | (doubled == 2.0))
    plain = group.close()
    return outcome[plain], source[plain].tolist()

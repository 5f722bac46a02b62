"""The rows of the store as small values, and the checksum that guards them."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

OPEN_STATES = ("asked", "observed", "voted")
"""States in which a ticket still waits for a vote, a context, or both."""

_STAMP = struct.Struct("<qqd")
NO_ROUND = -1  # the round of events that concern no single duel


class StreamRow(NamedTuple):
    id: int
    name: str
    uid: str  # told apart from a stream of the same name in another store
    settings: str  # JSON
    created_at: float
    head: int  # number of the last event
    rounds: int  # duels asked so far
    generation: int  # raised when a repair rewrites history
    damaged: int | None  # number of the first event known to be damaged


class EventRow(NamedTuple):
    seq: int  # 1, 2, 3, ... without gaps within a stream
    kind: str
    round: int
    event_id: str | None  # the caller's own name for a request, unique within a stream
    at: float  # seconds since the epoch
    payload: bytes


class EventColumns(NamedTuple):
    """Consecutive events, column by column."""

    seq: Sequence[int]
    kind: Sequence[str]
    round: Sequence[int]
    event_id: Sequence[str | None]
    at: Sequence[float]
    payload: Sequence[bytes]

    def row(self, place: int) -> EventRow:
        return EventRow._make(column[place] for column in self)

    def part(self, begin: int, end: int) -> EventColumns:
        """The events from one place on to before another."""
        return EventColumns._make(column[begin:end] for column in self)


class TicketPlace(NamedTuple):
    """Of a ticket among those of its stream, by age."""

    asked_at: float
    round: int


BEGINNING = TicketPlace(-math.inf, -1)


class TicketRow(NamedTuple):
    """The state of one duel: what the log says of it so far."""

    round: int
    tag: str  # the part of the ticket that cannot be guessed from its number
    state: str
    asked_at: float
    asked_seq: int
    observed_seq: int | None
    told_seq: int | None
    closed_seq: int | None  # skipped, expired or retracted
    outcome: float | None  # 1 when the first of the pair won, 0 the second, ½ a tie
    source: str | None
    swapped: bool  # the first of the pair was shown on the right
    wanted: int = 1  # votes
    votes: str | None = None  # JSON [[seq, outcome, source], …] of those that count, where several are wanted

    @property
    def heard(self) -> int:
        """Votes that count."""
        if self.wanted > 1:
            return len(json.loads(self.votes or "[]"))
        return int(self.outcome is not None)

    @property
    def place(self) -> TicketPlace:
        return TicketPlace(self.asked_at, self.round)


class SnapshotRow(NamedTuple):
    seq: int  # the state after this event
    payload: bytes
    format: int = 1  # its layout, and the arithmetic it was folded with
    arithmetic: int = 1


class ServerRow(NamedTuple):
    """A process that serves the store, or did."""

    id: str
    place: str  # host and process
    version: str
    arithmetic: int
    seen_at: float


class KeyRow(NamedTuple):
    name: str
    role: str
    stream: str | None  # None: every stream
    hash: str
    created_at: float
    revoked_at: float | None


def event_checksum(event: EventRow) -> int:
    """CRC-32 of everything the row says."""
    seq, kind, round, event_id, at, payload = event
    return zlib.crc32(payload, zlib.crc32(_words(kind, event_id), zlib.crc32(_STAMP.pack(seq, round, at))))


def _words(kind: str, event_id: str | None) -> bytes:
    return _unnamed(kind) if event_id is None else f"{kind}\0+{event_id}\0".encode()


@lru_cache(maxsize=256)
def _unnamed(kind: str) -> bytes:
    return f"{kind}\0\0".encode()


def is_intact(event: EventRow, checksum: object) -> bool:
    try:
        return event_checksum(event) == checksum
    except (TypeError, struct.error):  # a damaged column may not even have its type
        return False


def are_intact(events: EventColumns, checksums: tuple[object, ...]) -> bool:
    """Whether every one of these events is."""
    seq, kind, round, event_id, at, payload = events
    named = event_id.count(None) < len(event_id)
    words = map(_words, kind, event_id) if named else map(_unnamed, kind)
    try:
        stamps = map(zlib.crc32, map(_STAMP.pack, seq, round, at))
        return tuple(map(zlib.crc32, payload, map(zlib.crc32, words, stamps))) == checksums
    except (TypeError, struct.error):
        return False


def snapshot_checksum(snapshot: SnapshotRow) -> int:
    """CRC-32 of the state and of the number it belongs to."""
    return zlib.crc32(snapshot.payload, snapshot.seq & 0xFFFF_FFFF)

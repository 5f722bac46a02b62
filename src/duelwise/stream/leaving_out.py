"""What a fold leaves out: retracted votes, and those of sources that are held back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

import numpy as np

from duelwise.learning.core.sequence import HEARING
from duelwise.storage import JSON
from duelwise.stream.columns import Columns
from duelwise.stream.events import (
    Recorded,
    Retracted,
    SourceHeld,
    SourceReleased,
    SourcesWeighed,
    Told,
)
from duelwise.types import BoolArray


class LeftOut(NamedTuple):
    """As the log had it after event `upto`; from there on holds and releases take effect as they come."""

    rounds: frozenset[int]
    votes: frozenset[int]  # events of single votes
    sources: frozenset[str]  # held back by somebody
    upto: int
    distrusted: frozenset[str] = frozenset()  # by the latest judgement
    weighed_at: int = 0  # votes that there were at that
    earlier_votes: bool = False  # whether single votes before the snapshot are left out

    def leaves_out(self, told: Told, seq: int) -> bool:
        """Whether the vote of this event does not count."""
        if told.round in self.rounds or seq in self.votes:
            return True
        return told.source in self.sources or told.source in self.distrusted

    @property
    def single_votes(self) -> bool:
        """Whether a duel may stay without some of its votes."""
        return bool(self.votes or self.earlier_votes or self.sources or self.distrusted)

    def leaves_out_of(self, events: Columns) -> BoolArray:
        """(n,) which of these events are of a duel that is left out, or a vote that does not count."""
        found: BoolArray = np.zeros(len(events), dtype=np.bool_)
        if not self.rounds.isdisjoint(events.round.tolist()):
            found |= [round in self.rounds for round in events.round.tolist()]
        if not self.votes.isdisjoint(events.rows.seq):
            found |= [seq in self.votes for seq in events.rows.seq]
        sources = self.sources | self.distrusted
        if not sources.isdisjoint(events.source):
            found[events.kind == HEARING] |= [source in sources for source in events.source]
        return found

    def after(self, recorded: Recorded) -> LeftOut:
        """Once a source is held back or released: votes before it wait for a rebuild."""
        if recorded.seq <= self.upto:  # the fold has known it from its start
            return self
        event = recorded.event
        if isinstance(event, SourceHeld):
            return self._replace(sources=self.sources | {event.source})
        if isinstance(event, SourceReleased):
            return self._replace(sources=self.sources - {event.source})
        if isinstance(event, SourcesWeighed):
            return self._replace(distrusted=frozenset(event.sources), weighed_at=event.votes)
        return self

    def snapshot(self) -> dict[str, JSON]:
        fields: dict[str, JSON] = {"held_sources": cast("JSON", sorted(self.sources))}
        if self.weighed_at:
            fields["distrusted_sources"] = cast("JSON", sorted(self.distrusted))
            fields["weighed_at"] = self.weighed_at
        if self.votes or self.earlier_votes:
            fields["votes_left_out"] = True
        return fields

    @classmethod
    def restored(cls, fields: dict[str, JSON]) -> LeftOut:
        """Rounds and votes before a snapshot are in it, or not, for good."""
        return cls(
            frozenset(), frozenset(), frozenset(cast("list[str]", fields["held_sources"])), 0,
            frozenset(cast("list[str]", fields.get("distrusted_sources", []))),
            cast("int", fields.get("weighed_at", 0)),
            "votes_left_out" in fields,
        )  # fmt: skip


NOTHING_LEFT_OUT = LeftOut(frozenset(), frozenset(), frozenset(), 0)


def left_out(rewriting: Iterable[Recorded]) -> LeftOut:
    """What these events, the rewriting ones up to some moment, leave out."""
    rounds: set[int] = set()
    votes: set[int] = set()
    held, upto = NOTHING_LEFT_OUT, 0
    for recorded in rewriting:
        event = recorded.event
        if isinstance(event, Retracted) and event.vote is None:
            rounds.add(event.round)
        elif isinstance(event, Retracted) and event.vote is not None:
            votes.add(event.vote)
        held, upto = held.after(recorded), recorded.seq
    return held._replace(rounds=frozenset(rounds), votes=frozenset(votes), upto=upto)

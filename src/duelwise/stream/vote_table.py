"""Every vote of a log that was learned from, as columns: what raters, audits and tables are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelwise.answers.influence import leverages
from duelwise.answers.raters import Judged
from duelwise.garbage_collection import uncollected
from duelwise.stream import tickets
from duelwise.stream.events import NO_ROUND, REWRITING, Asked, Cut, Recorded
from duelwise.stream.leaving_out import left_out
from duelwise.stream.lifecycle import winner_of
from duelwise.stream.logs import Log
from duelwise.stream.open_duels import LearnedVote
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import StreamState
from duelwise.types import Array, BoolArray, IntArray


@dataclass(frozen=True)
class VoteTable:
    """One row a vote, in the order in which they were learned from."""

    settings: StreamSettings
    round: IntArray  # (n,)
    ticket: list[str]
    at: Array  # (n,) when the vote came
    delay: Array  # (n,) seconds from asking
    first: list[str | None]  # ids of the pair, in the learner's order
    second: list[str | None]
    swapped: BoolArray  # (n,) the first was shown on the right
    source: list[str | None]
    dz: Array  # (n, d) first minus second, the side before the features where the model knows sides
    outcome: Array  # (n,) 1: the first won
    weight: Array  # (n,) as the learner counted it
    rank: IntArray  # (n,) of the duel among those served of two different candidates, from 1
    leverage: Array  # (n,) ‖Δz‖ in λI + Σ ΔzΔzᵀ/4 of the votes before: how new the question was
    x: Array  # (n, 2, dx) features of the pair

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def left_won(self) -> Array:
        """(n,) 1 where the side shown left won."""
        return np.where(self.swapped, 1 - self.outcome, self.outcome)

    def winner(self, row: int) -> str:
        return winner_of(float(self.outcome[row]), swapped=bool(self.swapped[row]))

    def sources(self) -> tuple[list[str], IntArray]:
        """Names of sources in the order of their first vote, and the number of each vote's (-1: none)."""
        numbers: dict[str, int] = {}
        of_vote = [-1 if name is None else numbers.setdefault(name, len(numbers)) for name in self.source]
        return list(numbers), np.array(of_vote, dtype=np.int64)

    def judged(self) -> tuple[list[str], Judged]:
        """The columns that sources are judged by."""
        names, numbers = self.sources()
        return names, Judged(self.dz, self.outcome, numbers, self.left_won)


class AskedDuel(NamedTuple):
    """A duel as it went by in a log."""

    at: float
    duel: Asked
    rank: int  # among those served of two different candidates, from 1


def read_votes(
    settings: StreamSettings, log: Log, *, upto: int, held_too: bool = False, distrusted_too: bool = False
) -> VoteTable:
    """Walk a log; retracted votes are left out, and those of held and of distrusted sources if not wanted."""
    leaving_out = left_out(log.of_kinds(REWRITING, upto=upto))
    if held_too:
        leaving_out = leaving_out._replace(sources=frozenset())
    if held_too or distrusted_too:
        leaving_out = leaving_out._replace(distrusted=frozenset())
    return table_of(settings, log.events(after=0, upto=upto), StreamState(settings, leaving_out=leaving_out))


def table_of(settings: StreamSettings, events: Iterable[Recorded], folded: StreamState) -> VoteTable:
    """The votes that a fold learns from on its way."""
    asked: dict[int, AskedDuel] = {}
    votes: list[LearnedVote] = []
    folded.on_learned = votes.extend

    def noting_asks() -> Iterator[Recorded]:
        rank = 0
        for recorded in events:
            event = recorded.event
            if isinstance(event, Asked):
                rank += int(event.arms[0] != event.arms[1])
                asked[event.round] = AskedDuel(recorded.at, event, rank)
            elif isinstance(event, Cut) and event.round != NO_ROUND:
                rank += 1  # it was served, whatever it was
            yield recorded

    with uncollected():
        folded.apply_all(noting_asks())
        return _columns(settings, votes, [asked[vote.round] for vote in votes])


def _columns(settings: StreamSettings, votes: Sequence[LearnedVote], asked: Sequence[AskedDuel]) -> VoteTable:
    dz = np.array([vote.dz for vote in votes]).reshape(-1, settings.model_dim)
    at = np.array([vote.at for vote in votes])
    ids = [one.duel.ids or (None, None) for one in asked]
    return VoteTable(
        settings=settings,
        round=np.array([vote.round for vote in votes], dtype=np.int64),
        ticket=[tickets.write(one.duel.round, one.duel.tag) for one in asked],
        at=at,
        delay=at - np.array([one.at for one in asked]),
        first=[pair[0] for pair in ids],
        second=[pair[1] for pair in ids],
        swapped=np.array([one.duel.swapped for one in asked], dtype=np.bool_),
        source=[vote.source for vote in votes],
        dz=dz,
        outcome=np.array([vote.outcome for vote in votes]),
        weight=np.array([vote.weight for vote in votes]),
        rank=np.array([one.rank for one in asked], dtype=np.int64),
        leverage=leverages(dz),
        x=np.array([one.duel.x for one in asked]).reshape(-1, 2, settings.context_dim),
    )

"""The sources of a stream, judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from duelwise.answers.raters import Flag, Judged, judge
from duelwise.stream.gold import Gold, gold_votes
from duelwise.stream.vote_table import VoteTable
from duelwise.types import Array

SOURCES_JUDGED = 1000  # those of most votes; the others are one class, "the rest", which is not judged


class Rater(NamedTuple):
    """What is known of one source."""

    source: str
    votes: int
    agreement: float
    reliability: float  # 1 as the crowd, 0 a coin, below 0 against it
    low: float
    high: float
    left_share: float
    seconds: float | None  # median time from asking to voting
    flag: Flag | None
    weight: float  # what its votes should count
    held: bool
    distrusted: bool  # by the stream itself, where sources are weighted
    gold_votes: int  # on gold pairs, which are not among the votes above
    gold_right: float  # of them; a tie counts half


def raters_of(
    votes: VoteTable,
    prior_variance: Array,
    *,
    held: frozenset[str] = frozenset(),
    distrusted: frozenset[str] = frozenset(),
    gold: Sequence[Gold] = (),
) -> tuple[Rater, ...]:
    """Every source, most votes first; votes on gold pairs are counted apart."""
    names, all_votes = votes.judged()
    if not names:
        return ()
    tested = gold_votes(votes, gold)
    count = np.bincount(all_votes.source[all_votes.source >= 0], minlength=len(names))
    order = np.argsort(-count, kind="stable")[:SOURCES_JUDGED]
    number = np.full(len(names) + 1, -1, dtype=np.int64)  # the last stands for votes without a source
    number[order] = np.arange(len(order))
    source, plain = number[all_votes.source], ~tested.asked
    judged = Judged(all_votes.dz[plain], all_votes.outcome[plain], source[plain], all_votes.left_won[plain])
    found = judge(judged, sources=len(order), prior_variance=prior_variance)
    return tuple(
        Rater(
            source=names[original],
            votes=int(found.votes[s]),
            agreement=float(found.agreement[s]),
            reliability=float(found.reliability[s]),
            low=float(found.low[s]),
            high=float(found.high[s]),
            left_share=float(found.left_share[s]),
            seconds=float(np.median(votes.delay[source == s])),
            flag=found.flag[s],
            weight=float(found.weight[s]),
            held=names[original] in held,
            distrusted=names[original] in distrusted,
            gold_votes=int(tested.asked[source == s].sum()),
            gold_right=float(tested.right[source == s].sum()),
        )
        for s, original in enumerate(order.tolist())
    )

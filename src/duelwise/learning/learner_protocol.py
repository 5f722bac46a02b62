"""What the laboratory and a stream ask of a learner, and what it says it has learned."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np

from duelwise.types import Array, Contexts, Duel, IntArray, Served, Snapshot, Votes


class Learned(NamedTuple):
    """Votes that were learned from now, and how much each counts for good: a line of the ledger each.

    A vote that teaches provisionally is named when its y is known.
    """

    run: IntArray  # (n,)
    round: IntArray  # (n,)
    weight: Array  # (n,)


NOTHING = Learned(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))


def joined(each: Iterable[Learned]) -> Learned:
    """What was learned at several times."""
    return Learned(*map(np.concatenate, zip(*each, strict=True)))


class Learner(Protocol):
    """What the laboratory and a stream ask of a learner. ask = choose + serve."""

    @property
    def runs(self) -> int: ...
    @property
    def context_dim(self) -> int: ...
    @property
    def post_dim(self) -> int: ...
    @property
    def round(self) -> int: ...

    def choose(self, x: Array) -> Duel: ...
    def serve(self, duel: Duel) -> None: ...
    def observe(self, contexts: Contexts) -> Learned: ...
    def tell(self, votes: Votes) -> Learned: ...
    def forget(self, run: int, round: int) -> None: ...
    def waits_for_context(self, run: int, round: int) -> bool: ...
    def expected_context(self, run: int, round: int) -> Array: ...
    def teach(self, run: IntArray, x: Array, y: Array) -> None: ...
    def served(self, round: int) -> Served: ...
    def snapshot(self) -> Snapshot: ...
    def restore(self, state: Snapshot) -> None: ...

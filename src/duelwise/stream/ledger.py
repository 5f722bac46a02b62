"""What a stream keeps count of beside its learner: bounded, and a fold like the learner itself."""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import numpy as np

from duelwise.storage import JSON
from duelwise.storage.rows import OPEN_STATES
from duelwise.types import IntArray, Snapshot

STATES: tuple[str, ...] = (*OPEN_STATES, "told", "skipped", "expired", "retracted")
WEIGHT_BINS = 20  # of equal width over (0, 1]
LOWEST_KEPT = 20  # votes with the least weight
SOURCES_KEPT = 1000  # when there are more, the one whose votes count most makes room
DELAY_FLOOR = 1e-3  # seconds; shorter delays fall into the first bin
DELAY_BINS_PER_DOUBLING = 4
DELAY_BINS = 160  # up to 2^40 ms, 35 years


class Waiting(NamedTuple):
    """An open ticket."""

    asked_at: float
    swapped: bool
    state: int  # a position in STATES


class LowVote(NamedTuple):
    weight: float
    round: int
    source: str | None


class Ledger:
    """Counts by state, delays, weights, sources and positions."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = dict.fromkeys(STATES, 0)
        self.waiting: dict[int, Waiting] = {}
        self.voted_sources: dict[int, str] = {}  # of votes that wait for their context
        self.delays: IntArray = np.zeros(DELAY_BINS, dtype=np.int64)
        self.weights: IntArray = np.zeros(WEIGHT_BINS, dtype=np.int64)
        self.lowest: list[LowVote] = []  # least weight first
        self.sources: dict[str, tuple[int, float]] = {}  # votes learned, sum of their weights
        self.sources_dropped = 0
        self.first_on_left = 0
        self.wins = {"left": 0, "right": 0, "tie": 0}
        self.unlearning_since = 0  # the last retraction of a vote that was learned already
        self.rebuilt_upto = 0

    @property
    def rebuild_is_due(self) -> bool:
        """Some vote that was retracted is still part of the estimate."""
        return self.unlearning_since > self.rebuilt_upto

    def asked(self, round: int, at: float, *, swapped: bool, observed: bool) -> None:
        state = STATES.index("observed" if observed else "asked")
        self.waiting[round] = Waiting(at, swapped, state)
        self.counts[STATES[state]] += 1
        self.first_on_left += not swapped

    def observed(self, round: int) -> None:
        voted = STATES[self.waiting[round].state] == "voted"
        self._move(round, "told" if voted else "observed")

    def told(self, round: int, at: float, outcome: float, source: str | None) -> None:
        ticket = self.waiting[round]
        self.delays[_delay_bin(at - ticket.asked_at)] += 1
        self.wins["tie" if outcome == 0.5 else "left" if (outcome == 1) != ticket.swapped else "right"] += 1
        if source is not None:
            self.voted_sources[round] = source
        self._move(round, "told" if STATES[ticket.state] == "observed" else "voted")

    def learned(self, round: int, weight: float) -> None:
        """The vote of this round moved the estimate, and counted this much."""
        source = self.voted_sources.pop(round, None)
        self.weights[min(int(weight * WEIGHT_BINS), WEIGHT_BINS - 1)] += 1
        if len(self.lowest) < LOWEST_KEPT or weight < self.lowest[-1].weight:
            # Among equal weights the earlier vote stands first.
            kept = sorted([*self.lowest, LowVote(weight, round, source)], key=lambda low: low.weight)
            self.lowest = kept[:LOWEST_KEPT]
        if source is not None:
            self._credit(source, weight)

    def closed(self, round: int, state: str) -> None:
        """Skipped, expired or retracted."""
        self.voted_sources.pop(round, None)
        if round in self.waiting:
            self._move(round, state)
        else:
            self.counts["told"] -= 1
            self.counts[state] += 1

    def _move(self, round: int, state: str) -> None:
        ticket = self.waiting.pop(round)
        self.counts[STATES[ticket.state]] -= 1
        self.counts[state] += 1
        if state in OPEN_STATES:
            self.waiting[round] = ticket._replace(state=STATES.index(state))

    def _credit(self, source: str, weight: float) -> None:
        votes, total = self.sources.get(source, (0, 0.0))
        self.sources[source] = (votes + 1, total + weight)
        if len(self.sources) > SOURCES_KEPT:
            heaviest = max(self.sources, key=lambda name: self.sources[name][1] / self.sources[name][0])
            del self.sources[heaviest]
            self.sources_dropped += 1

    def snapshot(self) -> tuple[dict[str, JSON], Snapshot]:
        fields: dict[str, JSON] = {
            "counts": {**self.counts},
            "voted_sources": [[round, source] for round, source in self.voted_sources.items()],
            "lowest": [list(low) for low in self.lowest],
            "sources": [[name, votes, total] for name, (votes, total) in self.sources.items()],
            "sources_dropped": self.sources_dropped,
            "first_on_left": self.first_on_left,
            "wins": {**self.wins},
            "unlearning_since": self.unlearning_since,
            "rebuilt_upto": self.rebuilt_upto,
        }
        tickets = self.waiting.values()
        arrays: Snapshot = {
            "delays": self.delays.copy(),
            "weights": self.weights.copy(),
            "waiting.round": np.fromiter(self.waiting, dtype=np.int64),
            "waiting.asked_at": np.fromiter((t.asked_at for t in tickets), dtype=np.float64),
            "waiting.swapped": np.fromiter((t.swapped for t in tickets), dtype=np.bool_),
            "waiting.state": np.fromiter((t.state for t in tickets), dtype=np.int64),
        }
        return fields, arrays

    def restore(self, fields: dict[str, JSON], arrays: Snapshot) -> None:
        self.counts = cast("dict[str, int]", fields["counts"])
        self.voted_sources = dict(cast("list[tuple[int, str]]", fields["voted_sources"]))
        self.lowest = [LowVote._make(low) for low in cast("list[list[JSON]]", fields["lowest"])]
        sources = cast("list[tuple[str, int, float]]", fields["sources"])
        self.sources = {name: (votes, total) for name, votes, total in sources}
        self.sources_dropped = cast("int", fields["sources_dropped"])
        self.first_on_left = cast("int", fields["first_on_left"])
        self.wins = cast("dict[str, int]", fields["wins"])
        self.unlearning_since = cast("int", fields["unlearning_since"])
        self.rebuilt_upto = cast("int", fields["rebuilt_upto"])
        self.delays, self.weights = arrays["delays"], arrays["weights"]
        columns = (arrays[f"waiting.{name}"].tolist() for name in ("round", "asked_at", "swapped", "state"))
        self.waiting = {round: Waiting(*ticket) for round, *ticket in zip(*columns, strict=True)}


def _delay_bin(seconds: float) -> int:
    doublings = math.log2(max(seconds, DELAY_FLOOR) / DELAY_FLOOR)
    return min(int(doublings * DELAY_BINS_PER_DOUBLING), DELAY_BINS - 1)


def delay_quantile(delays: IntArray, share: float) -> float | None:
    """The delay in seconds that this share of votes did not exceed, to within a fifth."""
    total = int(delays.sum())
    if total == 0:
        return None
    reached = int(np.searchsorted(np.cumsum(delays), share * total))
    return DELAY_FLOOR * 2.0 ** ((min(reached, DELAY_BINS - 1) + 1) / DELAY_BINS_PER_DOUBLING)

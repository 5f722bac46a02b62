"""What a stream keeps count of beside its learner: bounded, and a fold like the learner itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import islice
from typing import NamedTuple, cast

import numpy as np

from duelwise.errors import Damaged
from duelwise.learning.core.sequence import HEARING, SERVING
from duelwise.storage import JSON
from duelwise.storage.rows import OPEN_STATES
from duelwise.stream.columns import Columns
from duelwise.stream.events import (
    Asked,
    ClockConfirmed,
    Event,
    Rebuilt,
    Recorded,
    Retracted,
    Told,
    kind_of,
)
from duelwise.stream.lifecycle import STATES, STEPS, transition, winner_of
from duelwise.stream.log_time import LogTime
from duelwise.stream.plain_steps import plain_steps
from duelwise.stream.vote_delays import DELAY_BINS, delay_bin, delay_bins
from duelwise.types import Array, IntArray, Snapshot

LONGEST_RETRACTION = 60.0  # seconds between two parts of one; after it nobody is waited for
FEW = 8  # votes that are not worth taking together
WEIGHT_BINS = 20  # of equal width over (0, 1]
LOWEST_KEPT = 20  # votes with the least weight
WEIGHTS_KEPT = 1000  # duels whose weight a ticket still shows
SOURCES_KEPT = 1000  # when there are more, the one whose votes count most makes room
KEPT_AS_THEY_ARE = (
    "sources_dropped", "rounds", "first_on_left", "fallbacks",
    "unlearning_since", "retracted_at", "retracting", "rebuilt_upto",
)  # fmt: skip
"""Attributes that stand in a snapshot under their own names."""


class OpenTicket(NamedTuple):
    """An open ticket."""

    asked_at: float
    swapped: bool
    state: str
    wanted: int = 1
    heard: int = 0


class ClosedTicket(NamedTuple):
    """A ticket that is no longer kept in memory: only a retraction can still change it."""

    state: str = "told"
    wanted: int = 1
    heard: int = 1


CLOSED = ClosedTicket()


class LowVote(NamedTuple):
    weight: float
    round: int
    source: str | None


class Ledger:
    """Counts by state, delays, weights, sources and positions."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = dict.fromkeys(STATES, 0)
        self.waiting: dict[int, OpenTicket] = {}
        self.delays: IntArray = np.zeros(DELAY_BINS, dtype=np.int64)
        self.weights: IntArray = np.zeros(WEIGHT_BINS, dtype=np.int64)
        self.lowest: list[LowVote] = []  # least weight first
        self.sources: dict[str, tuple[int, float]] = {}  # votes learned, sum of their weights
        self.sources_dropped = 0
        self.weights_of: dict[int, float] = {}  # of the duels learned last, by round
        self.rounds = 0
        self.first_on_left = 0
        self.fallbacks = 0  # duels whose pair the learner could not choose
        self.wins = {"left": 0, "right": 0, "tie": 0}
        self.unlearning_since = 0  # the last retraction of a vote that was learned already
        self.retracted_at = 0.0  # when it was,
        self.retracting = False  # and whether others of the same retraction follow
        self.rebuilt_upto = 0
        self.time = LogTime()

    @property
    def rebuild_is_due(self) -> bool:
        """Some vote that was retracted is still part of the estimate."""
        return self.unlearning_since > self.rebuilt_upto

    def rebuild_may_start(self, now: float) -> bool:
        """A retraction of many votes is over, or whoever made it has died on the way."""
        return self.rebuild_is_due and (
            not self.retracting or abs(now - self.retracted_at) > LONGEST_RETRACTION
        )

    def agrees_with(self, round: int, state: str) -> bool:
        """Whether a ticket of this state is what the log says of it."""
        ticket = self.waiting.get(round)
        return state not in OPEN_STATES if ticket is None else state == ticket.state

    def take(self, recorded: Recorded) -> str | None:
        """Count the next event; returns the state that its ticket had before it.

        An event that cannot have happened to its ticket is damage, and named.
        """
        event, at = recorded.event, recorded.at
        self.time.take(at)
        if type(event) not in STEPS:
            self._take_note(event, at)
            return None
        if isinstance(event, Asked):
            possible, ticket = event.round == self.rounds, None
        else:
            possible, ticket = 0 <= event.round < self.rounds, self.waiting.get(event.round, CLOSED)
        state = transition(ticket, event) if possible else None
        if state is None:
            raise Damaged(
                f"Event {recorded.seq} says that duel {event.round} was {kind_of(event)}, which cannot "
                "follow what was recorded before. `repair` sets the row aside.",
                seq=recorded.seq,
            )
        if isinstance(event, Asked):
            self.waiting[event.round] = OpenTicket(at, event.swapped, state, event.wanted or 1)
            self.counts[state] += 1
            self.rounds += 1
            self.first_on_left += not event.swapped
            self.fallbacks += event.fallback
            return None
        if isinstance(event, Told):
            self._told(event, at)
            return self._move(event.round, state, heard=1)
        if isinstance(event, Retracted):
            self.retracted_at, self.retracting = at, event.more
            return self._move(event.round, state, heard=-1)
        return self._move(event.round, state)

    def plain_steps(
        self, events: Columns, *, partly_known: Set[int], votes_first: bool
    ) -> tuple[int, dict[int, str]]:
        """How many events from the first on are plain steps of tickets that want one vote.

        Beside it the states that they lead to, by round; nothing is counted yet. Not plain are events of
        duels whose context is `partly_known`, and a context after its vote unless votes may come first.
        """
        return plain_steps(
            events, first=self.rounds, votes_first=votes_first,
            state_of=lambda round: self._single(round, partly_known),
        )  # fmt: skip

    def _single(self, round: int, partly_known: Set[int]) -> str:
        """The state of an open ticket that wants one vote, and has all of its context or none."""
        ticket = self.waiting.get(round)
        return "" if ticket is None or ticket.wanted > 1 or round in partly_known else ticket.state

    def take_all(self, events: Columns, states: Mapping[int, str]) -> dict[int, str]:
        """Count plain events that lead to these states, as `take` would one after another.

        Returns the states of tickets that were open before or still are.
        """
        first, asked = self.rounds, events.asked
        self.time.take_all(events.rows.at)
        at, told = np.array(events.rows.at), events.kind == HEARING
        asked_at = at[events.kind == SERVING]
        self.rounds += len(asked_at)
        self.first_on_left += len(asked_at) - int(asked.swapped.sum())
        self.fallbacks += int(asked.fallback.sum())
        self._told_all(events, first, at[told], asked_at)
        for state, count in Counter(states.values()).items():
            self.counts[state] += count
        left: dict[int, str] = {k: state for k, state in states.items() if k < first or state in OPEN_STATES}
        for round, state in left.items():
            before, place = self.waiting.get(round), round - first
            if before is not None:
                self.counts[before.state] -= 1
            if state not in OPEN_STATES:
                del self.waiting[round]
            elif before is not None:
                self.waiting[round] = before._replace(state=state, heard=int(state == "voted"))
            else:
                moment, swapped = float(asked_at[place]), bool(asked.swapped[place])
                self.waiting[round] = OpenTicket(moment, swapped, state, heard=int(state == "voted"))
        return left

    def _told_all(self, events: Columns, first: int, at: Array, asked_at: Array) -> None:
        """Votes that came at (v,), of duels that were asked before round `first` or asked_at (a,)."""
        rounds = events.round[events.kind == HEARING]
        began, swapped = np.empty(len(rounds)), np.empty(len(rounds), dtype=np.bool_)
        now = rounds >= first
        began[now], swapped[now] = asked_at[rounds[now] - first], events.asked.swapped[rounds[now] - first]
        tickets = [self.waiting[round] for round in rounds[~now].tolist()]
        began[~now], swapped[~now] = [t.asked_at for t in tickets], [t.swapped for t in tickets]
        self.delays += np.bincount(delay_bins(at - began), minlength=DELAY_BINS)
        for (outcome, is_swapped), count in Counter(
            zip(events.outcome.tolist(), swapped.tolist(), strict=True)
        ).items():
            self.wins[winner_of(outcome, swapped=is_swapped)] += count

    def _take_note(self, event: Event, at: float) -> None:
        """Events that are no step in a ticket's life."""
        if isinstance(event, Rebuilt):
            self.rebuilt_upto = event.upto
        elif isinstance(event, ClockConfirmed):
            self.time.confirm(at)
        elif event.round >= 0:  # a duel whose record was cut still counts its round
            self.counts["retracted"] += 1
            self.rounds += 1
            self.first_on_left += 1

    def _told(self, told: Told, at: float) -> None:
        ticket = self.waiting[told.round]
        self.delays[delay_bin(at - ticket.asked_at)] += 1
        self.wins[winner_of(told.outcome, swapped=ticket.swapped)] += 1

    def learned(self, round: int, weight: float, source: str | None) -> None:
        """A vote of this round moved the estimate, and counted this much."""
        self.weights[min(int(weight * WEIGHT_BINS), WEIGHT_BINS - 1)] += 1
        if len(self.lowest) < LOWEST_KEPT or weight < self.lowest[-1].weight:
            # Among equal weights the earlier vote stands first.
            kept = sorted([*self.lowest, LowVote(weight, round, source)], key=lambda low: low.weight)
            self.lowest = kept[:LOWEST_KEPT]
        self.weights_of[round] = weight
        if len(self.weights_of) > WEIGHTS_KEPT:
            del self.weights_of[next(iter(self.weights_of))]
        if source is not None:
            self._credit(source, weight)

    def learned_all(
        self, rounds: Sequence[int], weights: Sequence[float], sources: Sequence[str | None]
    ) -> None:
        """The same of several votes, in their order; of many for less."""
        if len(rounds) < FEW:
            for vote in zip(rounds, weights, sources, strict=True):
                self.learned(*vote)
            return
        lowest = self.lowest[-1].weight if len(self.lowest) == LOWEST_KEPT else math.inf
        low = [LowVote(*vote) for vote in zip(weights, rounds, sources, strict=True) if vote[0] < lowest]
        if low:
            self.lowest = sorted([*self.lowest, *low], key=lambda low: low.weight)[:LOWEST_KEPT]
        bins = (np.array(weights) * WEIGHT_BINS).astype(np.int64)
        self.weights += np.bincount(np.minimum(bins, WEIGHT_BINS - 1), minlength=WEIGHT_BINS)
        self._show_weights(rounds, weights)
        for source, weight in zip(sources, weights, strict=True):
            if source is not None:
                self._credit(source, weight)

    def _show_weights(self, rounds: Sequence[int], weights: Sequence[float]) -> None:
        """Keep the weights of the duels learned last; one that is here already keeps its place."""
        shown, fresh = self.weights_of, dict(zip(rounds, weights, strict=True))
        if len(fresh) == len(rounds) and shown.keys().isdisjoint(fresh):
            shown |= fresh
            for round in list(islice(shown, max(0, len(shown) - WEIGHTS_KEPT))):
                del shown[round]
            return
        for round, weight in zip(rounds, weights, strict=True):
            shown[round] = weight
            if len(shown) > WEIGHTS_KEPT:
                del shown[next(iter(shown))]

    def _move(self, round: int, state: str, *, heard: int = 0) -> str:
        """An open ticket keeps its place: the first is the one asked first. `heard`: votes more by now."""
        ticket = self.waiting.get(round)
        before = "told" if ticket is None else ticket.state
        self.counts[before] -= 1
        self.counts[state] += 1
        if state in OPEN_STATES and ticket is not None:
            asked_at, swapped, _, wanted, before_it = ticket
            self.waiting[round] = OpenTicket(asked_at, swapped, state, wanted, max(0, before_it + heard))
        elif ticket is not None:
            del self.waiting[round]
        return before

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
            "lowest": [list(low) for low in self.lowest],
            "sources": [[name, votes, total] for name, (votes, total) in self.sources.items()],
            "weights_of": [[round, weight] for round, weight in self.weights_of.items()],
            "wins": {**self.wins},
            "time": [self.time.believed, self.time.doubted],
            **{name: getattr(self, name) for name in KEPT_AS_THEY_ARE},
        }
        tickets = self.waiting.values()
        arrays: Snapshot = {
            "delays": self.delays.copy(),
            "weights": self.weights.copy(),
            "waiting.round": np.fromiter(self.waiting, dtype=np.int64),
            "waiting.asked_at": np.fromiter((t.asked_at for t in tickets), dtype=np.float64),
            "waiting.swapped": np.fromiter((t.swapped for t in tickets), dtype=np.bool_),
            "waiting.state": np.fromiter((STATES.index(t.state) for t in tickets), dtype=np.int64),
            "waiting.wanted": np.fromiter((t.wanted for t in tickets), dtype=np.int64),
            "waiting.heard": np.fromiter((t.heard for t in tickets), dtype=np.int64),
        }
        return fields, arrays

    def restore(self, fields: dict[str, JSON], arrays: Snapshot) -> None:
        self.counts = cast("dict[str, int]", fields["counts"])
        self.lowest = [LowVote._make(low) for low in cast("list[list[JSON]]", fields["lowest"])]
        sources = cast("list[tuple[str, int, float]]", fields["sources"])
        self.sources = {name: (votes, total) for name, votes, total in sources}
        self.weights_of = dict(cast("list[tuple[int, float]]", fields["weights_of"]))
        self.wins = cast("dict[str, int]", fields["wins"])
        for name in KEPT_AS_THEY_ARE:
            setattr(self, name, fields[name])
        self.time = LogTime(*cast("list[float | None]", fields["time"]))
        self.delays, self.weights = arrays["delays"], arrays["weights"]
        names = ("round", "asked_at", "swapped", "state", "wanted", "heard")
        columns = (arrays[f"waiting.{name}"].tolist() for name in names)
        self.waiting = {
            round: OpenTicket(asked_at, swapped, STATES[state], wanted, heard)
            for round, asked_at, swapped, state, wanted, heard in zip(*columns, strict=True)
        }


def renamed_source(fields: dict[str, JSON], source: str, other: str) -> dict[str, JSON]:
    """The fields of a snapshot with another name for a source."""
    renamed = dict(fields)
    for name in ("lowest", "sources", "heard"):
        rows = cast("list[list[JSON]]", fields[name])
        renamed[name] = [[other if value == source else value for value in row] for row in rows]
    for name in ("held_sources", "distrusted_sources"):
        if name in fields:
            names = cast("list[str]", fields[name])
            renamed[name] = [other if one == source else one for one in names]
    return renamed

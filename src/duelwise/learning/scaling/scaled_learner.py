"""A learner behind its ranges: it sees every feature in units of its range and never outside its bounds.

While ranges are learned, what happened is kept in raw numbers, and a new range folds it all again: the
state is what it would be had the new range held from the start. Once they are settled the units stay,
the raw numbers are dropped, and a wider range only lets later values further out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple, cast

import numpy as np

from duelwise.learning import validation
from duelwise.learning.apply import apply
from duelwise.learning.ask_batch import AskBatch
from duelwise.learning.core.batch import all_finite
from duelwise.learning.core.state import under
from duelwise.learning.core.state_pointer import handle
from duelwise.learning.core.units import Units
from duelwise.learning.event_batch import EventBatch, Single, is_single
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.learner_protocol import NOTHING, Learned, joined
from duelwise.learning.scaling.range_learning import estimated, widened
from duelwise.learning.scaling.ranges import Ranges, spread
from duelwise.learning.scaling.raw_history import RawHistory, spread_of_pairs, stacked, with_offer
from duelwise.types import (
    Array,
    BoolArray,
    Contexts,
    Duel,
    Event,
    Forgotten,
    IntArray,
    Served,
    Snapshot,
    Taught,
    Votes,
)

LEARNING_ASKS = 512  # after which ranges settle,
LEARNING_CONTEXTS = 256  # if so many contexts were seen,
LONGEST_ASKS = 4096  # but after these at the latest,
LONGEST_EVENTS = 4 * LONGEST_ASKS  # or these: what is kept in raw numbers is bounded
RECENT = 256  # asks and contexts that a wider range is judged by
SHARE = "scaling."  # of a snapshot's names


class Ranging(NamedTuple):
    """Ranges to go over to, and whether their units are for good."""

    ranges: Ranges
    settled: bool


class Offer(NamedTuple):
    """Candidates, measured once."""

    x: Array  # (R, K, dx) as they came
    units: Array  # (R, K, dx) in units of their ranges, and within them
    beyond: IntArray  # (R, dx) how many of each feature lie outside
    bounds: Array | None  # (R, 2, dx) least and greatest of each feature; None once ranges have settled


class ScaledLearner:
    """Raw numbers outside, units within ±reach inside.

    `learned` (d,) marks the features whose range is learned; the others keep theirs. When ranges are
    `due`, whoever holds the learner goes over to them with `rescale`, and may record it.
    """

    def __init__(self, make: Callable[[], DuelingLearner], ranges: Ranges, *, learned: BoolArray) -> None:
        self._make, self.learner = make, make()
        self.runs, self.context_dim = self.learner.runs, self.learner.context_dim
        self.post_dim = self.learner.post_dim
        self.learned, self._learns = learned, bool(learned.any())
        self.settled = not self._learns
        self.asks, self.next_due = 0, 1
        self.clamped: IntArray = np.zeros((self.runs, len(learned)), np.int64)
        self._history = RawHistory(runs=self.runs, context_dim=self.context_dim, post_dim=self.post_dim)
        self._recent_offers: deque[Array] = deque(maxlen=RECENT)  # (R, 2, dx) each: bounds, or the pair
        self._recent_contexts: deque[Array] = deque(maxlen=RECENT)  # (R, 2, dy) each: the same
        self._set(ranges)

    def _set(self, ranges: Ranges) -> None:
        self.ranges: Ranges = ranges
        self._x = ranges.part(0, self.context_dim)
        self._y = ranges.part(self.context_dim, len(self.learned))
        self._units = handle(Units(*ranges))

    @property
    def round(self) -> int:
        """The round that the next duel will have."""
        return self.learner.round

    @property
    def theta(self) -> Array:
        """(R, d) Θ̂ for the features' own numbers."""
        return self.learner.theta / self.ranges.half

    @property
    def votes(self) -> IntArray:
        """(R,) learned so far."""
        return self.learner.votes

    def measure(self, x: Array) -> Offer:
        """Raw candidates x (R, K, dx) as the learner sees them, until the ranges change."""
        x = validation.candidates(x, runs=self.runs, context_dim=self.context_dim)
        units, beyond = self._x.measured(x)
        return Offer(x, units, beyond, None if self.settled else spread(x))

    def choose(self, x: Array) -> Duel:
        """The learner's pair of raw x (R, K, dx), and while ranges are learned what was offered."""
        return self.choose_from(self.measure(x))

    def choose_from(self, offer: Offer) -> Duel:
        """The same of candidates that were measured before."""
        arms, predicted = self.pick(offer)
        pair = offer.x[np.arange(self.runs)[:, None], arms]
        return Duel(self.round, arms, pair, predicted, offer.bounds)

    def pick(self, offer: Offer) -> tuple[IntArray, Array]:
        """Which two, (R, 2), and what φ̂ expects of them, (R, 2, dy) in raw numbers."""
        chosen = self.learner.choose(offer.units)
        return chosen.arms, self._y.raw(chosen.predicted) if self.post_dim else chosen.predicted

    def predict(self, x: Array) -> Array:
        """What φ̂ expects of raw x (R, K, dx), in raw numbers; the centre where it expects no number."""
        return self.predict_units(self._x.scaled(x))

    def predict_units(self, units: Array) -> Array:
        """The same of units (R, K, dx)."""
        expected = self.learner.post_serving.predict(units)
        return self._y.raw(np.where(np.isfinite(expected), expected, 0.0))

    def serve(self, duel: Duel) -> None:
        """Register a duel. One whose x is NaN only counts its round: it teaches nothing."""
        if self._learns:
            duel = with_offer(duel)
        self._let_happen(duel)
        self.asks += 1
        if self._learns and self.settled and duel.offered is not None:
            self._recent_offers.append(duel.offered)

    def observe(self, contexts: Contexts) -> Learned:
        """What became known of some duels; NaN is not known yet."""
        learned = self._let_happen(contexts)
        if self._learns and self.settled and self.post_dim:
            self._recent_contexts.append(spread_of_pairs(contexts, runs=self.runs))
        return learned

    def teach(self, run: IntArray, x: Array, y: Array) -> None:
        """φ̂ alone learns from pairs x (n, 2, dx), y (n, 2, dy), NaN where y is not known."""
        self._let_happen(Taught(run, x, y))

    def waits_for_context(self, run: int, round: int) -> bool:
        """Whether some of y of this duel is still to come."""
        return self.learner.waits_for_context(run, round)

    def expected_context(self, run: int, round: int) -> Array:
        """(2, dy) what φ̂ now expects, in raw numbers, where y is not known; NaN where it is."""
        return self._y.of(np.array([run])).raw(self.learner.expected_context(run, round)[None])[0]

    def tell(self, votes: Votes) -> Learned:
        """Outcomes arrive."""
        return self._let_happen(votes)

    def forget(self, run: int, round: int) -> None:
        """A duel waits for its vote no longer."""
        self._let_happen(Forgotten(run, round))

    def fold(self, gathered: EventBatch) -> Learned:
        """Let many events happen, one after another, in one compiled call where the learner can."""
        if not self.learner.folds_at_once:
            each = [apply(self, event) for event in gathered.one_by_one()]
            return joined(each) if each else NOTHING
        learned = self.learner.fold(gathered, self._units, self.clamped)
        self.asks += len(gathered.offers)
        if not self.settled:
            self._history.extend(gathered)
        elif self._learns:
            self._remember(gathered)
        return learned

    @property
    def asks_at_once(self) -> bool:
        """Whether `choose_and_serve` can take several offers; while ranges are learned it cannot."""
        return self.settled and self.learner.asks_at_once

    def choose_and_serve(self, offers: AskBatch, gathered: EventBatch) -> int:
        """Choose a pair of each offer and serve it, in one compiled call; see the learner's own."""
        served = self.learner.choose_and_serve(offers, gathered, self._units, self.clamped)
        self.asks += served
        if self._learns:
            self._remember(gathered)
        return served

    def _fold_again(self) -> None:
        """Let all that is kept in raw numbers happen to a fresh learner."""
        for singles, some in groupby(self._history.parts, self._can_be_gathered):
            if singles:
                events = cast("list[Single]", list(some))
                gathered = EventBatch.of_events(events, context_dim=self.context_dim, post_dim=self.post_dim)
                self.learner.fold(gathered, self._units, self.clamped)
                continue
            for part in some:
                if isinstance(part, EventBatch):
                    self.learner.fold(part, self._units, self.clamped)
                else:
                    self._fold(part)

    def _can_be_gathered(self, part: Event | EventBatch) -> bool:
        """Whether it is one of several events that can happen in one call."""
        return not isinstance(part, EventBatch) and self.learner.folds_at_once and is_single(part)

    def _remember(self, gathered: EventBatch) -> None:
        """What a wider range will be judged by: only the latest is kept."""
        held, contexts, duels = gathered.events, int(gathered.events.counts[2]), len(gathered.offers)
        if duels:
            latest = slice(max(0, duels - RECENT), duels)
            offers = held.x[latest].copy()
            for row, offered in enumerate(gathered.offers[latest]):
                if offered is not None:
                    offers[row] = offered
            self._recent_offers.extend(offers[:, None])
        if self.post_dim:
            self._recent_contexts.extend(held.y[max(0, contexts - RECENT) : contexts, None].copy())

    def served(self, round: int) -> Served:
        """What is known of a duel that still waits for its vote, in the learner's units."""
        return self.learner.served(round)

    def _let_happen(self, event: Event) -> Learned:
        learned = self._fold(event)
        if not self.settled:
            self._history.append(event)
        return learned

    def _fold(self, event: Event) -> Learned:
        """Let the event happen in units, and count by feature what is clamped."""
        if isinstance(event, Duel):
            x, beyond = self._x.measured(event.x)
            duel = event._replace(x=_middle(x), predicted=_middle(self._y.scaled(event.predicted)))
            learned = apply(self.learner, duel)
            self.clamped[:, : self.context_dim] += beyond
            return learned
        if isinstance(event, Contexts) and self.post_dim:
            y, beyond = self._y.of(event.run).measured(event.y)
            learned = apply(self.learner, event._replace(y=y))
            np.add.at(self.clamped[:, self.context_dim :], event.run, beyond)
            return learned
        if isinstance(event, Taught):
            y = self._y.of(event.run).scaled(event.y)
            event = event._replace(x=self._x.of(event.run).scaled(event.x), y=y)
        return apply(self.learner, event)

    # -- ranges -------------------------------------------------------------------------

    @property
    def due_now(self) -> bool:
        """Whether the asks have doubled since ranges were last looked at, or no more can be kept."""
        return self._learns and (self.asks >= self.next_due or self._is_full)

    @property
    def _is_full(self) -> bool:
        return len(self._history) >= LONGEST_EVENTS

    def due(self) -> Ranging | None:
        """The ranges to go over to, each time the asks have doubled; None until then."""
        if not self.due_now:
            return None
        if self.settled:
            offers = self._offers()
            return Ranging(widened(self.ranges, self.learned, offers, self._contexts()), settled=True)
        offers, contexts = self._history.offers(), self._history.contexts()
        enough = self.asks >= LEARNING_ASKS and len(contexts) >= (LEARNING_CONTEXTS if self.post_dim else 0)
        ranges = estimated(self.ranges, self.learned, offers, contexts)
        return Ranging(ranges, settled=enough or self._is_full or self.asks >= LONGEST_ASKS)

    def _offers(self) -> Array:
        """(n, R, 2, dx) least and greatest of the latest offers; where none was noted, of the pair."""
        offers = stacked(self._recent_offers, (self.runs, 2, self.context_dim))
        return np.stack((offers.min(axis=2), offers.max(axis=2)), axis=2)

    def _contexts(self) -> Array:
        """(n, R, 2, dy) least and greatest of the latest pairs, where they are known."""
        pairs = stacked(self._recent_contexts, (self.runs, 2, self.post_dim))
        one, other = pairs[:, :, 0], pairs[:, :, 1]
        return np.stack((np.fmin(one, other), np.fmax(one, other)), axis=2)

    def rescale(self, ranging: Ranging) -> None:
        """Go over to other ranges: fold all again while they are learned, later only move the bounds."""
        self._set(ranging.ranges)
        while self.next_due <= self.asks:
            self.next_due *= 2
        if self.settled:
            return
        self.learner = self._make()
        self.clamped[...] = 0
        self._fold_again()
        if ranging.settled:
            self.settled = True
            self._history.clear()

    # -- keeping ------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The learner's state, the ranges, and what they are learned from."""
        counts = np.array([self.asks, self.next_due, self.settled], np.int64)
        own = self.ranges._asdict() | {
            "counts": counts, "clamped": self.clamped,
            "recent_offers": self._offers(),
            "recent_contexts": self._contexts(),
        }  # fmt: skip
        own |= {f"history.{name}": array for name, array in self._history.snapshot().items()}
        return self.learner.snapshot() | {SHARE + name: np.array(array) for name, array in own.items()}

    def restore(self, state: Snapshot) -> None:
        """Take over a snapshot of a learner with the same settings."""
        own = under(state, SHARE)
        self.learner.restore({name: array for name, array in state.items() if not name.startswith(SHARE)})
        self.asks, self.next_due = int(own["counts"][0]), int(own["counts"][1])
        self.settled = bool(own["counts"][2])
        self.clamped = own["clamped"].copy()
        self._recent_offers = deque(own["recent_offers"], maxlen=RECENT)
        self._recent_contexts = deque(own["recent_contexts"], maxlen=RECENT)
        self._history.restore(under(own, "history."))
        self._set(Ranges(*(own[name].copy() for name in Ranges._fields)))


class SelfScaledLearner(ScaledLearner):
    """Goes over to ranges that are due by itself: for a laboratory, where no log has to say so."""

    def serve(self, duel: Duel) -> None:
        """Register a duel."""
        super().serve(duel)
        ranging = self.due()
        if ranging is not None:
            self.rescale(ranging)


def _middle(units: Array) -> Array:
    """What is not a number stands in the middle of its range: there both of a pair are alike."""
    return units if all_finite(units) else np.where(np.isnan(units), 0.0, units)

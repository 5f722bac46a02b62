"""The state of a stream after an event of its log: the learner, what is believed, and the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from duelwise.errors import StorageFailure
from duelwise.learning.ask_batch import AskBatch
from duelwise.learning.core.pending import FREE, Pending, find
from duelwise.learning.core.state import under
from duelwise.learning.event_batch import Duels, EventBatch
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.learner_protocol import Learned
from duelwise.learning.scaling import Offer, Ranges, Ranging, ScaledLearner
from duelwise.storage import SnapshotRow, pack, unpack
from duelwise.storage.rows import EventColumns
from duelwise.stream.arithmetic import ARITHMETIC, FORMAT
from duelwise.stream.catalogue import Catalogue
from duelwise.stream.columns import ODD, Columns, columns_of
from duelwise.stream.events import (
    OF_ITEMS,
    Asked,
    Cut,
    Imputed,
    ItemsPut,
    ItemsWithdrawn,
    Observed,
    Projected,
    Ranged,
    Recorded,
    Retracted,
    Skipped,
    SourceHeld,
    SourceReleased,
    SourcesWeighed,
    Told,
)
from duelwise.stream.leaving_out import NOTHING_LEFT_OUT, LeftOut
from duelwise.stream.ledger import Ledger
from duelwise.stream.logs import Log
from duelwise.stream.open_duels import Heard, LearnedVote, OpenDuels
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_belief import StreamBelief
from duelwise.types import Array, Duel, IntArray

RUN: IntArray = np.zeros(1, dtype=np.int64)  # a stream is one run
NO_FEATURES = np.zeros((2, 0))  # of a pair
SHARE = "learner."
KEPT_FROM = 1000  # candidates: what was measured of fewer is not worth keeping; so many are not copied
FEWEST = 16  # plain events that are worth taking together
BYTES_PER_TICKET = 400  # of an open ticket in the ledger

_STEPS = (Asked, Told, Observed, Imputed)  # events that are gathered


class StreamState:
    """The learner and the ledger after event `seq`."""

    def __init__(self, settings: StreamSettings, *, leaving_out: LeftOut = NOTHING_LEFT_OUT) -> None:
        self.settings, self._sides = settings, settings.sides
        self.inputs: ScaledLearner = settings.start_scaled()
        self.belief = StreamBelief(settings.model_dim)
        self.duels = OpenDuels(settings)
        self.catalogue, self.encoder = Catalogue(settings), settings.encoder
        self.ledger = Ledger()
        # Events that the learner has still to hear of, and duels that are over when it has.
        self._gathered = EventBatch(context_dim=self.inputs.context_dim, post_dim=settings.post_dim)
        self._offers: AskBatch | None = None
        self._closing: list[int] = []
        self._partly_known: set[int] = set()  # rounds of whose context some is known, and some is not
        self._measured: tuple[Array, Ranges, Offer] | None = None  # the latest large offer
        # For whoever walks a log for its votes alone: they go there, and nothing is believed of them.
        self.on_learned: Callable[[list[LearnedVote]], None] | None = None
        self.seq: int = 0
        self.restored_from: int = 0  # the snapshot it started from
        self.left_out = leaving_out  # rounds, single votes and sources whose votes are left out,
        # and of streams that 0.2 made the contexts of such rounds too: as if the duel had never been.
        self._unserved: frozenset[int] = leaving_out.rounds if settings.edition >= 2 else frozenset()

    @property
    def learner(self) -> DuelingLearner:
        """The learner behind its ranges: all its numbers are in their units."""
        return self.inputs.learner

    def predict(self, x: Array) -> Array:
        """(R, K, dy) what φ̂ expects of candidates x (R, K, dx) that are on no side."""
        return self.inputs.predict(self.settings.sides.unshown(x))

    def measure(self, x: Array) -> Offer:
        """Candidates x (K, dx) on no side, as the learner sees them; a large catalogue is measured once."""
        kept, ranges = self._measured, self.inputs.ranges
        if kept is not None and kept[0] is x and kept[1] is ranges:
            return kept[2]
        offer = self.inputs.measure(self._sides.unshown(x)[None])
        if len(x) >= KEPT_FROM:
            self._measured = x, ranges, offer
        return offer

    def choose_and_serve(
        self, offered: Sequence[Array], swapped: Sequence[bool], wanted: Sequence[int]
    ) -> tuple[IntArray, Array, IntArray]:
        """The learner chooses from each of these candidates (K, dx) and serves the pair, in their order.

        Arms (n, 2), predicted (n, 2, dy), beyond (n, dx), up to the first that it cannot choose from. The
        ledger has not heard of these duels until `take_served`.
        """
        assert not len(self._gathered)
        sides = self._sides
        if self._offers is None:
            self._offers = AskBatch(context_dim=self.inputs.context_dim, columns=sides.columns)
        try:
            for x, is_swapped, votes in zip(offered, swapped, wanted, strict=True):
                if not self._offers.add(
                    sides.unshown(x), sides.shown(NO_FEATURES, swapped=is_swapped), votes
                ):
                    break
            served = self.inputs.choose_and_serve(self._offers, self._gathered)
            events, beyond = self._gathered.events, self._offers.beyond(served)
            return events.arms[:served].copy(), events.predicted[:served].copy(), beyond[:, sides.columns :]
        finally:
            self._gathered.clear()
            self._offers.clear()

    def take_served(self, events: Sequence[Recorded]) -> None:
        """The next events of the log are duels that the learner has served: the rest hears of them."""
        for recorded in events:
            if recorded.seq != self.seq + 1:
                raise _out_of_order(recorded.seq, self.seq)
            self.ledger.take(recorded)
            assert isinstance(recorded.event, Asked)
            self.duels.ask(recorded.event)
            self.seq = recorded.seq

    def apply(self, recorded: Recorded) -> None:
        """The next event of the log: serve, observe, tell, forget; never choose."""
        self.apply_all((recorded,))

    def apply_all(self, events: Iterable[Recorded | EventColumns]) -> None:
        """The next events of the log, in order. The learner takes them in one call where it can."""
        try:
            for some in events:
                if isinstance(some, EventColumns):
                    self._take_columns(columns_of(some, self.settings))
                    continue
                self._take(some)
        finally:
            self._learn()

    def _take_columns(self, events: Columns) -> None:
        """Plain events many at a time, the others one by one."""
        begin, known, odd = 0, self.left_out, list[int]()
        while begin < len(events):
            if begin == 0 or self.left_out is not known:
                known = self.left_out
                odd = np.flatnonzero((events.kind == ODD) | known.leaves_out_of(events)).tolist()[::-1]
            while odd and odd[-1] < begin:
                odd.pop()
            some = events.part(begin, odd[-1] if odd else len(events))
            plain, states = self.ledger.plain_steps(
                some, partly_known=self._partly_known, votes_first=not known.single_votes
            )
            if plain >= FEWEST and self.on_learned is None:
                self._take_plain(some.part(0, plain), states)
            else:
                for place in range(begin, begin + plain):
                    self._take(events.recorded(place))
            begin += plain
            if begin < len(events):
                self._take(events.recorded(begin))
                begin += 1

    def _take_plain(self, events: Columns, states: dict[int, str]) -> None:
        """Plain events that lead to these states: what `_take` does, for all of them at once."""
        if events.rows.seq[0] != self.seq + 1:
            raise _out_of_order(events.rows.seq[0], self.seq)
        self._learn()
        first, asked, sides = self.ledger.rounds, events.asked, self._sides
        x = sides.shown(asked.x, swapped=asked.swapped)
        offers = zip(sides.unshown(asked.bounds), asked.bounded.tolist(), strict=True)
        duels = Duels(
            asked.arms, x, asked.predicted, asked.y, asked.at_once,
            [bounds if bounded else None for bounds, bounded in offers],
        )  # fmt: skip
        left = self.ledger.take_all(events, states)
        self.duels.take_all(first, x, events)
        learned = self.inputs.fold(EventBatch.of(events.kind, events.round, duels, events.y, events.outcome))
        dz, outcome, sources = self.duels.learn_all(learned.round)
        self.ledger.learned_all(learned.round.tolist(), learned.weight.tolist(), sources)
        self.belief.take(dz, outcome)
        self.duels.keep(left, events)
        self.seq = events.rows.seq[-1]

    def _take(self, recorded: Recorded) -> None:
        if recorded.seq != self.seq + 1:
            raise _out_of_order(recorded.seq, self.seq)
        event = recorded.event
        if self._gathered.is_full or not isinstance(event, _STEPS):
            self._learn()  # what is no step may close a duel whose votes are still to be learned from
        before = self.ledger.take(recorded)
        if isinstance(event, Asked):
            self._serve(event)
        elif isinstance(event, Told):
            self._hear(event, recorded)
        elif isinstance(event, Observed):
            self._observe(event)
        elif isinstance(event, Imputed):
            if event.round not in self._unserved:
                self.duels.observe(event.round, event.y)
                self._gathered.observe(event.round, event.y, imputed=True)
        else:
            self._take_other(recorded, before)
        if event.round not in self.ledger.waiting:
            self._closing.append(event.round)
        self.seq = recorded.seq

    def _take_other(self, recorded: Recorded, before: str | None) -> None:
        """Events that are neither a duel nor an answer to one; `before`: the state of the ticket they end."""
        event = recorded.event
        if isinstance(event, Skipped) and event.round in self.ledger.waiting:
            pass  # one of several raters will not say
        elif isinstance(event, Retracted) and event.vote is not None:
            self.ledger.unlearning_since = recorded.seq
        elif isinstance(event, Cut):
            self._serve_nothing(event.round)
        elif isinstance(event, ItemsPut | ItemsWithdrawn):
            self.catalogue.take(event)
        elif isinstance(event, Projected):
            self.encoder = self.encoder.fitted(event)
        elif isinstance(event, SourceHeld | SourceReleased):
            self.left_out = self.left_out.after(recorded)
            self.ledger.unlearning_since = recorded.seq
        elif isinstance(event, SourcesWeighed):
            self.left_out = self.left_out.after(recorded)
            if event.changed:
                self.ledger.unlearning_since = recorded.seq
        elif isinstance(event, Ranged):
            ranges = Ranges(event.centre[None], event.half[None], event.reach[None])
            self.inputs.rescale(Ranging(ranges, event.settled))
        elif before is not None:
            self._close(recorded, told=before == "told")

    def due_ranges(self) -> Ranged | None:
        """The ranges to record next, where some are due."""
        ranging = self.inputs.due()
        if ranging is None:
            return None
        centre, half, reach = (values[0] for values in ranging.ranges)
        return Ranged(centre, half, reach, ranging.settled)

    def _serve(self, asked: Asked) -> None:
        if asked.round in self._unserved:
            self._serve_nothing(asked.round)
            return
        sides = self._sides
        offered = None if asked.bounds is None else sides.unshown(asked.bounds)
        x = sides.shown(asked.x, swapped=asked.swapped)
        self._gathered.serve(asked.round, asked.arms, x, asked.predicted, offered, asked.wanted or 1)
        self.duels.ask(asked)
        if asked.y is not None:
            self._gathered.observe(asked.round, asked.y)

    def _observe(self, observed: Observed) -> None:
        """What is new of a pair's context."""
        round = observed.round
        if round in self._unserved:
            return
        if observed.x is not None and observed.fresh is not None:
            self._learn()
            fresh = np.where(observed.fresh.astype(np.bool_), observed.y, np.nan)
            self.inputs.teach(RUN, self.settings.sides.unshown(observed.x[None]), fresh[None])
            return
        self.duels.observe(round, observed.y)
        fresh = observed.y
        if round in self._partly_known:
            self._learn()
            fresh = np.where(self.learner.known_context(0, round), np.nan, fresh)
        if np.isnan(observed.y).any():
            self._partly_known.add(round)
        else:
            self._partly_known.discard(round)
        self._gathered.observe(round, fresh)
        if round not in self.ledger.waiting:
            self._close_if_told(round)

    def _hear(self, told: Told, recorded: Recorded) -> None:
        """A vote, unless it is left out, or the rebuild that is due will count it."""
        if not self.left_out.leaves_out(told, recorded.seq) and not self._has_heard_enough(told.round):
            self.duels.hear(told.round, Heard(told.outcome, told.source, recorded.at))
            self._gathered.tell(told.round, told.outcome)
        if told.round not in self.ledger.waiting:
            self._close_if_told(told.round)

    def _has_heard_enough(self, round: int) -> bool:
        """Whether votes that were retracted since, and are still learned, take the place of others."""
        if not self.ledger.rebuild_is_due:
            return False
        self._learn()
        pending = self.learner.pending
        slot = find(pending, 0, round)
        return slot == FREE or bool(pending.heard[0, slot] >= pending.wanted[0, slot])

    def _learn(self) -> None:
        """Let what was gathered happen to the learner; what its votes teach goes into ledger and belief."""
        if len(self._gathered):
            try:
                learned = self.inputs.fold(self._gathered)
            finally:
                self._gathered.clear()
            self._note(learned)
        for round in self._closing:
            self.duels.close(round)
        self._closing.clear()

    def _close_if_told(self, round: int) -> None:
        """A duel whose ticket is told waits for no vote, though some of its votes were left out."""
        if self.left_out.single_votes:
            self._learn()
            if self.learner.waits(0, round):
                self.inputs.forget(0, round)

    def _close(self, recorded: Recorded, *, told: bool) -> None:
        """Skipped, expired or retracted."""
        event, seq = recorded.event, recorded.seq
        learned = told or (isinstance(event, Retracted) and self._has_learned_from(event.round))
        if learned and event.round not in self.left_out.rounds:
            self.ledger.unlearning_since = seq  # no estimate can unlearn: a rebuild takes the vote out
        if event.round not in self._unserved and self.learner.waits(0, event.round):
            self.inputs.forget(0, event.round)

    def _has_learned_from(self, round: int) -> bool:
        """Whether an open duel has taught: one of several votes, or a vote before its context."""
        pending = self.learner.pending
        slot = find(pending, 0, round)
        return slot != FREE and bool(pending.heard[0, slot] > pending.waiting[0, slot].sum())

    def _serve_nothing(self, round: int) -> None:
        """A duel whose record was cut, or that is taken out, still counts its round."""
        if round < 0:
            return
        self._learn()
        x = np.full((1, 2, self.inputs.context_dim), np.nan)
        y = np.full((1, 2, self.settings.post_dim), np.nan)
        self.inputs.serve(Duel(round, np.array([[0, 1]]), x, y))
        self.inputs.forget(0, round)

    def _note(self, learned: Learned) -> None:
        rounds, weights = learned.round.tolist(), learned.weight.tolist()
        found = list(map(self.duels.learn, rounds, weights))
        self.ledger.learned_all(rounds, weights, [None if vote is None else vote.source for vote in found])
        votes = [vote for vote in found if vote is not None]
        if self.on_learned is not None:
            self.on_learned(votes)
        elif votes:
            self.belief.take(np.array([one.dz for one in votes]), np.array([one.outcome for one in votes]))

    def snapshot(self) -> SnapshotRow:
        """The whole state as bytes."""
        fields, arrays = self.ledger.snapshot()
        state = arrays | {SHARE + k: v for k, v in self.inputs.snapshot().items()}
        heard, duels = self.duels.snapshot()
        state |= self.belief.snapshot() | duels
        fields |= self.left_out.snapshot() | heard
        return SnapshotRow(self.seq, pack(fields, state), FORMAT, ARITHMETIC)

    def size(self) -> int:
        """Bytes of memory that the state takes, about."""
        state = sum(array.nbytes for array in self.inputs.snapshot().values())
        return state + BYTES_PER_TICKET * len(self.ledger.waiting)

    def restore(self, snapshot: SnapshotRow) -> None:
        fields, arrays = unpack(snapshot.payload)
        self.ledger.restore(fields, arrays)
        self.inputs.restore(under(arrays, SHARE))
        self.belief.restore(arrays)
        self.duels.restore(fields, arrays)
        self.left_out = LeftOut.restored(fields)
        self._partly_known = partly_known(self.learner.pending)
        self.seq = self.restored_from = snapshot.seq

    def read_catalogue(self, log: Log) -> None:
        """Items and projections are not in snapshots: they are read from the events that made them."""
        for recorded in log.of_kinds(OF_ITEMS, upto=self.seq):
            if isinstance(recorded.event, Projected):
                self.encoder = self.encoder.fitted(recorded.event)
            else:
                self.catalogue.take(recorded.event)


def _out_of_order(seq: int, before: int) -> StorageFailure:
    return StorageFailure(f"Event {seq} follows event {before}; events are folded in order.")


def partly_known(pending: Pending) -> set[int]:
    """Rounds of run 0 of whose context some is known, and some is not."""
    unknown = np.isnan(pending.y[0]).any(axis=(1, 2)) & (pending.round[0] != FREE)
    return set(pending.round[0][unknown & ~np.isnan(pending.y[0]).all(axis=(1, 2))].tolist())

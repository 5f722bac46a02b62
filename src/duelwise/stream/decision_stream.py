"""DecisionStream: one durable live learner."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Self, cast

from duelwise.errors import Conflict, DuelwiseError, InvalidInput
from duelwise.receipts import Receipt
from duelwise.storage import Store, TicketRow, open_store
from duelwise.storage.rows import BEGINNING
from duelwise.stream import editing, events, tickets
from duelwise.stream.answering import ALL, wider_by_source
from duelwise.stream.candidates import Candidates, PartialFeatures, check_source, check_stream_name
from duelwise.stream.events import Asked, ClockConfirmed, Recorded
from duelwise.stream.group_commit import MOST_AT_ONCE, GroupCommit
from duelwise.stream.heartbeat import check_arithmetic
from duelwise.stream.items import Put
from duelwise.stream.lifecycle import Winner, winner_of
from duelwise.stream.operations import (
    Answer,
    Ask,
    Decision,
    FromCatalogue,
    GivenVote,
    Happening,
    Observe,
    Operation,
    Retract,
    Tell,
    Ticket,
)
from duelwise.stream.repeating import decision_of
from duelwise.stream.replica import Clock, Replica
from duelwise.stream.report import Report, make_report
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_answers import StreamAnswers

CLOSED_AT_ONCE = 500  # tickets closed or retracted in one transaction


class DecisionStream(StreamAnswers):
    """Ask for a pair, observe what becomes known, tell who won: durable, and in any order.

    The log is the truth and the learner a fold over it, so several processes may serve one
    stream. Methods may be called from many threads; those that wait share one transaction.
    """

    def __init__(
        self, store: Store, name: str, *, clock: Clock = time.time, owns_store: bool = False
    ) -> None:
        self.name = name
        self._store, self._owns_store = store, owns_store
        check_arithmetic(store)
        self._replica = Replica(store, store.stream(name), clock=clock)
        self._commits: GroupCommit[Operation, Answer | DuelwiseError] = GroupCommit(
            partial(_commit, self._replica), self._replica.lock
        )  # no reference back to this stream: a closed one leaves the memory at once
        with self._replica.lock:
            self._replica.upkeep()

    @classmethod
    def create(
        cls, store: str | Store, name: str, settings: StreamSettings, *, clock: Clock = time.time
    ) -> DecisionStream:
        """A new stream, or the one of this name if it has the same settings."""
        with _kept_open(store) as opened:
            register(opened, name, settings, at=clock())
            return cls(opened, name, clock=clock, owns_store=opened is not store)

    @classmethod
    def open(cls, store: str | Store, name: str, *, clock: Clock = time.time) -> DecisionStream:
        """An existing stream; `store` is an address such as sqlite:///duels.db, or an open store."""
        with _kept_open(store) as opened:
            return cls(opened, name, clock=clock, owns_store=opened is not store)

    def close(self) -> None:
        """Finish work in the background and leave a snapshot, so that opening is quick."""
        self._replica.finish()
        if self._owns_store:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- deciding -----------------------------------------------------------------------

    def ask(
        self,
        candidates: Candidates | FromCatalogue = ALL,
        *,
        event_id: str | None = None,
        votes_wanted: int | None = None,
    ) -> Decision:
        """Two of the candidates to show, and the ticket of the duel.

        Candidates are an array (K, dx), records {"id": ..., "features": [...] or {name: value}}, or
        items of the catalogue: all of them where nothing is given.
        An `event_id` seen before returns the same duel. With `votes_wanted` as many raters may vote
        on it, each with a source of its own.
        """
        return cast("Decision", self._answer(Ask(candidates, event_id, votes_wanted)))

    def observe(
        self, ticket: str, left: PartialFeatures | None = None, right: PartialFeatures | None = None
    ) -> Receipt:
        """What became known of the two after serving: post_dim values each, None where one is not known.

        At any time, in as many parts as it takes, before or after the vote.
        """
        return cast("Receipt", self._answer(Observe(ticket, left, right)))

    def tell(self, ticket: str, winner: Winner, *, source: str | None = None) -> Receipt:
        """Who won: "left", "right", "tie", or "skip" when nobody will say."""
        return cast("Receipt", self._answer(Tell(ticket, winner, source)))

    def retract(self, ticket: str, *, vote: str | None = None, source: str | None = None) -> Receipt:
        """The duel's votes shall not count: all, one by its id, or those of a source.

        What was learned already is unlearned in the background.
        """
        return cast("Receipt", self._answer(Retract(ticket, vote, source)))

    def run(self, operations: Sequence[Operation]) -> list[Answer | DuelwiseError]:
        """Many requests, few transactions: an answer or a refusal for each, in order.

        A failing database raises instead. Then send them all again: votes and contexts may be
        repeated, and so may asks that carry an event_id.
        """
        answers: list[Answer | DuelwiseError] = []
        for start in range(0, len(operations), MOST_AT_ONCE):
            answers += self._commits.submit(operations[start : start + MOST_AT_ONCE])
        return answers

    def commit(self, operations: Sequence[Operation]) -> list[Answer | DuelwiseError]:
        """The same for requests that were gathered already: one transaction, and nobody else's in it."""
        with self._replica.lock:
            return _commit(self._replica, list(operations))

    def retract_source(self, source: str) -> int:
        """Retract every vote of a source; returns how many. One rebuild takes out what was learned."""
        check_source(source)
        total, after = 0, -1
        while after is not None:
            with self._replica.lock, self._replica.batch() as batch:
                count, after = batch.retract_source(source, after=after, limit=CLOSED_AT_ONCE)
            total += count
        with self._replica.lock:
            self._replica.upkeep()
        return total

    def expire(self, older_than: float | None = None, *, confirm_clock: bool = False) -> int:
        """Close tickets that have waited longer than this many seconds; returns how many.

        By default the stream's own limit, which is also applied now and then on the way of requests.
        Time is the log's own: a clock more than a day ahead of it is believed when the events of an
        hour agree, or with `confirm_clock`, which is recorded.
        """
        seconds = self.settings.vote_ttl_seconds if older_than is None else older_than
        if math.isnan(seconds):
            raise InvalidInput("older_than is no number; expected seconds.")
        replica = self._replica
        with replica.lock:
            if confirm_clock:
                with replica.batch() as batch:
                    batch.record(ClockConfirmed())
            else:
                replica.refresh()
            asked_before = replica.now() - seconds
        total, after = 0, BEGINNING
        while after is not None:
            with replica.lock, replica.batch() as batch:
                after = batch.expire(asked_before=asked_before, after=after, limit=CLOSED_AT_ONCE)
                total += len(batch.transaction.appended)
        with replica.lock:
            replica.upkeep()
        return total

    def _answer(self, operation: Operation) -> Answer:
        answer = self.run([operation])[0]
        if isinstance(answer, DuelwiseError):
            raise answer
        return answer

    def put_items(self, items: object) -> Put:
        """Add items or change them: records, a .csv, .jsonl or .parquet file, a DataFrame."""
        return editing.put_items(self._replica, items)

    def withdraw_items(self, ids: Sequence[str]) -> int:
        """Offer these items no longer; returns how many."""
        return editing.withdraw_items(self._replica, ids)

    def hold_source(self, source: str) -> bool:
        """The votes of a source shall not count until it is released; False when they do not already."""
        return editing.set_source(self._replica, source, held=True)

    def release_source(self, source: str) -> bool:
        """The votes of a source shall count again; False when they do already."""
        return editing.set_source(self._replica, source, held=False)

    # -- looking ------------------------------------------------------------------------

    @property
    def read_only(self) -> str | None:
        """Why the stream takes no events, if it does not."""
        return self._replica.read_only

    @property
    def model_version(self) -> int:
        """The number of the last event this process has folded."""
        return self._replica.folded.seq

    @property
    def memory_bytes(self) -> int:
        """What the stream's state takes in memory, about, as it was when it was last measured."""
        return self._replica.memory_bytes

    def counts(self) -> dict[str, int]:
        """Tickets by state, as this process knows them."""
        with self._replica.lock:
            return {**self._replica.folded.ledger.counts}

    def report(self, *, clustered: bool = False) -> Report:
        """Everything worth watching, level with the log.

        `clustered` allows for sources whose votes are alike in all intervals; it reads the whole log.
        """
        replica = self._replica
        allowing = partial(wider_by_source, votes=self.votes()) if clustered else None
        with replica.lock:
            replica.refresh()
            low = self._store.tickets(replica.row.id, [vote.round for vote in replica.folded.ledger.lowest])
            return make_report(
                name=self.name,
                folded=replica.folded,
                low=low,
                at=replica.clock(),
                read_only=replica.read_only,
                problem=replica.background.problem,
                allowing=allowing,
            )

    def ticket(self, ticket: str) -> Ticket:
        """A ticket's state and history."""
        number = tickets.number_of(ticket)
        row = None if number is None else self._store.tickets(self._replica.row.id, [number]).get(number)
        if row is None or tickets.write(row.round, row.tag) != ticket:
            raise tickets.unknown(ticket)
        numbers = {row.asked_seq, row.observed_seq, row.told_seq, row.closed_seq}
        history = [self._recorded(seq) for seq in sorted(seq for seq in numbers if seq is not None)]
        asked = history[0].event
        assert isinstance(asked, Asked)
        duel = decision_of(asked, repeated=False)
        return Ticket(
            ticket, row.state, row.asked_at, duel.left, duel.right, _winner_of(row), row.source,
            row.wanted, self._votes(row), tuple(_happening(recorded) for recorded in history),
        )  # fmt: skip

    def _votes(self, row: TicketRow) -> tuple[GivenVote, ...]:
        """The votes on a duel that count."""
        with self._replica.lock:
            weight = self._replica.folded.ledger.weights_of.get(row.round)
        return tuple(
            GivenVote(
                str(vote.seq), winner_of(vote.outcome, swapped=row.swapped), vote.source,
                self._recorded(vote.seq).at, weight,
            )
            for vote in tickets.votes_of(row)
        )  # fmt: skip

    def wait_for_background(self) -> None:
        """Return when snapshots and rebuilds that are due have been made."""
        self._replica.background.wait()

    def snapshot_state(self) -> bytes:
        """The folded state as bytes: equal states give equal bytes."""
        with self._replica.lock:
            self._replica.refresh()
            return self._replica.folded.snapshot().payload

    def _recorded(self, seq: int) -> Recorded:
        return events.decode(next(self._store.events(self._replica.row.id, after=seq - 1, upto=seq)))


@contextmanager
def _kept_open(store: str | Store) -> Generator[Store]:
    """A store, or the one of an address, which is closed again when something fails."""
    if isinstance(store, Store):
        yield store
        return
    opened = open_store(store)
    try:
        yield opened
    except BaseException:
        opened.close()
        raise


def _commit(replica: Replica, operations: list[Operation]) -> list[Answer | DuelwiseError]:
    with replica.batch(operations) as batch:
        replica.sweep(batch)
        answers = batch.decide(operations)
    replica.upkeep()
    return answers


def register(store: Store, name: str, settings: StreamSettings, *, at: float) -> bool:
    """Create a stream; False when it is there already with the same settings.

    A setting that was left to its default finds the stream that the same call made in another version.
    """
    if name not in store:
        check_stream_name(name)
    settings.start()  # refuses what the learner cannot be made of
    row, new = store.create_stream(name=name, uid=uuid.uuid4().hex, settings=settings.to_json(), at=at)
    if not new and not settings.finds(StreamSettings.from_json(row.settings)):
        raise Conflict(
            f"There is already a stream {name!r} with other settings: {row.settings}. "
            "Settings are for life; choose another name, or make a new stream from the old log."
        )
    return new


def _winner_of(row: TicketRow) -> Winner | None:
    if row.outcome is None and row.state != "skipped":
        return None
    return winner_of(row.outcome, swapped=row.swapped)


def _happening(recorded: Recorded) -> Happening:
    line = events.to_json(recorded)
    shown = {key: value for key, value in line.items() if key not in ("seq", "at", "kind")}
    return Happening(recorded.seq, recorded.at, events.kind_of(recorded.event), shown)

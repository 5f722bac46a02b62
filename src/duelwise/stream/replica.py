"""This process's fold of a stream, kept level with the shared log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy.exc import IntegrityError

from duelwise.errors import Damaged, DuelwiseError, ReadOnly
from duelwise.storage import SnapshotRow, Store, StreamRow, TicketRow, Writer
from duelwise.storage.rows import BEGINNING, TicketPlace
from duelwise.stream.background import Background
from duelwise.stream.choosing import Chooser
from duelwise.stream.events import Rebuilt, Recorded, encode, kind_of
from duelwise.stream.folding import caught_up, load, rebuild
from duelwise.stream.logs import StoredLog
from duelwise.stream.operations import Operation
from duelwise.stream.request_batch import Batch
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import StreamState
from duelwise.stream.transaction import rounds_of
from duelwise.stream.weighted_sources import is_due, weigh_sources

SNAPSHOT_EVERY = 20_000  # events; a restart folds no more than these again, in a quarter of a second
RECENT = 20_000  # events whose checksums are verified on opening; `verify` looks at all
SWEEP_SECONDS = 60.0  # between looks for tickets that waited too long
SWEEP_MOST = 200  # tickets closed on the way of one transaction
OWN_BYTES = 400_000  # of memory that a stream takes beside its state
RECENT_TICKETS = 500  # that are not read again when their votes come at once
ALONE_SECONDS = 5.0  # after so long without anybody else's events, none are expected
REFRESH_SECONDS = 1.0  # after so long without a look, catch up before the lock is taken

Clock = Callable[[], float]


class Joined(NamedTuple):
    """This stream's part in a transaction that others share."""

    replica: Replica
    writer: Writer
    batch: Batch


class Replica:
    """The learner of one process. Hold `lock` to look at `folded` or to call any method."""

    def __init__(self, store: Store, row: StreamRow, *, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self.row: StreamRow = row
        self.settings = StreamSettings.from_json(row.settings)
        self.lock = threading.Lock()
        self.read_only: str | None = None
        self.background = Background(row.name)
        self.log = StoredLog(store, row.id)
        self._chooser = Chooser(self.settings)
        self._rebuilding = self._weighing = False
        self._half_applied = False  # `folded` is between two events, or ahead of the log
        self._joined: Batch | None = None
        self._recent: dict[int, TicketRow] = {}  # tickets as they are in the log that is folded here
        self._next_sweep = clock()
        self._imputed_to: TicketPlace = BEGINNING  # how far a sweep has come that is not over
        self._closed_to: TicketPlace = BEGINNING
        self._others_wrote = time.monotonic()  # perhaps
        self._refreshed = time.monotonic()
        self.folded: StreamState = self._open()
        self._snapshot_seq = self.folded.restored_from
        self.memory_bytes = OWN_BYTES + self.folded.size()

    def _open(self) -> StreamState:
        """Snapshot and later events; up to the damage, if there is any."""
        head = self.row.head
        if self.row.damaged is not None:
            self._stop(self.row.damaged)
        try:
            for _ in self.store.events(self.row.id, after=max(0, head - RECENT), upto=head):
                pass
        except Damaged as damage:
            self._found_damage(damage)
            head = damage.seq - 1
        while True:
            try:
                folded = load(self.settings, self.log, upto=head)
                break
            except Damaged as damage:  # earlier than the newest events
                self._found_damage(damage)
                head = damage.seq - 1
        if self.read_only is None:
            try:
                self._check_row(self.row, folded)
            except Damaged as damage:
                self._found_damage(damage)
        return folded

    def _check_row(self, row: StreamRow, folded: StreamState) -> None:
        """The stream's own row against its log: the next event must not meet one that is there."""
        last = self.store.last_event(row.id)
        head = self.store.current(row.id).head  # read after the log, which other processes may lengthen
        if last > head:
            raise Damaged(
                f"The log of stream {row.name!r} goes on to event {last}, and its row says {head}. "
                "`repair` counts the events again.",
                seq=head + 1,
            )
        if folded.ledger.rounds != row.rounds:
            raise Damaged(
                f"The log of stream {row.name!r} holds {folded.ledger.rounds} duels, and its row says "
                f"{row.rounds}. `repair` counts them again.",
                seq=row.head + 1,
            )

    def _found_damage(self, damage: Damaged) -> None:
        self.read_only = f"{damage} Until then, or until a backup is restored, the stream is read-only."
        self.store.mark_damaged(self.row.id, damage.seq)

    def _stop(self, seq: int) -> None:
        self.read_only = (
            f"Event {seq} of stream {self.row.name!r} is damaged, so the stream is read-only. "
            "Restore a backup, or run repair, which sets the damaged rows aside and keeps them."
        )

    # -- writing ------------------------------------------------------------------------

    @contextmanager
    def batch(self, operations: Iterable[Operation] = ()) -> Generator[Batch]:
        """One transaction; what it appended is applied once it is durable. What is going to be decided in it
        may be said before: its tickets are then fetched on the way."""
        batch: Batch | None = None
        try:
            with self._writing(self.unknown_tickets(rounds_of(operations))) as writer:
                batch = self._batch(writer)
                yield batch
        except BaseException:
            self._undo(batch)
            raise
        self._apply(batch)

    def join(self, writer: Writer) -> Joined | None:
        """Take part in an open transaction; None when there is more to do first than to decide."""
        row = writer.stream
        is_level = (row.head, row.rounds) == (self.folded.seq, self.folded.ledger.rounds)
        is_level = is_level and row.generation == self.row.generation
        if not is_level or row.damaged is not None or self.read_only is not None or self._half_applied:
            return None
        self.row = row
        batch = self._batch(writer)
        self._joined = batch
        return Joined(self, writer, batch)

    def ahead(self) -> StreamRow | None:
        """Where the stream stands, as far as is known here, if it can be decided without a look at it.

        The database refuses what follows from another state; the work was in vain then.
        """
        alone = time.monotonic() - self._others_wrote > ALONE_SECONDS
        if not alone or self.read_only is not None or self._half_applied or self.sweep_is_due:
            return None
        return self.row._replace(head=self.folded.seq, rounds=self.folded.ledger.rounds)

    def _batch(self, writer: Writer) -> Batch:
        return Batch(writer, self.folded, self._chooser, at=self.clock(), recent=self._recent)

    def unknown_tickets(self, rounds: set[int]) -> set[int]:
        """Those of these rounds that would have to be read."""
        return {round for round in rounds if round not in self._recent}  # all of which `-` would look at

    def give_up_joined(self) -> None:
        """The transaction that this stream took part in, if it did, was rolled back."""
        self._undo(self._joined)
        self._joined = None

    def finish_joined(self, joined: Joined) -> None:
        """The transaction is durable: apply this stream's part of it."""
        self._joined = None
        self._apply(joined.batch)
        self.upkeep()

    @contextmanager
    def _writing(self, rounds: Collection[int] = ()) -> Generator[Writer]:
        """The stream locked and this replica level with its log."""
        try:
            if time.monotonic() - self._refreshed > REFRESH_SECONDS:
                self.refresh()
            with self.store.writing(self.row.id, rounds) as writer:
                self._level_with(writer.stream)
                self._check_writable()
                yield writer
        except Damaged as damage:
            self._found_damage(damage)
            raise self._refusal() from damage
        except IntegrityError as error:  # numbers are given under a lock: a taken one was not given so
            self._found_damage(
                Damaged(
                    f"What follows event {self.row.head} of stream {self.row.name!r} is there already "
                    f"({error.args[0]}). `repair` counts events and duels again.",
                    seq=self.row.head + 1,
                )
            )
            raise self._refusal() from error

    def _undo(self, batch: Batch | None) -> None:
        """What a failed transaction has folded already goes: the state is loaded again before it is used."""
        if batch is not None:
            self._others_wrote = time.monotonic()  # it may have failed for that
            self._half_applied = self._half_applied or batch.transaction.is_ahead

    def _apply(self, batch: Batch) -> None:
        """The rest of what a durable transaction has recorded."""
        self._half_applied = True
        batch.transaction.fold_so_far()
        self._half_applied = False
        self._refreshed = time.monotonic()
        self._recent |= batch.transaction.moved
        if len(self._recent) > RECENT_TICKETS:
            self._recent = dict(list(self._recent.items())[-RECENT_TICKETS // 2 :])

    def _check_writable(self) -> None:
        if self.read_only is not None:
            raise self._refusal()

    def _refusal(self) -> DuelwiseError:
        return ReadOnly(f"{self.read_only} Nothing was recorded.")

    @property
    def sweep_is_due(self) -> bool:
        return not self._next_sweep - SWEEP_SECONDS <= self.clock() < self._next_sweep

    def sweep(self, batch: Batch) -> None:
        """Now and then, close tickets that waited longer than the stream allows."""
        if not self.sweep_is_due:
            return
        clock = self.clock()
        waited = self.settings.context_ttl_seconds
        imputed_to: TicketPlace | None = None
        may_impute = 0 < waited < self.settings.vote_ttl_seconds  # else the duel has expired by then
        if may_impute and self.folded.ledger.counts["voted"]:
            imputed_to = batch.impute(
                asked_before=self.now() - waited, after=self._imputed_to, limit=SWEEP_MOST
            )
        oldest = self.now() - self.settings.vote_ttl_seconds
        closed_to = batch.expire(asked_before=oldest, after=self._closed_to, limit=SWEEP_MOST)
        self._imputed_to, self._closed_to = imputed_to or BEGINNING, closed_to or BEGINNING
        self._next_sweep = clock if imputed_to or closed_to else clock + SWEEP_SECONDS

    def now(self) -> float:
        """The time to act upon: the clock's, unless it has jumped away from the log."""
        return self.folded.ledger.time.now(self.clock())

    # -- reading ------------------------------------------------------------------------

    def refresh(self) -> None:
        """Fold what other processes have appended."""
        self._level_with(self.store.current(self.row.id))
        self._refreshed = time.monotonic()

    def _level_with(self, row: StreamRow) -> None:
        behind = row.head < self.folded.seq
        rewritten = row.generation != self.row.generation or behind or self._half_applied
        if rewritten or row.head != self.folded.seq:
            self._recent.clear()
            self._others_wrote = time.monotonic()
        self.row = row
        if row.damaged is not None:
            if self.read_only is None:
                self._stop(row.damaged)
            return
        self.read_only = None
        if rewritten:
            self.folded = load(self.settings, self.log, upto=row.head)
            self._half_applied = False
        else:
            self.folded = caught_up(self.folded, self.log, upto=row.head)
        if behind or self.folded.ledger.rounds != row.rounds:
            self._check_row(row, self.folded)

    # -- upkeep -------------------------------------------------------------------------

    def upkeep(self) -> None:
        """Hand work that is due to the background."""
        if self._has_news(SNAPSHOT_EVERY):
            snapshot, row = self._take_snapshot(), self.row
            self.background.do(lambda: self.store.add_snapshot(row.id, snapshot, generation=row.generation))
        if self.read_only is None and not self._weighing and is_due(self.folded):
            self._weighing = True
            self.background.do(self._weigh)
        may_rebuild = self.read_only is None and self.folded.ledger.rebuild_may_start(self.clock())
        if may_rebuild and not self._rebuilding:
            self._rebuilding = True
            self.background.do(self.rebuild)

    def _has_news(self, events: int) -> bool:
        """Whether so many events were folded since the last snapshot, and all of them are in the log."""
        return not self._half_applied and self.folded.seq - self._snapshot_seq >= events

    def _take_snapshot(self) -> SnapshotRow:
        self._snapshot_seq = self.folded.seq
        snapshot = self.folded.snapshot()
        self.memory_bytes = OWN_BYTES + len(snapshot.payload)
        return snapshot

    def finish(self) -> None:
        """End the background's work and leave a snapshot for the next opening."""
        self.background.finish()
        with self.lock:
            if self._has_news(1) and self.read_only is None:
                self.store.add_snapshot(self.row.id, self._take_snapshot(), generation=self.row.generation)

    def rebuild(self) -> None:
        """Where it is due, fold the log without retracted votes, off the request path, and swap it in."""
        try:
            with self.lock:
                self.refresh()
                if not self.folded.ledger.rebuild_is_due:
                    return  # another process was quicker
                began, start, upto = self.row, self.folded.ledger.rebuilt_upto, self.folded.seq
            fresh = rebuild(self.settings, self.log, upto=upto)
            self._follow(fresh, self.store.current(self.row.id).head)  # most of it without the lock
            with self.lock:
                self._swap_in(fresh, start, Rebuilt(upto), generation=began.generation)
        except Damaged as damage:
            with self.lock:
                self._found_damage(damage)
        finally:
            self._rebuilding = False
        with self.lock:
            self.upkeep()

    def _weigh(self) -> None:
        try:
            weigh_sources(self)
        except Damaged as damage:
            with self.lock:
                self._found_damage(damage)
        finally:
            self._weighing = False

    def _swap_in(self, fresh: StreamState, start: int, rebuilt: Rebuilt, *, generation: int) -> None:
        """Record the rebuild with a snapshot, so that no other process has to fold it again."""
        with self._writing() as writer:
            if self.folded.ledger.rebuilt_upto != start:
                return  # another process was quicker
            if self.row.generation != generation:
                return  # a name was erased meanwhile, or the log repaired: it is folded again
            self._follow(fresh, self.folded.seq)
            at = self.clock()
            seq = writer.append(kind_of(rebuilt), encode(rebuilt), at=at)
            fresh.apply(Recorded(seq, at, rebuilt))
            writer.put_snapshot(fresh.snapshot())
        self.folded = fresh
        self._snapshot_seq = fresh.seq

    def _follow(self, fresh: StreamState, upto: int) -> None:
        fresh.apply_all(self.log.events(after=fresh.seq, upto=upto))

"""Looking a whole stream through, and setting right what contradicts its log.

A damaged row is replaced by a `cut` event, and so is every event that the remaining history
does not allow. What is cut goes to a side table. All else stays: the log keeps its numbers,
and the tickets, the counts in the stream's row and the learner follow from it anew.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from duelwise.errors import Damaged, InvalidInput, StorageFailure
from duelwise.storage import EventRow, Store, TicketRow
from duelwise.storage.repairing import Repairer, Scanned, Scanner
from duelwise.storage.rows import NO_ROUND
from duelwise.stream.events import Asked, Cut, Recorded, decode, encode
from duelwise.stream.history import TicketHistory
from duelwise.stream.settings import StreamSettings

KEPT_IN = "cut_events"  # the side table
TICKETS_NAMED = 20  # of those whose rows differ from the log, the first


class Defect(NamedTuple):
    """Something that is not as it was recorded."""

    seq: int | None  # the event it is about, if it is about one
    says: str


class Repaired(NamedTuple):
    """What a repair did."""

    damaged: tuple[int, ...]  # events that failed their checksum or were missing
    unsupported: tuple[int, ...]  # intact events that cannot have happened, or not without those
    kept: int
    tickets: int = 0  # rows that were written anew
    recounted: bool = False  # the stream's row said other numbers of events or duels than the log
    snapshots: int = 0  # damaged ones that were dropped

    @property
    def changed(self) -> bool:
        return bool(self.damaged or self.unsupported or self.tickets or self.recounted or self.snapshots)


def verify(store: Store, name: str) -> tuple[Defect, ...]:
    """All that is wrong with a stream; one whose log is damaged becomes read-only.

    The database's own check, every checksum, and a replay of the log against the settings, the
    tickets and the counts in the stream's row.
    """
    defects = [Defect(None, f"The database says: {problem}.") for problem in store.check()]
    stream = store.stream(name)
    try:
        settings = StreamSettings.from_json(stream.settings)
        with store.scanning(stream.id) as scanner:
            survey = _Survey(settings)
            survey.walk(scanner)
            defects += survey.defects(scanner)
    except (StorageFailure, InvalidInput) as error:
        defects.append(Defect(None, str(error)))
    events = [defect.seq for defect in defects if defect.seq is not None]
    if events:
        store.mark_damaged(stream.id, min(events))
    return tuple(defects)


def repair(store: Store, name: str, *, at: float | None = None) -> Repaired:
    """Set aside what is damaged and write anew what follows from the rest.

    A sound stream is left as it is.
    """
    _mend_database(store)
    moment = time.time() if at is None else at
    settings = StreamSettings.from_json(store.stream(name).settings)
    with store.repairing(store.stream(name).id) as repairer:
        survey = _Survey(settings)
        survey.walk(repairer)
        return survey.write(repairer, moment)


def _mend_database(store: Store) -> None:
    """Indexes can be made anew; a broken file cannot."""
    if not store.check():
        return
    store.reindex()
    problems = store.check()
    if problems:
        raise StorageFailure(
            f"The database itself is damaged: {problems[0]}. A repair mends streams, not database files: "
            "restore a backup, or bring the file back with the database's own tools "
            "(`sqlite3 duels.db .recover`) and repair then."
        )


class _Survey:
    """Walks the log once, as the stream itself would have."""

    def __init__(self, settings: StreamSettings) -> None:
        self._history = TicketHistory(settings)
        self._damaged: dict[int, int] = {}  # number → the round that was asked there, if one was
        self._unsupported: dict[int, str] = {}  # number → why it cannot have happened
        self._holes: list[Scanned] = []  # damaged since the last duel was asked
        self._head = 0

    def walk(self, scanner: Scanner) -> None:
        for scanned in scanner.scan():
            self._head = scanned.seq
            self._take(scanned)
        # Where rows are missing at the end, only the stream's row tells how many duels they held.
        self._fill_holes(max(scanner.stream.rounds, self._history.rounds) if self._holes else 0)

    def defects(self, scanner: Scanner) -> list[Defect]:
        found = [Defect(seq, f"Event {seq} is damaged or missing.") for seq in self._damaged]
        found += [Defect(seq, f"Event {seq} {why}.") for seq, why in self._unsupported.items()]
        row = scanner.stream
        if row.head != self._head or row.rounds != self._history.rounds:
            says = (
                f"The stream's row counts {row.head} events and {row.rounds} duels, the log {self._head} "
                f"and {self._history.rounds}."
            )
            found.append(Defect(row.head + 1, says))
        differing = self._differing(scanner)
        rows = ", ".join(map(str, differing[:TICKETS_NAMED]))
        if differing:
            says = f"The rows of {len(differing)} tickets differ from the log: those of duels {rows}"
            found.append(Defect(None, f"{says}{', …' if len(differing) > TICKETS_NAMED else '.'}"))
        found += [
            Defect(None, f"The snapshot after event {seq} is damaged; it is passed over.")
            for seq in scanner.damaged_snapshots()
        ]
        return sorted(found, key=lambda finding: (finding.seq is None, finding.seq or 0))

    def write(self, repairer: Repairer, at: float) -> Repaired:
        snapshots = repairer.damaged_snapshots()
        repairer.drop_snapshots(snapshots)
        for seq, round in self._damaged.items():
            _cut(repairer, seq, Cut(round), "fails its checksum or is missing", at)
        for seq, why in self._unsupported.items():
            _cut(repairer, seq, Cut(), why, at)
        row = repairer.stream
        done = Repaired(
            damaged=tuple(sorted(self._damaged)),
            unsupported=tuple(sorted(self._unsupported)),
            kept=self._head - len(self._damaged) - len(self._unsupported),
            tickets=len(self._differing(repairer)),
            recounted=(row.head, row.rounds) != (self._head, self._history.rounds),
            snapshots=len(snapshots),
        )
        if done.changed or row.damaged is not None:
            repairer.finish(
                tickets=self._history.tickets.values(),
                head=self._head,
                rounds=self._history.rounds,
                first_cut=min([*self._damaged, *self._unsupported, row.head + 1]),
            )
        return done

    def _take(self, scanned: Scanned) -> None:
        recorded = _decoded(scanned)
        if recorded is None:
            self._damaged[scanned.seq] = NO_ROUND
            self._holes.append(scanned)
            return
        event = recorded.event
        if isinstance(event, Asked | Cut) and event.round != NO_ROUND:
            self._fill_holes(event.round)
        wrong = self._history.take(recorded)
        if wrong is not None:
            self._unsupported[scanned.seq] = wrong

    def _differing(self, scanner: Scanner) -> list[int]:
        """Rounds whose ticket is not what the log makes of it, is missing, or should not be there."""
        expected = self._history.tickets
        stored: dict[int, TicketRow] = {ticket.round: ticket for ticket in scanner.tickets()}
        return sorted(
            round for round in expected.keys() | stored.keys() if expected.get(round) != stored.get(round)
        )

    def _fill_holes(self, upto: int) -> None:
        """Rounds are served without gaps: those that are missing were asked where the damage is."""
        missing = range(self._history.rounds, upto)
        likely = sorted(self._holes, key=lambda hole: hole.kind != "asked")[: len(missing)]
        if len(likely) < len(missing) and self._holes:
            raise StorageFailure(
                f"The log has lost {len(missing)} duels before round {upto} and shows only {len(likely)} "
                "damaged events there. It cannot be repaired; restore a backup."
            )
        for hole, round in zip(sorted(likely), missing, strict=False):
            self._damaged[hole.seq] = round
            self._history.rounds = round + 1
        self._holes.clear()


def _decoded(scanned: Scanned) -> Recorded | None:
    try:
        return None if scanned.event is None else decode(scanned.event)
    except Damaged:
        return None


def _cut(repairer: Repairer, seq: int, cut: Cut, reason: str, at: float) -> None:
    replacement = EventRow(seq, "cut", cut.round, None, at, encode(cut))
    repairer.set_aside(replacement, reason=reason, at=at)

"""Looking a whole log through, and setting damaged events aside.

A damaged row is replaced by a `cut` event, and so is every later event that its ticket's
remaining history does not allow. What is cut goes to a side table. All else stays: the log
keeps its numbers, and the tickets and the learner follow from it anew.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from duelwise.errors import Damaged, StorageFailure
from duelwise.storage import EventRow, Store, TicketRow
from duelwise.storage.repairing import Repairer, Scanned
from duelwise.storage.rows import NO_ROUND
from duelwise.stream import tickets
from duelwise.stream.events import Asked, Cut, Event, Recorded, decode, encode


class Repaired(NamedTuple):
    """What a repair did."""

    damaged: tuple[int, ...]  # events that failed their checksum or were missing
    unsupported: tuple[int, ...]  # intact events that made no sense without those
    kept: int


def verify(store: Store, name: str) -> tuple[int, ...]:
    """The numbers of all damaged or missing events; a stream that has any becomes read-only."""
    stream = store.stream(name)
    damaged: list[int] = []
    after = 0
    while after < stream.head:
        try:
            for event in store.events(stream.id, after=after, upto=stream.head):
                after = event.seq
        except Damaged as damage:
            damaged.append(damage.seq)
            after = damage.seq
    if damaged:
        store.mark_damaged(stream.id, damaged[0])
    return tuple(damaged)


def repair(store: Store, name: str, *, at: float | None = None) -> Repaired:
    """Set aside what is damaged and open the stream again; a sound log is left as it is."""
    moment = time.time() if at is None else at
    with store.repairing(store.stream(name).id) as repairer:
        survey = _Survey()
        for scanned in repairer.scan():
            survey.take(scanned)
        survey.close(repairer.stream.rounds)
        _write(repairer, survey, moment)
    head = repairer.stream.head
    damaged, unsupported = tuple(sorted(survey.damaged)), tuple(survey.unsupported)
    return Repaired(damaged, unsupported, head - len(damaged) - len(unsupported))


class _Survey:
    """Walks the log once, as the stream itself would have."""

    def __init__(self) -> None:
        self.tickets: dict[int, TicketRow] = {}
        self.rounds = 0
        self.damaged: dict[int, int] = {}  # number → the round that was asked there, if one was
        self.unsupported: list[int] = []
        self._holes: list[Scanned] = []  # damaged since the last duel was asked

    def take(self, scanned: Scanned) -> None:
        if scanned.event is None:
            self.damaged[scanned.seq] = NO_ROUND
            self._holes.append(scanned)
            return
        recorded = decode(scanned.event)
        event = recorded.event
        if isinstance(event, Asked | Cut) and event.round != NO_ROUND:
            self._fill_holes(event.round)
            self.rounds = event.round + 1
        if tickets.is_allowed(self.tickets.get(event.round), event):
            self._advance(recorded, event)
        else:
            self.unsupported.append(scanned.seq)

    def close(self, rounds: int) -> None:
        """The log is at its end, where the stream has counted so many rounds."""
        self._fill_holes(rounds)
        self.rounds = rounds

    def _advance(self, recorded: Recorded, event: Event) -> None:
        if isinstance(event, Asked):
            self.tickets[event.round] = tickets.after_asked(recorded, event)
        elif event.round in self.tickets:
            self.tickets[event.round] = tickets.after(self.tickets[event.round], recorded)

    def _fill_holes(self, upto: int) -> None:
        """Rounds are served without gaps: those that are missing were asked where the damage is."""
        missing = range(self.rounds, upto)
        likely = sorted(self._holes, key=lambda hole: hole.kind != "asked")[: len(missing)]
        if len(likely) < len(missing):
            raise StorageFailure(
                f"The log has lost {len(missing)} duels before round {upto} and shows only {len(likely)} "
                "damaged events there. It cannot be repaired; restore a backup."
            )
        for hole, round in zip(sorted(likely), missing, strict=True):
            self.damaged[hole.seq] = round
        self._holes.clear()


def _write(repairer: Repairer, survey: _Survey, at: float) -> None:
    for seq, round in survey.damaged.items():
        _cut(repairer, seq, Cut(round), "fails its checksum or is missing", at)
    for seq in survey.unsupported:
        _cut(repairer, seq, Cut(), "does not follow from the events that are left", at)
    if survey.damaged:
        repairer.finish(tickets=survey.tickets.values(), rounds=survey.rounds, first_cut=min(survey.damaged))


def _cut(repairer: Repairer, seq: int, cut: Cut, reason: str, at: float) -> None:
    replacement = EventRow(seq, "cut", cut.round, None, at, encode(cut))
    repairer.set_aside(replacement, reason=reason, at=at)

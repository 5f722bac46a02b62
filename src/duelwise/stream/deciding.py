"""One transaction's worth of requests: check each ticket's state, append what follows.

Nothing here touches the learner's state: it chooses, and the appended events are applied
once they are durable. All asks of a batch choose with the learner as it was before it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from duelwise.errors import Conflict, Damaged, DuelwiseError, Expired, InvalidInput
from duelwise.storage import OPEN_STATES, EventRow, TicketRow, Writer
from duelwise.stream import events, tickets
from duelwise.stream.candidates import CandidateSet, check_name, is_name, read_candidates, read_features
from duelwise.stream.choosing import Chooser
from duelwise.stream.events import Asked, Event, Observed, Recorded, Retracted, Skipped, Told, encode, kind_of
from duelwise.stream.folding import Folded
from duelwise.stream.operations import (
    WINNERS,
    Answer,
    Ask,
    Duel,
    Import,
    Observe,
    Operation,
    Receipt,
    Retract,
    Side,
    Tell,
)
from duelwise.types import Array


class Batch:
    """Requests decided inside one transaction."""

    def __init__(self, writer: Writer, folded: Folded, chooser: Chooser, *, at: float) -> None:
        self._writer, self._folded, self._chooser, self._at = writer, folded, chooser, at
        self._settings = folded.settings
        self._tickets: dict[int, TicketRow] = {}
        self._named: dict[str, EventRow] = {}
        self._version = folded.seq
        self.appended: list[Recorded] = []

    def decide(self, operations: Iterable[Operation]) -> list[Answer | DuelwiseError]:
        """One answer for each request, in order; a refused one leaves no trace."""
        operations = list(operations)
        self._look_up(operations)
        answers: list[Answer | DuelwiseError] = []
        for operation in operations:
            try:
                answers.append(self._decide(operation))
            except Damaged:
                raise
            except DuelwiseError as refusal:
                answers.append(refusal)
        return answers

    def expire(self, *, asked_before: float, limit: int) -> int:
        """Close tickets that waited too long, oldest first; returns how many."""
        overdue = self._writer.overdue(asked_before=asked_before, limit=limit)
        for ticket in overdue:
            self._advance(ticket, events.Expired(ticket.round))
        return len(overdue)

    def retract_source(self, source: str, *, after: int, limit: int) -> tuple[int, int | None]:
        """Retract votes of one source, from the round after `after` on.

        Returns how many, and the round to go on after; None when there are no more.
        """
        found = self._writer.from_source(source, after=after, limit=limit)
        counting = [ticket for ticket in found if ticket.state in ("voted", "told")]
        for ticket in counting:
            self._advance(ticket, Retracted(ticket.round))
        return len(counting), found[-1].round if len(found) == limit else None

    # -- requests -----------------------------------------------------------------------

    def _look_up(self, operations: Iterable[Operation]) -> None:
        """Fetch every ticket and event id that is spoken of, in one query each."""
        rounds: set[int] = set()
        names: set[str] = set()
        for operation in operations:
            if isinstance(operation, Ask | Import):
                if operation.event_id is not None and is_name(operation.event_id):
                    names.add(operation.event_id)
            else:
                number = tickets.number_of(operation.ticket)
                if number is not None:
                    rounds.add(number)
        if rounds:
            self._tickets = self._writer.tickets(rounds) | self._tickets
        if names:
            self._named = self._writer.named(names)

    def _decide(self, operation: Operation) -> Answer:
        if isinstance(operation, Ask):
            return self._ask(operation)
        if isinstance(operation, Observe):
            return self._observe(operation)
        if isinstance(operation, Tell):
            return self._tell(operation)
        if isinstance(operation, Retract):
            return self._retract(operation)
        return self._import(operation)

    def _ask(self, ask: Ask) -> Duel:
        check_name("event_id", ask.event_id)
        offered = read_candidates(ask.candidates, self._settings.context_names)
        if ask.event_id in self._named:
            return _asked_again(self._named[ask.event_id], offered)
        choice = self._chooser.choose(self._folded.learner, offered.x, self._writer.rounds)
        arms: list[int] = choice.arms.tolist()
        ids = None if offered.ids is None else [offered.ids[arm] for arm in arms]
        round = self._writer.next_round()
        asked = Asked(
            round=round,
            tag=tickets.new_tag(self._writer.stream.uid, round, self._at),
            arms=choice.arms,
            x=offered.x[choice.arms],
            predicted=choice.predicted,
            swapped=choice.swapped,
            model_version=self._version,
            y=np.zeros((2, 0)) if self._settings.post_dim == 0 else None,  # then all is known at once
            ids=ids,
            probability=choice.probability,
            candidates=offered.x if self._settings.keep_candidates else None,
            candidate_ids=offered.ids if self._settings.keep_candidates else None,
        )
        self._append_asked(asked, ask.event_id)
        return duel_of(asked, repeated=False)

    def _observe(self, observe: Observe) -> Receipt:
        ticket = self._find(observe.ticket)
        names = self._settings.post_names
        left = read_features(observe.left, names, "the left candidate's context")
        right = read_features(observe.right, names, "the right candidate's context")
        y = np.stack([right, left] if ticket.swapped else [left, right])
        if ticket.observed_seq is not None:
            if not self._is_context(y, ticket.observed_seq):
                raise Conflict(
                    f"Ticket {observe.ticket} already has another context. Contexts are recorded once; "
                    "retract the ticket if the first one was wrong."
                )
            return Receipt(observe.ticket, ticket.state, changed=False)
        self._check_open(ticket, observe.ticket, "context")
        return self._receipt(self._advance(ticket, Observed(ticket.round, y)))

    def _tell(self, tell: Tell) -> Receipt:
        ticket = self._find(tell.ticket)
        check_name("source", tell.source)
        outcome = _outcome(tell.winner, swapped=ticket.swapped)
        if outcome is None and ticket.state == "skipped":
            return Receipt(tell.ticket, ticket.state, changed=False)
        if ticket.told_seq is not None and ticket.state in ("voted", "told"):
            if outcome == ticket.outcome:
                return Receipt(tell.ticket, ticket.state, changed=False)
            raise Conflict(
                f"Ticket {tell.ticket} already has another vote. A vote is final; retract it if it was wrong."
            )
        self._check_open(ticket, tell.ticket, "vote")
        if outcome is None:
            return self._receipt(self._advance(ticket, Skipped(ticket.round, tell.source)))
        return self._receipt(self._advance(ticket, Told(ticket.round, outcome, tell.source)))

    def _retract(self, retract: Retract) -> Receipt:
        ticket = self._find(retract.ticket)
        if ticket.state == "retracted":
            return Receipt(retract.ticket, ticket.state, changed=False)
        if ticket.state in ("skipped", "expired"):
            raise Conflict(f"Ticket {retract.ticket} was {ticket.state}; there is no vote to retract.")
        return self._receipt(self._advance(ticket, Retracted(ticket.round)))

    def _import(self, duel: Import) -> Receipt:
        check_name("event_id", duel.event_id)
        check_name("source", duel.source)
        if duel.event_id in self._named:
            again = _served_again(self._named[duel.event_id])
            return Receipt(again.ticket, "told", changed=False)
        x = np.stack(
            [
                read_features(duel.left, self._settings.context_names, "the left candidate"),
                read_features(duel.right, self._settings.context_names, "the right candidate"),
            ]
        )
        y = np.stack(
            [
                read_features(duel.left_context, self._settings.post_names, "the left candidate's context"),
                read_features(duel.right_context, self._settings.post_names, "the right candidate's context"),
            ]
        )
        outcome = _outcome(duel.winner, swapped=False)
        if outcome is None:
            raise InvalidInput("The winner is 'skip'; a duel without a vote teaches nothing. Leave it out.")
        round = self._writer.next_round()
        asked = Asked(
            round=round,
            tag=tickets.new_tag(self._writer.stream.uid, round, self._at),
            arms=np.array([0, 1]),
            x=x,
            predicted=self._folded.learner.post_serving.predict(x[None])[0],
            swapped=False,
            model_version=self._version,
            y=y,
        )
        ticket = self._append_asked(asked, duel.event_id)
        return self._receipt(self._advance(ticket, Told(round, outcome, duel.source)))

    # -- tickets ------------------------------------------------------------------------

    def _find(self, ticket: str) -> TicketRow:
        number = tickets.number_of(ticket)
        found = None if number is None else self._tickets.get(number)
        if found is None or tickets.write(found.round, found.tag) != ticket:
            raise tickets.unknown(ticket)
        return found

    def _check_open(self, ticket: TicketRow, name: str, what: str) -> None:
        """A ticket past its time is closed here and now, whether or not a sweep has come by."""
        limit = self._settings.vote_ttl_seconds
        if ticket.state in OPEN_STATES and self._at - ticket.asked_at > limit:
            ticket = self._advance(ticket, events.Expired(ticket.round))
        if ticket.state == "expired":
            raise Expired(
                f"Ticket {name} has expired: this stream waits {limit:g} seconds for a vote and its context. "
                f"The {what} was not recorded; ask again for a new duel."
            )
        if ticket.state not in OPEN_STATES:
            raise Conflict(f"Ticket {name} was {ticket.state}; it takes no {what} any more.")

    def _is_context(self, y: Array, seq: int) -> bool:
        """Whether this is what event `seq` recorded."""
        event = events.decode(self._writer.event(seq)).event
        return isinstance(event, Asked | Observed) and event.y is not None and np.array_equal(y, event.y)

    def _append_asked(self, asked: Asked, event_id: str | None) -> TicketRow:
        recorded = self._append(asked, asked.round, event_id)
        ticket = tickets.after_asked(recorded, asked)
        self._put(ticket)
        if event_id is not None:
            self._named[event_id] = self._writer.event(recorded.seq)
        return ticket

    def _advance(self, ticket: TicketRow, event: Event) -> TicketRow:
        ticket = tickets.after(ticket, self._append(event, ticket.round, None))
        self._put(ticket)
        return ticket

    def _append(self, event: Event, round: int, event_id: str | None) -> Recorded:
        seq = self._writer.append(kind_of(event), encode(event), at=self._at, round=round, event_id=event_id)
        recorded = Recorded(seq, self._at, event, event_id)
        self.appended.append(recorded)
        return recorded

    def _put(self, ticket: TicketRow) -> None:
        self._tickets[ticket.round] = ticket
        self._writer.put(ticket)

    def _receipt(self, ticket: TicketRow) -> Receipt:
        return Receipt(tickets.write(ticket.round, ticket.tag), ticket.state, changed=True)


def duel_of(asked: Asked, *, repeated: bool) -> Duel:
    """The answer that an `asked` event stands for."""
    first, second = (Side(None if asked.ids is None else asked.ids[i], int(asked.arms[i])) for i in range(2))
    left, right = (second, first) if asked.swapped else (first, second)
    ticket = tickets.write(asked.round, asked.tag)
    return Duel(ticket, left, right, asked.model_version, asked.probability, repeated)


def _asked_again(row: EventRow, offered: CandidateSet) -> Duel:
    """The duel of an earlier ask, if it could be an answer to this one."""
    asked = events.decode(row).event
    assert isinstance(asked, Asked)  # only asks carry an event_id
    arms: list[int] = asked.arms.tolist()
    ids = None if offered.ids is None or max(arms) >= len(offered.ids) else [offered.ids[arm] for arm in arms]
    if (
        max(arms) >= len(offered.x)
        or not np.array_equal(offered.x[arms], asked.x)
        or ids != (None if asked.ids is None else list(asked.ids))
    ):
        raise Conflict(
            f"The event_id {row.event_id!r} was used for other candidates, and its pair is not among these. "
            "Send the same candidates again, or ask under another event_id."
        )
    return duel_of(asked, repeated=True)


def _served_again(row: EventRow) -> Duel:
    asked = events.decode(row).event
    assert isinstance(asked, Asked)  # only asks carry an event_id
    return duel_of(asked, repeated=True)


def _outcome(winner: str, *, swapped: bool) -> float | None:
    """1 when the first of the pair won, 0 the second, ½ a tie, None for no vote."""
    if winner not in WINNERS:
        raise InvalidInput(f"The winner is {winner!r}; expected one of {', '.join(WINNERS)}.")
    if winner in ("tie", "skip"):
        return 0.5 if winner == "tie" else None
    return float((winner == "left") != swapped)

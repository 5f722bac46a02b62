"""One transaction's worth of requests: check each ticket's state, append what follows.

Before each choice the events appended so far are folded, so that an ask knows of the duels asked for just
before it. Should the transaction fail, the state is ahead of the log and is loaded again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from duelwise.errors import Conflict, Damaged, DuelwiseError, Expired, InvalidInput, TicketDamaged
from duelwise.storage import OPEN_STATES, EventRow, TicketRow, Writer
from duelwise.storage.rows import NO_ROUND
from duelwise.stream import events, tickets
from duelwise.stream.candidates import (
    CandidateSet,
    check_name,
    is_name,
    read_candidates,
    read_features,
    read_partial,
)
from duelwise.stream.catalogue import check_ids, check_offer
from duelwise.stream.choosing import Choices, Chooser
from duelwise.stream.events import (
    Asked,
    ClockConfirmed,
    Event,
    Imputed,
    ItemsPut,
    ItemsWithdrawn,
    Observed,
    Recorded,
    Retracted,
    Skipped,
    SourceHeld,
    SourceReleased,
    SourcesWeighed,
    Told,
    encode,
    kind_of,
)
from duelwise.stream.folding import Folded
from duelwise.stream.lifecycle import LATE_CONTEXT, outcome_of
from duelwise.stream.operations import (
    MOST_VOTES,
    Answer,
    Ask,
    Duel,
    FromCatalogue,
    Import,
    Observe,
    Operation,
    Receipt,
    Retract,
    Tell,
)
from duelwise.stream.parts_of_contexts import merge
from duelwise.stream.repeating import check_repeated, digest_of, duel_of
from duelwise.types import Array, BoolArray, IntArray


class Batch:
    """Requests decided inside one transaction."""

    def __init__(self, writer: Writer, folded: Folded, chooser: Chooser, *, at: float) -> None:
        self._writer, self._folded, self._chooser, self._at = writer, folded, chooser, at
        self._settings = folded.settings
        self._now = folded.ledger.time.now(at)
        self._tickets: dict[int, TicketRow] = {}
        self._changed: set[int] = set()  # rounds of tickets that this batch has moved on
        self._named: dict[str, EventRow] = {}
        self.folded_upto = 0  # of `appended`: what the next choice has to know of
        self.appended: list[Recorded] = []

    def decide(self, operations: Iterable[Operation]) -> list[Answer | DuelwiseError]:
        """One answer for each request, in order; a refused one leaves no trace."""
        operations = list(operations)
        ranged = self._folded.due_ranges()
        if ranged is not None:
            self._append(ranged, NO_ROUND, None)
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
        """Close tickets that waited too long, oldest first; returns how many were looked at."""
        overdue = self._writer.overdue(asked_before=asked_before, limit=limit)
        for ticket in self._sound(overdue):
            self._advance(ticket, events.Expired(ticket.round))
        return len(overdue)

    def retract_source(self, source: str, *, after: int, limit: int) -> tuple[int, int | None]:
        """Retract votes of one source, from the round after `after` on.

        Returns how many, and the round to go on after; None when there are no more.
        """
        found = self._writer.from_source(source, after=after, limit=limit + 1)
        more = len(found) > limit
        counting = self._sound(found[:limit])
        for ticket in counting:
            own = [vote for vote in tickets.votes_of(ticket) if vote.source == source]
            if own:
                self._retract_votes(ticket, own, more=more)
        return len(counting), found[limit - 1].round if more else None

    def confirm_clock(self) -> None:
        """Record that the time of this transaction is right."""
        self._append(ClockConfirmed(), NO_ROUND, None)

    def put_items(self, put: ItemsPut) -> None:
        """Record items that are new or have changed."""
        self._append(put, NO_ROUND, None)

    def withdraw_items(self, ids: Sequence[str]) -> None:
        """Record that these items are offered no longer."""
        self._append(ItemsWithdrawn(list(ids)), NO_ROUND, None)

    def hold_source(self, source: str) -> bool:
        """Record that a source is held back; False when it is already."""
        check_name("source", source)
        if source in self._folded.left_out.sources:
            return False
        self._append(SourceHeld(source), NO_ROUND, None)
        return True

    def release_source(self, source: str) -> bool:
        """Record that a source counts again; False when it does already."""
        check_name("source", source)
        if source not in self._folded.left_out.sources:
            return False
        self._append(SourceReleased(source), NO_ROUND, None)
        return True

    def weigh_sources(self, distrusted: Sequence[str], *, votes: int, changed: bool) -> None:
        """Record a judgement of all sources."""
        self._append(SourcesWeighed(list(distrusted), votes, changed), NO_ROUND, None)

    def _sound(self, found: Iterable[TicketRow]) -> list[TicketRow]:
        """Those whose rows say what the log says; `verify` names the others."""
        agrees = self._folded.ledger.agrees_with
        return [ticket for ticket in found if agrees(ticket.round, ticket.state)]

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
        offered = self._offered(ask)
        digest = None if ask.event_id is None else _digest(ask, offered)
        if ask.event_id in self._named:
            asked = self._served(ask.event_id)
            check_repeated(asked, digest, offered, ask.event_id)
            return duel_of(asked, repeated=True)
        wanted = self._wanted(ask.votes_wanted)
        self._fold_so_far()
        inputs = self._folded.inputs
        choices = Choices(offered.x, offered.y, offered.known)
        choice = self._chooser.choose(self._folded, choices, self._writer.rounds)
        bounds = inputs.offered(offered.x[None])
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
            model_version=self._folded.seq,
            y=self._known_at_once(offered, choice.arms),
            ids=ids,
            probability=choice.probability,
            candidates=offered.x if self._settings.keep_candidates else None,
            candidate_ids=offered.ids if self._settings.keep_candidates else None,
            offered=digest,
            bounds=None if bounds is None else bounds[0],
            fallback=choice.fallback,
            wanted=None if wanted == 1 else wanted,
        )
        self._append_asked(asked, ask.event_id)
        return duel_of(asked, repeated=False)._replace(clamped=self._clamped(offered.x))

    def _wanted(self, asked: int | None) -> int:
        """How many votes the duel shall get."""
        wanted = self._settings.votes_wanted if asked is None else asked
        if type(wanted) is not int or not 1 <= wanted <= MOST_VOTES:
            raise InvalidInput(
                f"votes_wanted is {wanted!r:.80}; expected a whole number from 1 to {MOST_VOTES}."
            )
        return wanted

    def _fold_so_far(self) -> None:
        """A choice knows all that this transaction has recorded before it, the duels just asked for too."""
        while self.folded_upto < len(self.appended):
            recorded = self.appended[self.folded_upto]
            self.folded_upto += 1
            self._folded.apply(recorded)

    def _clamped(self, x: Array) -> tuple[str, ...]:
        """The features of which some candidate of x (K, dx) lies beyond the range."""
        beyond = np.flatnonzero(self._folded.inputs.beyond(x[None])[0]).tolist()
        return tuple(self._settings.context_names[feature] for feature in beyond)

    def _offered(self, ask: Ask) -> CandidateSet:
        """Candidates as given, or those of the catalogue."""
        chosen, catalogue = ask.candidates, self._folded.catalogue
        if not isinstance(chosen, FromCatalogue):
            return read_candidates(chosen, self._settings.context_names, self._settings.encoder)
        if chosen.ids is not None:
            check_ids(chosen.ids)
            offered = catalogue.some(chosen.ids)
        else:
            offered = catalogue.whole() if chosen.group is None else catalogue.group(chosen.group)
        check_offer(offered)
        return CandidateSet(offered.x, offered.ids, offered.y, offered.known)

    def _known_at_once(self, offered: CandidateSet, arms: IntArray) -> Array | None:
        """(2, dy) where nothing is left to become known of the two."""
        if self._settings.post_dim == 0:
            return np.zeros((2, 0))
        if offered.y is None or offered.known is None or not offered.known[arms].all():
            return None
        return offered.y[arms]

    def _observe(self, observe: Observe) -> Receipt:
        ticket = self._find(observe.ticket)
        names = self._settings.post_names
        left = read_partial(observe.left, names, "the left candidate's context")
        right = read_partial(observe.right, names, "the right candidate's context")
        given = np.stack([right, left] if ticket.swapped else [left, right])
        y, fresh = merge(self._known_context(ticket), given, observe.ticket)
        if not fresh.any() and (names or ticket.observed_seq is not None):
            return Receipt(observe.ticket, ticket.state, changed=False)
        if names and ticket.state in LATE_CONTEXT:  # skipped, or imputed before
            return self._receipt(self._advance(ticket, self._late_context(ticket, y, fresh)))
        self._check_open(ticket, observe.ticket, "context")
        return self._receipt(self._advance(ticket, Observed(ticket.round, y)))

    def _known_context(self, ticket: TicketRow) -> Array:
        """(2, dy) what was observed of the pair so far."""
        if ticket.observed_seq is None:
            return np.full((2, self._settings.post_dim), np.nan)
        event = events.decode(self._writer.event(ticket.observed_seq)).event
        assert isinstance(event, Asked | Observed)
        assert event.y is not None
        return event.y

    def _late_context(self, ticket: TicketRow, y: Array, fresh: BoolArray) -> Observed:
        """What comes after a duel has stopped waiting for it: φ̂ still learns."""
        asked = events.decode(self._writer.event(ticket.asked_seq)).event
        assert isinstance(asked, Asked)
        return Observed(ticket.round, y, asked.x, fresh.astype(np.int64))

    def _tell(self, tell: Tell) -> Receipt:
        ticket = self._find(tell.ticket)
        check_name("source", tell.source)
        outcome = outcome_of(tell.winner, swapped=ticket.swapped)
        if outcome is None and ticket.state == "skipped":
            return Receipt(tell.ticket, ticket.state, changed=False)
        given = tickets.votes_of(ticket)
        own = [vote for vote in given if vote.source == tell.source]
        if own:
            if outcome == own[0].outcome:
                return Receipt(tell.ticket, ticket.state, changed=False, vote=str(own[0].seq))
            raise Conflict(
                f"Ticket {tell.ticket} already has another vote from this source. A vote is final; retract "
                "it if it was wrong."
            )
        if len(given) >= ticket.wanted:
            raise Conflict(
                f"Ticket {tell.ticket} already has its {ticket.wanted} votes, from other sources. "
                "Ask with votes_wanted to hear several raters on one duel."
            )
        self._check_open(ticket, tell.ticket, "vote")
        if outcome is None:
            return self._receipt(self._advance(ticket, Skipped(ticket.round, tell.source)))
        ticket = self._advance(ticket, Told(ticket.round, outcome, tell.source))
        told = self._receipt(ticket)._replace(vote=str(ticket.told_seq))
        if ticket.state == "voted" and self._waited_enough(ticket):
            return told._replace(state=self._impute(ticket).state)
        return told

    def _waited_enough(self, ticket: TicketRow) -> bool:
        """Whether a vote need not wait for its context any longer."""
        limit = self._settings.context_ttl_seconds
        return limit > 0 and self._now - ticket.asked_at > limit

    def _impute(self, ticket: TicketRow) -> TicketRow:
        """What φ̂ expects stands for the context that did not come."""
        self._fold_so_far()
        return self._advance(
            ticket, Imputed(ticket.round, self._folded.inputs.expected_context(0, ticket.round))
        )

    def impute(self, *, asked_before: float, limit: int) -> int:
        """Learn from votes whose context did not come in time, oldest first; returns how many looked at."""
        overdue = self._writer.without_context(asked_before=asked_before, limit=limit)
        for ticket in self._sound(overdue):
            self._impute(ticket)
        return len(overdue)

    def _retract(self, retract: Retract) -> Receipt:
        ticket = self._find(retract.ticket)
        if ticket.state == "retracted":
            return Receipt(retract.ticket, ticket.state, changed=False)
        if ticket.state in ("skipped", "expired"):
            raise Conflict(f"Ticket {retract.ticket} was {ticket.state}; there is no vote to retract.")
        given = tickets.votes_of(ticket)
        chosen = [
            vote
            for vote in given
            if retract.vote in (None, str(vote.seq)) and retract.source in (None, vote.source)
        ]
        if (retract.vote, retract.source) != (None, None) and not chosen:
            raise Conflict(
                f"Ticket {retract.ticket} has no such vote that counts. "
                "Look at the ticket: it lists its votes, each with its id."
            )
        return self._receipt(self._retract_votes(ticket, chosen, more=False))

    def _retract_votes(self, ticket: TicketRow, votes: list[tickets.Vote], *, more: bool) -> TicketRow:
        """Some votes of a ticket, or the ticket as a whole where none would be left."""
        if len(votes) == len(tickets.votes_of(ticket)):
            return self._advance(ticket, Retracted(ticket.round, more=more))
        for vote in votes:
            last = vote is votes[-1]
            ticket = self._advance(ticket, Retracted(ticket.round, more=more or not last, vote=vote.seq))
        return ticket

    def _import(self, duel: Import) -> Receipt:
        check_name("event_id", duel.event_id)
        check_name("source", duel.source)
        x = np.stack(
            [
                read_features(
                    duel.left, self._settings.context_names, "the left candidate", self._settings.encoder
                ),
                read_features(
                    duel.right, self._settings.context_names, "the right candidate", self._settings.encoder
                ),
            ]
        )
        y = np.stack(
            [
                read_features(duel.left_context, self._settings.post_names, "the left candidate's context"),
                read_features(duel.right_context, self._settings.post_names, "the right candidate's context"),
            ]
        )
        outcome = outcome_of(duel.winner, swapped=False)
        if outcome is None:
            raise InvalidInput("The winner is 'skip'; a duel without a vote teaches nothing. Leave it out.")
        digest = None if duel.event_id is None else digest_of(x, y, duel.winner)
        if duel.event_id in self._named:
            asked = self._served(duel.event_id)
            check_repeated(asked, digest, CandidateSet(x, None), duel.event_id)
            return Receipt(tickets.write(asked.round, asked.tag), "told", changed=False)
        round = self._writer.next_round()
        asked = Asked(
            round=round,
            tag=tickets.new_tag(self._writer.stream.uid, round, self._at),
            arms=np.array([0, 1]),
            x=x,
            predicted=self._folded.inputs.predict(x[None])[0],
            swapped=False,
            model_version=self._folded.seq,
            y=y,
            offered=digest,
        )
        ticket = self._append_asked(asked, duel.event_id)
        return self._receipt(self._advance(ticket, Told(round, outcome, duel.source)))

    # -- tickets ------------------------------------------------------------------------

    def _find(self, ticket: str) -> TicketRow:
        number = tickets.number_of(ticket)
        found = None if number is None else self._tickets.get(number)
        if found is None or tickets.write(found.round, found.tag) != ticket:
            raise tickets.unknown(ticket)
        if found.round not in self._changed and not self._sound([found]):
            raise TicketDamaged(
                f"The row of ticket {ticket} says that it was {found.state}, and the log says otherwise. "
                "Nothing was recorded. `duelwise repair` writes the tickets anew from the log."
            )
        return found

    def _check_open(self, ticket: TicketRow, name: str, what: str) -> None:
        """A ticket past its time is closed here and now, whether or not a sweep has come by."""
        limit = self._settings.vote_ttl_seconds
        if ticket.state in OPEN_STATES and self._now - ticket.asked_at > limit:
            ticket = self._advance(ticket, events.Expired(ticket.round))
        if ticket.state == "expired":
            raise Expired(
                f"Ticket {name} has expired: this stream waits {limit:g} seconds for a vote and its context. "
                f"The {what} was not recorded; ask again for a new duel."
            )
        if ticket.state not in OPEN_STATES:
            raise Conflict(f"Ticket {name} was {ticket.state}; it takes no {what} any more.")

    def _append_asked(self, asked: Asked, event_id: str | None) -> TicketRow:
        ticket = self._advance(None, asked, event_id)
        if event_id is not None:
            self._named[event_id] = self._writer.event(ticket.asked_seq)
        return ticket

    def _advance(self, ticket: TicketRow | None, event: Event, event_id: str | None = None) -> TicketRow:
        after = tickets.after(ticket, self._append(event, event.round, event_id))
        assert after is not None  # every caller has looked at the ticket's state
        self._tickets[after.round] = after
        self._changed.add(after.round)
        self._writer.put(after)
        return after

    def _append(self, event: Event, round: int, event_id: str | None) -> Recorded:
        seq = self._writer.append(kind_of(event), encode(event), at=self._at, round=round, event_id=event_id)
        recorded = Recorded(seq, self._at, event, event_id)
        self.appended.append(recorded)
        return recorded

    def _served(self, event_id: str) -> Asked:
        """The duel of a request that came before."""
        asked = events.decode(self._named[event_id]).event
        assert isinstance(asked, Asked)  # only asks carry an event_id
        return asked

    def _receipt(self, ticket: TicketRow) -> Receipt:
        return Receipt(tickets.write(ticket.round, ticket.tag), ticket.state, changed=True)


def _digest(ask: Ask, offered: CandidateSet) -> str:
    """Of what was asked: the words where items were named, else the features."""
    chosen = ask.candidates
    if isinstance(chosen, FromCatalogue):
        return digest_of("catalogue", *(chosen.ids or ()), f"group {chosen.group}")
    return digest_of(offered.x, *(offered.ids or ()))

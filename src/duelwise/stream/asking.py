"""An ask becomes a duel: which candidates, which pair, what is recorded of it. Past duels come in too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from duelwise.errors import DuelwiseError, InvalidInput
from duelwise.learning.ask_batch import ROOM
from duelwise.receipts import Receipt
from duelwise.stream import tickets
from duelwise.stream.candidates import CandidateSet, check_name, read_candidates, read_features
from duelwise.stream.catalogue import check_ids
from duelwise.stream.choosing import Choice, Chooser
from duelwise.stream.encoding import Encoder
from duelwise.stream.events import Asked, Told
from duelwise.stream.lifecycle import outcome_of
from duelwise.stream.operations import MOST_VOTES, Answer, Ask, Decision, FromCatalogue, Import
from duelwise.stream.repeating import check_repeated, decision_of, digest_of
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import KEPT_FROM
from duelwise.stream.transaction import Transaction, receipt_of, taken
from duelwise.types import Array, IntArray

NOTHING_TO_KNOW = np.zeros((2, 0))


class Request(NamedTuple):
    """An ask that was read."""

    event_id: str | None
    offered: CandidateSet
    digest: str | None
    wanted: int  # votes


class Asking:
    """New duels in a transaction."""

    def __init__(self, record: Transaction, chooser: Chooser) -> None:
        self._record, self._chooser = record, chooser

    def ask_all(self, asks: Sequence[Ask]) -> list[Answer | DuelwiseError]:
        """Asks that follow one another: each knows of those before it."""
        self._record.fold_so_far()  # ranges that are due may settle the units
        if not self._chooser.can_choose_together(self._record.folded):
            return [taken(self.ask, one) for one in asks]
        answers: list[Answer | DuelwiseError] = []
        while len(answers) < len(asks):
            answers += self._ask_together(asks[len(answers) : len(answers) + ROOM])
            if len(answers) < len(asks):
                answers.append(taken(self.ask, asks[len(answers)]))
        return answers

    def ask(self, ask: Ask) -> Decision:
        """Choose a pair and record it; an event_id that was heard before gets the same duel."""
        check_name("event_id", ask.event_id)
        if ask.event_id in self._record.named:
            return self._again(ask, ask.event_id)
        request = self._read(ask)
        self._record.fold_so_far()
        choice = self._chooser.choose(self._record.folded, request.offered, self._record.writer.rounds)
        return self._append(request, choice)

    def _again(self, ask: Ask, event_id: str) -> Decision:
        """The duel that was asked for before; what was named then may be offered no longer."""
        asked, chosen = self._record.served(event_id), ask.candidates
        self._wanted(ask.votes_wanted)
        is_known = isinstance(chosen, FromCatalogue) and asked.offered is not None
        if isinstance(chosen, FromCatalogue):
            check_ids(_ids(chosen))
            check_name("group", chosen.group)
        offered = None if is_known else self._offered(ask)
        check_repeated(asked, _digest(ask, offered), offered, event_id)
        return decision_of(asked, repeated=True)

    def _ask_together(self, asks: Sequence[Ask]) -> list[Decision]:
        """The same of several in one compiled call, up to the first that needs to be looked at by itself."""
        requests = self._plain(asks)
        if not requests:
            return []
        self._record.fold_so_far()
        self._record.is_ahead = True
        choices = self._chooser.choose_together(
            self._record.folded, [one.offered.x for one in requests], [one.wanted for one in requests]
        )
        duels = [self._append(*one) for one in zip(requests, choices, strict=False)]
        self._record.take_served()
        return duels

    def _plain(self, asks: Iterable[Ask]) -> list[Request]:
        """Those of these asks that are new, up to the first that is refused, repeated or large, or of items
        whose context is known."""
        requests: list[Request] = []
        names = set(self._record.named)
        for ask in asks:
            try:
                request = self._read(ask)
            except DuelwiseError:
                break
            if ask.event_id in names or request.offered.y is not None or len(request.offered.x) >= KEPT_FROM:
                break
            if ask.event_id is not None:
                names.add(ask.event_id)
            requests.append(request)
        return requests

    def _read(self, ask: Ask) -> Request:
        check_name("event_id", ask.event_id)
        offered = self._offered(ask)
        digest = None if ask.event_id is None else _digest(ask, offered)
        return Request(ask.event_id, offered, digest, self._wanted(ask.votes_wanted))

    def _append(self, request: Request, choice: Choice) -> Decision:
        """Record a pair that was chosen."""
        offered, record = request.offered, self._record
        arms: list[int] = choice.arms.tolist()
        round = record.writer.next_round()
        asked = Asked(
            round=round,
            tag=tickets.new_tag(record.writer.stream.uid, round, record.at),
            arms=choice.arms,
            x=offered.x[choice.arms],
            predicted=choice.predicted,
            swapped=choice.swapped,
            model_version=record.writer.head,
            y=self._known_at_once(offered, choice.arms),
            ids=None if offered.ids is None else [offered.ids[arm] for arm in arms],
            probability=choice.probability,
            candidates=offered.x if record.settings.keep_candidates else None,
            candidate_ids=offered.ids if record.settings.keep_candidates else None,
            offered=request.digest,
            bounds=choice.bounds,
            fallback=choice.fallback,
            wanted=None if request.wanted == 1 else request.wanted,
        )
        record.append_asked(asked, request.event_id)
        return decision_of(asked, repeated=False, clamped=self._clamped(choice.beyond))

    def import_past(self, duel: Import) -> Receipt:
        """Record a duel that was decided elsewhere, with its vote."""
        check_name("event_id", duel.event_id)
        check_name("source", duel.source)
        x, y = past_features(duel, self._record.settings, self._record.folded.encoder)
        outcome = outcome_of(duel.winner, swapped=False)
        if outcome is None:
            raise InvalidInput("The winner is 'skip'; a duel without a vote teaches nothing. Leave it out.")
        digest = None if duel.event_id is None else digest_of(x, y, duel.winner)
        if duel.event_id in self._record.named:
            asked = self._record.served(duel.event_id)
            check_repeated(asked, digest, CandidateSet(x, None), duel.event_id)
            return Receipt(tickets.write(asked.round, asked.tag), "told", changed=False)
        round = self._record.writer.next_round()
        asked = Asked(
            round=round,
            tag=tickets.new_tag(self._record.writer.stream.uid, round, self._record.at),
            arms=np.array([0, 1]),
            x=x,
            predicted=self._record.folded.predict(x[None])[0],
            swapped=False,
            model_version=self._record.folded.seq,
            y=y,
            offered=digest,
        )
        ticket = self._record.append_asked(asked, duel.event_id)
        return receipt_of(self._record.advance(ticket, Told(round, outcome, duel.source)))

    def _wanted(self, asked: int | None) -> int:
        """How many votes the duel shall get."""
        wanted = self._record.settings.votes_wanted if asked is None else asked
        if type(wanted) is not int or not 1 <= wanted <= MOST_VOTES:
            raise InvalidInput(
                f"votes_wanted is {wanted!r:.80}; expected a whole number from 1 to {MOST_VOTES}."
            )
        return wanted

    def _clamped(self, beyond: IntArray) -> tuple[str, ...]:
        """The features of which some candidate lies beyond the range: how many do (dx,)."""
        counts: list[int] = beyond.tolist()
        if not any(counts):
            return ()
        names = self._record.settings.context_names
        return tuple(name for name, count in zip(names, counts, strict=True) if count)

    def _offered(self, ask: Ask) -> CandidateSet:
        """Candidates as given, or those of the catalogue."""
        chosen, folded = ask.candidates, self._record.folded
        if isinstance(chosen, FromCatalogue):
            return folded.catalogue.offered(ids=chosen.ids, group=chosen.group)
        return read_candidates(chosen, folded.settings.context_names, folded.encoder)

    def _known_at_once(self, offered: CandidateSet, arms: IntArray) -> Array | None:
        """(2, dy) where nothing is left to become known of the two."""
        if self._record.settings.post_dim == 0:
            return NOTHING_TO_KNOW
        if offered.y is None or offered.known is None or not offered.known[arms].all():
            return None
        return offered.y[arms]


def _digest(ask: Ask, offered: CandidateSet | None) -> str:
    """Of what was asked: the words where items were named, else the features."""
    chosen = ask.candidates
    if isinstance(chosen, FromCatalogue):
        return digest_of("catalogue", *_ids(chosen), f"group {chosen.group}")
    assert offered is not None
    return digest_of(offered.x, *(offered.ids or ()))


def _ids(chosen: FromCatalogue) -> Sequence[str]:
    """Those that are named, which may be an array."""
    return () if chosen.ids is None else chosen.ids


def past_features(duel: Import, settings: StreamSettings, encoder: Encoder) -> tuple[Array, Array]:
    """x (2, dx) and y (2, dy) of a past duel."""
    x, y = np.empty((2, settings.context_dim)), np.empty((2, settings.post_dim))
    sides = (("left", duel.left, duel.left_context), ("right", duel.right, duel.right_context))
    for side, (name, features, context) in enumerate(sides):
        owner = f"the {name} candidate"
        x[side] = read_features(features, settings.context_names, owner, encoder)
        y[side] = read_features(context, settings.post_names, f"{owner}'s context")
    return x, y

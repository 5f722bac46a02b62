"""Routes about duels: ask, observe, tell, retract, and many of them at once."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET
from msgspec.json import Decoder

from duelwise.errors import DuelwiseError, InvalidInput, TooLarge
from duelwise.receipts import Side
from duelwise.service import schemas
from duelwise.service.answer_routes import chosen_of
from duelwise.service.decoding import LARGE, decode
from duelwise.service.group_writer import Outcomes, StreamQueue
from duelwise.service.problems import Deliver, Reply, problem, respond
from duelwise.service.routes import Call, Endpoint, json_reply
from duelwise.service.service import Service
from duelwise.service.settings import variable_of
from duelwise.service.stream_routes import LOOK, WRITE
from duelwise.stream.candidates import (
    LONGEST_NAME,
    Candidates,
    CandidateSet,
    read_candidates,
    read_partial,
)
from duelwise.stream.operations import Answer, Ask, Decision, Import, Observe, Operation, Retract, Tell

ASK_BODY = Decoder(schemas.AskBody)
OBSERVE_BODY = Decoder(schemas.ObserveBody)
TELL_BODY = Decoder(schemas.TellBody)
RETRACT_BODY = Decoder(schemas.RetractBody)
BATCH_BODY = Decoder(schemas.BatchBody)
ITEM: Decoder[schemas.Item] = Decoder(schemas.Item)
_ID = re.compile(schemas.ID_PATTERN)
_LENGTHS = set(range(1, LONGEST_NAME + 1))

log = logging.getLogger("duelwise.service")


class Single(NamedTuple):
    """A request that is one operation."""

    decoder: Decoder[Any]
    operation: Callable[[Call, Any, StreamQueue], Operation]  # of the decoded body; refuses what is wrong
    status: int = 200


class DuelRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._ask = Single(ASK_BODY, self._asked, 201)

    def endpoints(self) -> list[Endpoint]:
        one, ticket = "/v1/streams/{name}", "/v1/streams/{name}/tickets/{ticket}"
        about_ticket = (*WRITE, 409, 410)
        return [
            Endpoint("POST", one + "/ask", self.ask, "write", schemas.DuelAnswer, (*WRITE, 409),
                     status=201, body=schemas.AskBody, at_home=True, begin=partial(self._begin, self._ask)),
            Endpoint("POST", one + "/batch", self.batch, "write", schemas.BatchAnswer, WRITE,
                     body=schemas.BatchBody, at_home=True),
            Endpoint("GET", ticket, self.show, "read", schemas.TicketAnswer, LOOK, at_home=True),
            Endpoint("POST", ticket + "/observe", self.observe, "write", schemas.ReceiptAnswer,
                     about_ticket, body=schemas.ObserveBody, at_home=True,
                     begin=partial(self._begin, OBSERVE)),
            Endpoint("POST", ticket + "/tell", self.tell, "write", schemas.ReceiptAnswer,
                     about_ticket, body=schemas.TellBody, at_home=True, begin=partial(self._begin, TELL)),
            Endpoint("POST", ticket + "/retract", self.retract, "write", schemas.ReceiptAnswer,
                     about_ticket, body=schemas.RetractBody, body_optional=True, at_home=True),
        ]  # fmt: skip

    async def ask(self, call: Call) -> Reply:
        """Which two of these candidates shall be shown? An event_id seen before returns the same duel."""
        return await self._perform(call, self._ask)

    async def observe(self, call: Call) -> Reply:
        """What became known of the two after serving, or a part of it; the same again changes nothing."""
        return await self._perform(call, OBSERVE)

    async def tell(self, call: Call) -> Reply:
        """Which of the two won; the same again changes nothing, another winner is a conflict."""
        return await self._perform(call, TELL)

    async def retract(self, call: Call) -> Reply:
        """The duel's votes shall not count: one by its id, those of a source, or, with no body, all."""
        return await self._perform(call._replace(body=call.body.strip() or b"{}"), RETRACT)

    async def show(self, call: Call) -> Reply:
        """A ticket's state and how it came to it."""
        queue = await self._service.streams.queue(call.name)
        found = await self._service.streams.run(lambda: queue.stream.ticket(call.ticket))
        history = [
            schemas.Happening(event.seq, event.at, event.kind, dict(event.details)) for event in found.history
        ]
        return json_reply(
            schemas.TicketAnswer(
                found.ticket, found.state, found.asked_at, _side(found.left), _side(found.right),
                found.winner, found.source, found.wanted, [schemas.Vote(*vote) for vote in found.votes],
                history,
            )
        )  # fmt: skip

    async def batch(self, call: Call) -> Reply:
        """Many operations in one transaction: each is taken or refused on its own, in order."""
        queue = await self._service.streams.queue(call.name)
        further = 2 * queue.in_vectors + len(queue.names["features"])  # an import has two of each
        decoded = self._service.decoded(BATCH_BODY, call.body, queue.names, further)
        items = (await decoded).items
        settings = self._service.settings
        limit = min(settings.batch_limit, settings.queue_limit)  # more than may wait could never be taken
        if len(items) > limit:
            raise TooLarge(
                f"The batch has {len(items)} items; at most {limit} ({variable_of('batch_limit')})."
            )
        for position, item in enumerate(items):
            if bytes(item)[:1] != b"{":
                raise InvalidInput(f"items, number {position} is no object; expected an operation.")
        read = [self._operation(bytes(item), queue) for item in items]
        operations = [item for item in read if not isinstance(item, DuelwiseError)]
        outcomes = await queue.perform(operations) if operations else []
        for outcome in outcomes:
            self._count_clamped(call, outcome)
        following = iter(outcomes)
        results = [_result(item if isinstance(item, DuelwiseError) else next(following)) for item in read]
        return json_reply(schemas.BatchAnswer(results))

    async def _perform(self, call: Call, single: Single) -> Reply:
        queue = await self._service.streams.queue(call.name)
        body = await self._service.decoded(single.decoder, call.body, queue.names, queue.in_vectors)
        (outcome,) = await queue.perform((single.operation(call, body, queue),))
        return self._reply(call, single, outcome)

    def _begin(self, single: Single, call: Call, deliver: Deliver) -> bool:
        """The same without a wait, where the stream is open and the body is decoded in no time."""
        queue = self._service.streams.open_queue(call.name)
        if queue is None or len(call.body) > LARGE:
            return False

        def on_outcomes(outcomes: Outcomes | Exception) -> None:
            try:
                if isinstance(outcomes, Exception):
                    raise outcomes
                reply = self._reply(call, single, outcomes[0])
            except Exception as error:
                reply = _refusal(call, error)
            deliver(reply)

        try:
            body = decode(single.decoder, call.body, queue.names)
            queue.submit((single.operation(call, body, queue),), on_outcomes)
        except Exception as error:
            deliver(_refusal(call, error))
        return True

    def _reply(self, call: Call, single: Single, outcome: Answer | DuelwiseError) -> Reply:
        if isinstance(outcome, DuelwiseError):
            raise outcome
        self._count_clamped(call, outcome)
        return json_reply(_answer(outcome), single.status)

    def _count_clamped(self, call: Call, outcome: Answer | DuelwiseError) -> None:
        """What lay beyond a range is counted by feature and key."""
        if isinstance(outcome, Decision) and outcome.clamped:
            self._service.metrics.clamped(call.name, outcome.clamped, call.caller)

    def _asked(self, _call: Call, body: schemas.AskBody, queue: StreamQueue) -> Ask:
        return self._ask_of(body, queue)

    def _ask_of(self, body: schemas.AskBody, queue: StreamQueue) -> Ask:
        if body.candidates is UNSET or body.ids is not UNSET or body.group is not UNSET:
            chosen = chosen_of(body.candidates, body.ids, body.group)
            return Ask(chosen, body.event_id, body.votes_wanted)
        limit = self._service.settings.candidate_limit
        if len(body.candidates) > limit:
            raise TooLarge(
                f"There are {len(body.candidates)} candidates; at most {limit} "
                f"({variable_of('candidate_limit')})."
            )
        return Ask(_candidates(body.candidates, queue), body.event_id, body.votes_wanted)

    def _operation(self, content: bytes, queue: StreamQueue) -> Operation | DuelwiseError:
        """What one item of a batch asks for, or why it cannot be taken."""
        try:
            item = decode(ITEM, content, queue.names)
            if isinstance(item, schemas.AskItem):
                return self._ask_of(item, queue)
            if isinstance(item, schemas.ObserveItem):
                return _observe_of(item.ticket, item, queue)
        except DuelwiseError as error:
            return error
        if isinstance(item, schemas.TellItem):
            return Tell(item.ticket, item.winner, item.source)
        if isinstance(item, schemas.ImportItem):
            return Import(
                item.left, item.right, item.winner, item.left_context, item.right_context, item.source,
                item.event_id,
            )  # fmt: skip
        return Retract(item.ticket, item.vote, item.source)


def _candidates(offered: list[schemas.Candidate], queue: StreamQueue) -> Candidates:
    """The checked candidates: what is refused is refused before it waits for the stream.

    Where a projection is not fitted yet, as far as this process knows, they are checked by the stream, which
    is level with the log then. Nobody may wait for that here, on the event loop.
    """
    ids = tuple([one.id for one in offered])
    _check_ids(ids)
    try:
        x = np.array([one.features for one in offered], dtype=np.float64)
    except (TypeError, ValueError):  # features by name, or not as many for each
        x = np.empty(0)
    names = queue.names["features"]
    if x.shape == (len(ids), len(names)) and len(set(ids)) == len(ids):
        return CandidateSet(x, ids)
    records = [{"id": one.id, "features": one.features} for one in offered]
    encoder = queue.stream.replica.folded.encoder
    return records if encoder.to_fit else read_candidates(records, names, encoder)


def _check_ids(ids: Sequence[str]) -> None:
    """All ids at a glance; one by one where something is suspicious."""
    text, lengths = "".join(ids), set(map(len, ids))
    if text.isascii() and text.isprintable() and " " not in text and lengths <= _LENGTHS:
        return
    for position, id in enumerate(ids):
        if not _ID.match(id):
            raise InvalidInput(
                f"candidate {position}, id is {id!r:.80}; expected 1 to {LONGEST_NAME} printable ASCII "
                "characters, no space at either end."
            )


def _observe_of(ticket: str, body: schemas.ObserveBody | schemas.ObserveItem, queue: StreamQueue) -> Observe:
    """The checked contexts: what is refused is refused before it waits for the stream."""
    names = queue.names["left"]
    return Observe(
        ticket,
        read_partial(body.left, names, "the left candidate's context"),
        read_partial(body.right, names, "the right candidate's context"),
    )


def _refusal(call: Call, error: Exception) -> Reply:
    if not isinstance(error, DuelwiseError):
        log.error("an operation on %s failed", call.name, exc_info=error)
    return respond(error)


def _observed(call: Call, body: schemas.ObserveBody, queue: StreamQueue) -> Observe:
    return _observe_of(call.ticket, body, queue)


def _tell_of(call: Call, body: schemas.TellBody, _queue: StreamQueue) -> Tell:
    return Tell(call.ticket, body.winner, body.source)


def _retract_of(call: Call, body: schemas.RetractBody, _queue: StreamQueue) -> Retract:
    return Retract(call.ticket, body.vote, body.source)


OBSERVE = Single(OBSERVE_BODY, _observed)
TELL = Single(TELL_BODY, _tell_of)
RETRACT = Single(RETRACT_BODY, _retract_of)


def _side(side: Side) -> schemas.Side:
    return schemas.Side(side.id, side.index)


def _answer(outcome: Answer) -> schemas.DuelAnswer | schemas.ReceiptAnswer:
    if isinstance(outcome, Decision):
        return schemas.DuelAnswer(
            outcome.ticket, _side(outcome.left), _side(outcome.right),
            outcome.model_version, outcome.probability, outcome.fallback, list(outcome.clamped),
        )  # fmt: skip
    return schemas.ReceiptAnswer(outcome.ticket, outcome.state, outcome.changed, outcome.vote)


def _result(outcome: Answer | DuelwiseError) -> object:
    if isinstance(outcome, DuelwiseError):
        said = problem(outcome)
        return schemas.ProblemResult(said["status"], said)
    if isinstance(outcome, Decision):
        return schemas.AskResult(
            201, outcome.ticket, _side(outcome.left), _side(outcome.right),
            outcome.model_version, outcome.probability, outcome.fallback, list(outcome.clamped),
        )  # fmt: skip
    return schemas.ReceiptResult(200, outcome.ticket, outcome.state, outcome.changed, outcome.vote)

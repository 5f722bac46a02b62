"""Routes about duels: ask, observe, tell, retract, and many of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Path
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from duelwise.errors import DuelwiseError, TooLarge
from duelwise.service import schemas
from duelwise.service.bodies import FeatureNames, parse, parse_item
from duelwise.service.lanes import Lane
from duelwise.service.problems import problem
from duelwise.service.routing import DirectApp, json_response
from duelwise.service.service import Service
from duelwise.service.settings import variable_of
from duelwise.service.stream_routes import LOOK, WRITE, Name
from duelwise.stream.operations import Answer, Ask, Duel, Observe, Operation, Retract, Side, Tell

Ticket = Annotated[str, Path(pattern=schemas.TICKET_PATTERN)]

ASK_BODY = TypeAdapter(schemas.AskBody)
OBSERVE_BODY = TypeAdapter(schemas.ObserveBody)
TELL_BODY = TypeAdapter(schemas.TellBody)
BATCH_BODY = TypeAdapter(schemas.RawBatch)
ITEM: TypeAdapter[schemas.Item] = TypeAdapter(schemas.CheckedItem)


class DuelRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service

    def add_to(self, app: DirectApp) -> None:
        one, ticket = "/v1/streams/{name}", "/v1/streams/{name}/tickets/{ticket}"
        about_ticket = (*WRITE, 409, 410)
        app.add("POST", one + "/ask", self.ask, body=schemas.AskBody, answer=schemas.DuelAnswer,
                   status=201, refusals=WRITE)  # fmt: skip
        app.add("POST", one + "/batch", self.batch, body=schemas.BatchBody, answer=schemas.BatchAnswer,
                   refusals=WRITE)  # fmt: skip
        app.add("GET", ticket, self.show, answer=schemas.TicketAnswer, refusals=LOOK)
        app.add("POST", ticket + "/observe", self.observe, body=schemas.ObserveBody,
                   answer=schemas.ReceiptAnswer, refusals=about_ticket)  # fmt: skip
        app.add("POST", ticket + "/tell", self.tell, body=schemas.TellBody,
                   answer=schemas.ReceiptAnswer, refusals=about_ticket)  # fmt: skip
        app.add("POST", ticket + "/retract", self.retract, answer=schemas.ReceiptAnswer,
                   refusals=(*LOOK, 409, 410))  # fmt: skip

    async def ask(self, request: Request, name: Name) -> Response:
        """Which two of these candidates shall be shown? An event_id seen before returns the same duel."""
        lane = await self._service.enter(request, name, "write")
        body = parse(ASK_BODY, await self._service.body(request), _names(lane))
        return await self._perform(lane, self._ask_of(body), 201)

    async def observe(self, request: Request, name: Name, ticket: Ticket) -> Response:
        """What became known of the two after serving; the same again changes nothing."""
        lane = await self._service.enter(request, name, "write")
        body = parse(OBSERVE_BODY, await self._service.body(request), _names(lane))
        return await self._perform(lane, Observe(ticket, body["left"], body["right"]))

    async def tell(self, request: Request, name: Name, ticket: Ticket) -> Response:
        """Which of the two won; the same again changes nothing, another winner is a conflict."""
        lane = await self._service.enter(request, name, "write")
        body = parse(TELL_BODY, await self._service.body(request), {})
        return await self._perform(lane, Tell(ticket, body["winner"], body.get("source")))

    async def retract(self, request: Request, name: Name, ticket: Ticket) -> Response:
        """The duel's vote shall not count, whether or not it has come."""
        lane = await self._service.enter(request, name, "write")
        return await self._perform(lane, Retract(ticket))

    async def show(self, request: Request, name: Name, ticket: Ticket) -> Response:
        """A ticket's state and how it came to it."""
        lane = await self._service.enter(request, name, "read")
        found = await self._service.streams.run(lambda: lane.stream.ticket(ticket))
        answer: schemas.TicketAnswer = {
            "ticket": found.ticket,
            "state": found.state,
            "asked_at": found.asked_at,
            "left": _side(found.left),
            "right": _side(found.right),
            "winner": found.winner,
            "source": found.source,
            "history": [
                {"seq": event.seq, "at": event.at, "kind": event.kind, "details": event.details}
                for event in found.history
            ],
        }
        return json_response(answer)

    async def batch(self, request: Request, name: Name) -> Response:
        """Many operations in one transaction: each is taken or refused on its own, in order."""
        lane = await self._service.enter(request, name, "write")
        items = parse(BATCH_BODY, await self._service.body(request), {})["items"]
        settings = self._service.settings
        limit = min(settings.batch_limit, settings.queue_limit)  # more than may wait could never be taken
        if len(items) > limit:
            raise TooLarge(
                f"The batch has {len(items)} items; at most {limit} ({variable_of('batch_limit')})."
            )
        read = [self._operation(item, lane) for item in items]
        operations = [item for item in read if not isinstance(item, DuelwiseError)]
        outcomes = iter(await lane.perform(operations) if operations else [])
        results = [_result(item if isinstance(item, DuelwiseError) else next(outcomes)) for item in read]
        return json_response({"results": results})

    async def _perform(self, lane: Lane, operation: Operation, status: int = 200) -> Response:
        outcome = (await lane.perform((operation,)))[0]
        if isinstance(outcome, DuelwiseError):
            raise outcome
        return json_response(_answer(outcome), status)

    def _ask_of(self, body: schemas.AskBody) -> Ask:
        limit = self._service.settings.candidate_limit
        if len(body["candidates"]) > limit:
            raise TooLarge(
                f"There are {len(body['candidates'])} candidates; at most {limit} "
                f"({variable_of('candidate_limit')})."
            )
        return Ask(body["candidates"], body.get("event_id"))

    def _operation(self, content: object, lane: Lane) -> Operation | DuelwiseError:
        """What one item of a batch asks for, or why it cannot be taken."""
        try:
            item = parse_item(ITEM, content, _names(lane))
            if item["op"] == "ask":
                return self._ask_of(item)
        except DuelwiseError as error:
            return error
        if item["op"] == "observe":
            return Observe(item["ticket"], item["left"], item["right"])
        if item["op"] == "tell":
            return Tell(item["ticket"], item["winner"], item.get("source"))
        return Retract(item["ticket"])


def _names(lane: Lane) -> FeatureNames:
    after: Sequence[str] = lane.stream.settings.post_names
    return {"features": lane.stream.settings.context_names, "left": after, "right": after}


def _side(side: Side) -> schemas.Side:
    return {"id": side.id, "index": side.index}


def _answer(outcome: Answer) -> schemas.DuelAnswer | schemas.ReceiptAnswer:
    if isinstance(outcome, Duel):
        return {
            "ticket": outcome.ticket,
            "left": _side(outcome.left),
            "right": _side(outcome.right),
            "model_version": outcome.model_version,
            "probability": outcome.probability,
        }
    return {"ticket": outcome.ticket, "state": outcome.state, "changed": outcome.changed}


def _result(outcome: Answer | DuelwiseError) -> dict[str, object]:
    if isinstance(outcome, DuelwiseError):
        said = problem(outcome)
        return {"status": said["status"], "problem": said}
    return {"status": 201 if isinstance(outcome, Duel) else 200, **_answer(outcome)}

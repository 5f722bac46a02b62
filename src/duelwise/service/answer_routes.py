"""Routes for answers: rank, best, raters, items, votes, audit."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.json import Decoder

from duelwise.errors import InvalidInput, TooLarge
from duelwise.service import answer_schemas as schemas
from duelwise.service.decoding import Names
from duelwise.service.group_writer import StreamQueue
from duelwise.service.problems import Reply
from duelwise.service.routes import Call, Endpoint, json_reply, query_of
from duelwise.service.schemas import CountAnswer
from duelwise.service.service import Service
from duelwise.service.settings import variable_of
from duelwise.service.stream_routes import LOOK, WRITE
from duelwise.stream.answering import Ranking
from duelwise.stream.auditing import Audit
from duelwise.stream.candidates import Candidates
from duelwise.stream.catalogue import Item
from duelwise.stream.gold import Gold
from duelwise.stream.items import LONGEST_CONTENT
from duelwise.stream.operations import FromCatalogue
from duelwise.stream.tables import MEDIA_TYPES, check_format, votes_as

RANK_BODY = Decoder(schemas.RankBody)
ITEMS_BODY = Decoder(schemas.ItemsBody)
TESTED_BODY = Decoder(schemas.TestedBody)
IDS_BODY = Decoder(schemas.IdsBody)
SOURCE_BODY = Decoder(schemas.SourceBody)

PAGE = 100  # items on a page unless the request says otherwise
LARGEST_PAGE = 10_000
LEDGER_SHOWN = 100  # votes of most influence


class AnswerRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service

    def endpoints(self) -> list[Endpoint]:
        one = "/v1/streams/{name}"
        return [
            Endpoint("POST", one + "/rank", self.rank, "read", schemas.RankAnswer, WRITE,
                     body=schemas.RankBody, at_home=True),
            Endpoint("POST", one + "/best", self.best, "read", schemas.BestAnswer, WRITE,
                     body=schemas.RankBody, at_home=True),
            Endpoint("GET", one + "/raters", self.raters, "read", schemas.RatersAnswer, LOOK, at_home=True),
            Endpoint("POST", one + "/raters/tested", self.tested, "read", schemas.RatersAnswer, WRITE,
                     body=schemas.TestedBody, at_home=True),
            Endpoint("POST", one + "/raters/hold", self.hold, "admin", schemas.SourceAnswer, WRITE,
                     body=schemas.SourceBody, at_home=True),
            Endpoint("POST", one + "/raters/release", self.release, "admin", schemas.SourceAnswer, WRITE,
                     body=schemas.SourceBody, at_home=True),
            Endpoint("PUT", one + "/items", self.put_items, "write", schemas.PutAnswer, WRITE,
                     body=schemas.ItemsBody, at_home=True),
            Endpoint("GET", one + "/items", self.items, "read", schemas.ItemsAnswer, (*LOOK, 422),
                     at_home=True, query=("group", "after", "limit")),
            Endpoint("POST", one + "/items/withdraw", self.withdraw, "write", CountAnswer, WRITE,
                     body=schemas.IdsBody, at_home=True),
            Endpoint("GET", one + "/votes", self.votes, "read", None, (*LOOK, 422), at_home=True,
                     query=("format",),
                     media_type="text/csv, application/jsonl, application/vnd.apache.parquet"),
            Endpoint("GET", one + "/audit", self.audit, "read", schemas.AuditAnswer, LOOK, at_home=True),
        ]  # fmt: skip

    async def rank(self, call: Call) -> Reply:
        """Candidates or items in order of utility: interval, range of ranks, chance to be the best."""
        queue, body = await self._ranked(call)
        chosen, adjust = self._chosen(body), () if body.adjust is UNSET else tuple(body.adjust)
        found = await self._service.streams.run(
            lambda: queue.stream.rank(chosen, adjust=adjust, limit=body.limit, clustered=body.clustered)
        )
        return json_reply(rank_answer(found))

    async def best(self, call: Call) -> Reply:
        """The one to serve without a duel, and the chance that it is the best."""
        queue, body = await self._ranked(call)
        chosen = self._chosen(body)
        found = await self._service.streams.run(lambda: queue.stream.best(chosen))
        return json_reply(schemas.BestAnswer(found.id, found.probability_best))

    async def raters(self, call: Call) -> Reply:
        """Every source: agreement with the others, reliability, and a flag where one is due."""
        queue = await self._service.streams.queue(call.name)
        found = await self._service.streams.run(queue.stream.raters)
        return json_reply(schemas.RatersAnswer([schemas.RaterAnswer(**one._asdict()) for one in found]))

    async def tested(self, call: Call) -> Reply:
        """The same, with votes on gold pairs, whose answer is known, counted apart."""
        queue = await self._service.streams.queue(call.name)
        body = await self._service.decoded(TESTED_BODY, call.body, {})
        gold = [Gold(pair.better, pair.worse) for pair in body.gold]
        found = await self._service.streams.run(lambda: queue.stream.raters(gold=gold))
        return json_reply(schemas.RatersAnswer([schemas.RaterAnswer(**one._asdict()) for one in found]))

    async def hold(self, call: Call) -> Reply:
        """The votes of a source shall not count until it is released."""
        return await self._set_source(call, held=True)

    async def release(self, call: Call) -> Reply:
        """The votes of a source shall count again."""
        return await self._set_source(call, held=False)

    async def put_items(self, call: Call) -> Reply:
        """Add items to the catalogue, or change them; the same again changes nothing."""
        queue = await self._service.streams.queue(call.name)
        further = queue.in_vectors + LONGEST_CONTENT // 2  # a list may be all of it
        body = await self._service.decoded(ITEMS_BODY, call.body, _names(queue), further)
        records = [_record(item) for item in body.items]
        put = await self._service.streams.run(lambda: queue.stream.put_items(records))
        return json_reply(schemas.PutAnswer(*put))

    async def items(self, call: Call) -> Reply:
        """A page of the catalogue: of a group, after an id."""
        query = query_of(call, ("group", "after", "limit"))
        limit = _limit(query.get("limit"))
        queue = await self._service.streams.queue(call.name)

        def looked() -> tuple[list[Item], int]:
            catalogue = queue.stream.catalogue
            page = catalogue.page(group=query.get("group"), after=query.get("after"), limit=limit)
            return page, len(catalogue)

        page, total = await self._service.streams.run(looked)
        items = [
            schemas.ItemAnswer(
                item.id, item.x.tolist(), item.group, None if item.y is None else item.y.tolist(),
                item.content,
            )
            for item in page
        ]  # fmt: skip
        return json_reply(schemas.ItemsAnswer(items, total))

    async def withdraw(self, call: Call) -> Reply:
        """Offer items no longer; past duels stay."""
        queue = await self._service.streams.queue(call.name)
        body = await self._service.decoded(IDS_BODY, call.body, {})
        changed = await self._service.streams.run(lambda: queue.stream.withdraw_items(body.ids))
        return json_reply(CountAnswer(changed))

    async def votes(self, call: Call) -> Reply:
        """Every vote that counts: csv, parquet, jsonl, or preferences (prompt, chosen, rejected)."""
        format = query_of(call, ("format",)).get("format", "csv")
        check_format(format)
        queue = await self._service.streams.queue(call.name)
        content = await self._service.streams.run(lambda: votes_as(queue.stream, format))
        return Reply(200, content, MEDIA_TYPES[format])

    async def audit(self, call: Call) -> Reply:
        """What every vote counts for, and whether a group of voters is held back or outvoted."""
        queue = await self._service.streams.queue(call.name)
        return json_reply(audit_answer(await self._service.streams.run(queue.stream.audit)))

    async def _ranked(self, call: Call) -> tuple[StreamQueue, schemas.RankBody]:
        queue = await self._service.streams.queue(call.name)
        return queue, await self._service.decoded(RANK_BODY, call.body, queue.names, queue.in_vectors)

    async def _set_source(self, call: Call, *, held: bool) -> Reply:
        queue = await self._service.streams.queue(call.name)
        body = await self._service.decoded(SOURCE_BODY, call.body, {})
        change = queue.stream.hold_source if held else queue.stream.release_source
        changed = await self._service.streams.run(lambda: change(body.source))
        return json_reply(schemas.SourceAnswer(body.source, held, changed))

    def _chosen(self, body: schemas.RankBody) -> Candidates | FromCatalogue:
        limit = self._service.settings.candidate_limit
        if body.candidates is not UNSET and len(body.candidates) > limit:
            raise TooLarge(
                f"There are {len(body.candidates)} candidates; at most {limit} "
                f"({variable_of('candidate_limit')}). Put them into the catalogue to rank more."
            )
        return chosen_of(body.candidates, body.ids, body.group)


def chosen_of(candidates: Any, ids: Any, group: Any) -> Candidates | FromCatalogue:
    """What a body names: one of candidates, ids and group, or none of them for all items."""
    given = [
        name
        for name, value in (("candidates", candidates), ("ids", ids), ("group", group))
        if value is not UNSET
    ]
    if len(given) > 1:
        raise InvalidInput(
            f"The body has {' and '.join(given)}; expected one of them, or none for all items."
        )
    if candidates is not UNSET:
        return [{"id": one.id, "features": one.features} for one in candidates]
    return FromCatalogue(None if ids is UNSET else tuple(ids), None if group is UNSET else group)


def rank_answer(found: Ranking) -> schemas.RankAnswer:
    verdict: dict[str, Any] = found.settled._asdict() | {"leaders": list(found.settled.leaders)}
    items = [schemas.RankedItem(**one._asdict()) for one in found.items]
    side = found.position_bias
    bias = None if side is None else schemas.PositionBias(*side)
    return schemas.RankAnswer(items, schemas.Verdict(**verdict), list(found.adjusted), bias)


def audit_answer(found: Audit) -> schemas.AuditAnswer:
    rows = [dict(zip(found.ledger, row, strict=True)) for row in zip(*found.ledger.values(), strict=True)]
    rows.sort(key=lambda row: -float(str(row["influence"])))
    groups = [
        {"group": one.group, "leader_without": one.leader_without, "alarm": one.check.alarm}
        | one.check._asdict()
        for one in found.groups
    ]
    return schemas.AuditAnswer(
        found.votes, found.leader, list(found.alarms), found.pivotal_votes, list(found.full_weight),
        groups, rows[:LEDGER_SHOWN],
    )  # fmt: skip


def _names(queue: StreamQueue) -> Names:
    return {"features": queue.names["features"], "post": queue.names["left"]}


def _record(item: schemas.ItemBody) -> dict[str, object]:
    return {
        "id": item.id, "features": item.features, "group": item.group, "post": item.post,
        "content": item.content,
    }  # fmt: skip


def _limit(text: str | None) -> int:
    if text is None:
        return PAGE
    limit = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 1 <= limit <= LARGEST_PAGE:
        raise InvalidInput(f"limit is {text[:20]!r}; expected a number from 1 to {LARGEST_PAGE}.")
    return limit

"""Routes about whole streams: create, list, look, export, close."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

from fastapi import Path
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from duelwise.errors import TooLarge
from duelwise.service import schemas
from duelwise.service.bodies import parse
from duelwise.service.routing import DirectApp, json_response
from duelwise.service.service import Service, stream_answer
from duelwise.service.settings import variable_of
from duelwise.stream import StreamSettings
from duelwise.stream.report import Report
from duelwise.stream.transfer import export_lines

Name = Annotated[str, Path(pattern=schemas.NAME_PATTERN)]

STREAM_BODY = TypeAdapter(schemas.StreamBody)
EXPIRE_BODY = TypeAdapter(schemas.ExpireBody)
RETRACT_SOURCE_BODY = TypeAdapter(schemas.RetractSourceBody)

LINES_AT_ONCE = 256

LOOK = (401, 403, 404, 503)  # how a request that reads a stream may be refused
WRITE = (*LOOK, 413, 422)  # and one with a body


class StreamRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service

    def add_to(self, app: DirectApp) -> None:
        one = "/v1/streams/{name}"
        app.add("POST", "/v1/streams", self.create, body=schemas.StreamBody, answer=schemas.StreamAnswer,
                   status=201, repeated=True, refusals=(401, 403, 409, 413, 422, 503))  # fmt: skip
        app.add("GET", "/v1/streams", self.list_all, answer=schemas.StreamsAnswer, refusals=(401, 403, 503))
        app.add("GET", one, self.show, answer=schemas.StreamAnswer, refusals=LOOK)
        app.add("GET", one + "/report", self.report, answer=Report, refusals=LOOK)
        app.add("GET", one + "/export", self.export, answer=None, refusals=LOOK,
                   media_type="application/jsonl")  # fmt: skip
        app.add("POST", one + "/expire", self.expire, body=schemas.ExpireBody,
                   answer=schemas.CountAnswer, refusals=WRITE)  # fmt: skip
        app.add("POST", one + "/retract-source", self.retract_source, body=schemas.RetractSourceBody,
                   answer=schemas.CountAnswer, refusals=WRITE)  # fmt: skip

    async def create(self, request: Request) -> Response:
        """Create a stream; the same again changes nothing, other settings under its name are a conflict."""
        service = self._service
        await service.guard.check(request, "admin")
        body = parse(STREAM_BODY, await service.body(request), {})
        features = body["context_dim"] + body.get("post_dim", 0)
        if features > service.settings.feature_limit:
            raise TooLarge(
                f"context_dim and post_dim are {features} together; this service allows "
                f"{service.settings.feature_limit} ({variable_of('feature_limit')})."
            )
        lane, is_new = await service.streams.create(body["name"], _settings_of(body))
        answer = await service.streams.run(lambda: stream_answer(lane))
        return json_response(answer, 201 if is_new else 200)

    async def list_all(self, request: Request) -> Response:
        """Every stream that the key may see."""
        service = self._service
        key = await service.guard.key_of(request)
        lanes = [
            lane
            for lane in await service.streams.all()
            if key is None or key.stream in (None, lane.stream.name)
        ]
        answers = await service.streams.run(lambda: [stream_answer(lane) for lane in lanes])
        return json_response({"streams": answers})

    async def show(self, request: Request, name: Name) -> Response:
        """A stream's settings, its counts by state, what is pending, and its model version."""
        lane = await self._service.enter(request, name, "read")
        return json_response(await self._service.streams.run(lambda: stream_answer(lane)))

    async def report(self, request: Request, name: Name) -> Response:
        """What the stream has learned, from whom, and how sure it is."""
        lane = await self._service.enter(request, name, "read")
        report = await self._service.streams.run(lane.stream.report)
        return json_response(report.to_dict())

    async def export(self, request: Request, name: Name) -> Response:
        """The whole log as JSON lines, one event each, in order."""
        await self._service.enter(request, name, "read")
        lines = export_lines(self._service.streams.store, name)
        return StreamingResponse(_chunks(lines), media_type="application/jsonl")

    async def expire(self, request: Request, name: Name) -> Response:
        """Close the duels that have waited longer than a number of seconds."""
        lane = await self._service.enter(request, name, "admin")
        body = parse(EXPIRE_BODY, await self._service.body(request), {})
        changed = await self._service.streams.run(lambda: lane.stream.expire(body["older_than"]))
        return json_response({"changed": changed})

    async def retract_source(self, request: Request, name: Name) -> Response:
        """Take back all votes of a source."""
        lane = await self._service.enter(request, name, "admin")
        body = parse(RETRACT_SOURCE_BODY, await self._service.body(request), {})
        changed = await self._service.streams.run(lambda: lane.stream.retract_source(body["source"]))
        return json_response({"changed": changed})


def _chunks(lines: Iterator[str]) -> Iterator[str]:
    """Lines put together: each piece of an answer costs a change of threads."""
    while piece := list(islice(lines, LINES_AT_ONCE)):
        yield "\n".join(piece) + "\n"


def _settings_of(body: schemas.StreamBody) -> StreamSettings:
    """The stream's settings; what the body leaves out has the stream's defaults."""
    return StreamSettings(
        context_dim=body["context_dim"],
        post_dim=body.get("post_dim", StreamSettings.post_dim),
        recipe=body.get("recipe", StreamSettings.recipe),
        options=body.get("options", {}),
        feature_names=tuple(body.get("feature_names", ())),
        vote_ttl_seconds=body.get("vote_ttl_seconds", StreamSettings.vote_ttl_seconds),
        seed=body.get("seed", StreamSettings.seed),
        random_share=body.get("random_share", StreamSettings.random_share),
        keep_candidates=body.get("keep_candidates", StreamSettings.keep_candidates),
    )

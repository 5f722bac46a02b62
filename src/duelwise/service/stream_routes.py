"""Routes about whole streams: create, list, look, export, close."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import UNSET
from msgspec.json import Decoder
from msgspec.structs import asdict
from starlette.responses import Response, StreamingResponse

from duelwise.errors import TooLarge
from duelwise.service import schemas
from duelwise.service.problems import Reply
from duelwise.service.routes import Call, Endpoint, json_reply
from duelwise.service.service import Service, stream_answer
from duelwise.service.settings import variable_of
from duelwise.stream import StreamSettings
from duelwise.stream.report import Report
from duelwise.stream.transfer import export_lines

STREAM_BODY = Decoder(schemas.StreamBody)
EXPIRE_BODY = Decoder(schemas.ExpireBody)
RETRACT_SOURCE_BODY = Decoder(schemas.RetractSourceBody)

LINES_AT_ONCE = 256

LOOK = (401, 403, 404, 503)  # how a request that reads a stream may be refused
WRITE = (*LOOK, 413, 422)  # and one with a body


class StreamRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service

    def endpoints(self) -> list[Endpoint]:
        one = "/v1/streams/{name}"
        return [
            Endpoint("POST", "/v1/streams", self.create, "admin", schemas.StreamAnswer,
                     (401, 403, 409, 413, 422, 503), status=201, body=schemas.StreamBody, repeated=True),
            Endpoint("GET", "/v1/streams", self.list_all, "read", schemas.StreamsAnswer, (401, 403, 503),
                     filtered=True),
            Endpoint("GET", one, self.show, "read", schemas.StreamAnswer, LOOK, at_home=True),
            Endpoint("GET", one + "/report", self.report, "read", Report, LOOK, at_home=True),
            Endpoint("GET", one + "/export", self.export, "read", None, LOOK,
                     media_type="application/jsonl"),
            Endpoint("POST", one + "/expire", self.expire, "admin", schemas.CountAnswer, WRITE,
                     body=schemas.ExpireBody, at_home=True),
            Endpoint("POST", one + "/retract-source", self.retract_source, "admin", schemas.CountAnswer,
                     WRITE, body=schemas.RetractSourceBody, at_home=True),
        ]  # fmt: skip

    async def create(self, call: Call) -> Reply:
        """Create a stream; the same again changes nothing, other settings under its name are a conflict."""
        service = self._service
        body = await service.decoded(STREAM_BODY, call.body, {})
        features = body.context_dim + (0 if body.post_dim is UNSET else body.post_dim)
        if features > service.settings.feature_limit:
            raise TooLarge(
                f"context_dim and post_dim are {features} together; this service allows "
                f"{service.settings.feature_limit} ({variable_of('feature_limit')})."
            )
        lane, is_new = await service.streams.create(body.name, _settings_of(body))
        answer = await service.streams.run(lambda: stream_answer(lane))
        return json_reply(answer, 201 if is_new else 200)

    async def list_all(self, call: Call) -> Reply:
        """Every stream that the key may see."""
        return json_reply(schemas.StreamsAnswer(await self._service.every_stream(call.key)))

    async def show(self, call: Call) -> Reply:
        """A stream's settings, its counts by state, what is pending, and its model version."""
        lane = await self._service.streams.lane(call.name)
        return json_reply(await self._service.streams.run(lambda: stream_answer(lane)))

    async def report(self, call: Call) -> Reply:
        """What the stream has learned, from whom, and how sure it is."""
        lane = await self._service.streams.lane(call.name)
        report = await self._service.streams.run(lane.stream.report)
        return json_reply(report.to_dict())

    async def export(self, call: Call) -> Response:
        """The whole log as JSON lines, one event each, in order."""
        streams = self._service.streams
        await streams.run(lambda: streams.store.stream(call.name))  # an unknown one is refused at once
        lines = export_lines(streams.store, call.name)
        return StreamingResponse(_chunks(lines), media_type="application/jsonl")

    async def expire(self, call: Call) -> Reply:
        """Close the duels that have waited longer than a number of seconds."""
        lane = await self._service.streams.lane(call.name)
        body = await self._service.decoded(EXPIRE_BODY, call.body, {})
        changed = await self._service.streams.run(lambda: lane.stream.expire(body.older_than))
        return json_reply(schemas.CountAnswer(changed))

    async def retract_source(self, call: Call) -> Reply:
        """Take back all votes of a source."""
        lane = await self._service.streams.lane(call.name)
        body = await self._service.decoded(RETRACT_SOURCE_BODY, call.body, {})
        changed = await self._service.streams.run(lambda: lane.stream.retract_source(body.source))
        return json_reply(schemas.CountAnswer(changed))


def _chunks(lines: Iterator[str]) -> Iterator[str]:
    """Lines put together: each piece of an answer costs a change of threads."""
    while piece := list(islice(lines, LINES_AT_ONCE)):
        yield "\n".join(piece) + "\n"


def _settings_of(body: schemas.StreamBody) -> StreamSettings:
    """The stream's settings; what the body leaves out has the stream's defaults."""
    given = {name: value for name, value in asdict(body).items() if name != "name" and value is not UNSET}
    if "feature_names" in given:
        given["feature_names"] = tuple(given["feature_names"])
    return StreamSettings(**given)

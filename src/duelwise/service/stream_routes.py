"""Routes about whole streams: create, list, look, export, close."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice

from msgspec import UNSET
from msgspec.json import Decoder
from msgspec.structs import asdict
from starlette.responses import Response, StreamingResponse

from duelwise.errors import Folding, Forbidden, InvalidInput, TooLarge
from duelwise.service import schemas
from duelwise.service.group_writer import StreamQueue
from duelwise.service.problems import Reply
from duelwise.service.routes import Call, Endpoint, json_reply, query_of
from duelwise.service.service import Service, stream_answer
from duelwise.service.settings import variable_of
from duelwise.service.settings_schemas import DeriveBody, StreamBody, settings_in
from duelwise.stream import StreamSettings
from duelwise.stream.erasing import erase_source
from duelwise.stream.report import Report
from duelwise.stream.transfer import derive_columns, export_lines, read_lines

STREAM_BODY = Decoder(StreamBody)
DERIVE_BODY = Decoder(DeriveBody)
EXPIRE_BODY = Decoder(schemas.ExpireBody)
RETRACT_SOURCE_BODY = Decoder(schemas.RetractSourceBody)

LINES_AT_ONCE = 256
LOOK_AGAIN_SECONDS = 0.2  # whether a log has been folded

LOOK = (401, 403, 404, 503)  # how a request that reads a stream may be refused
WRITE = (*LOOK, 413, 422)  # and one with a body


class StreamRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service

    def endpoints(self) -> list[Endpoint]:
        one = "/v1/streams/{name}"
        return [
            Endpoint("POST", "/v1/streams", self.create, "admin", schemas.StreamAnswer,
                     (401, 403, 409, 413, 422, 503), status=201, body=StreamBody, repeated=True),
            Endpoint("GET", "/v1/streams", self.list_all, "read", schemas.StreamsAnswer, (401, 403, 503),
                     filtered=True),
            Endpoint("GET", one, self.show, "read", schemas.StreamAnswer, LOOK, at_home=True),
            Endpoint("GET", one + "/report", self.report, "read", Report, (*LOOK, 422), at_home=True,
                     query=("clustered",)),
            Endpoint("GET", one + "/export", self.export, "read", None, LOOK,
                     media_type="application/jsonl"),
            Endpoint("POST", one + "/expire", self.expire, "admin", schemas.CountAnswer, WRITE,
                     body=schemas.ExpireBody, at_home=True),
            Endpoint("POST", one + "/retract-source", self.retract_source, "admin", schemas.CountAnswer,
                     WRITE, body=schemas.RetractSourceBody, at_home=True),
            Endpoint("POST", one + "/erase-source", self.erase_source, "admin", schemas.ErasedAnswer, WRITE,
                     body=schemas.RetractSourceBody, at_home=True),
            Endpoint("POST", one + "/derive", self.derive, "admin", schemas.StreamAnswer, (*WRITE, 409),
                     status=201, body=DeriveBody),
        ]  # fmt: skip

    async def create(self, call: Call) -> Reply:
        """Create a stream; the same again changes nothing, other settings under its name are a conflict."""
        service = self._service
        body = await service.decoded(STREAM_BODY, call.body, {})
        given = settings_in(body)
        features = given["context_dim"] + given.get("post_dim", 0)
        if features > service.settings.feature_limit:
            raise TooLarge(
                f"context_dim and post_dim are {features} together; this service allows "
                f"{service.settings.feature_limit} ({variable_of('feature_limit')})."
            )
        if "feature_names" in given:
            given["feature_names"] = tuple(given["feature_names"])
        queue, is_new = await service.streams.create(body.name, StreamSettings(**given))
        answer = await service.streams.run(lambda: stream_answer(queue))
        return json_reply(answer, 201 if is_new else 200)

    async def list_all(self, call: Call) -> Reply:
        """Every stream that the key may see."""
        return json_reply(schemas.StreamsAnswer(await self._service.every_stream(call.key)))

    async def show(self, call: Call) -> Reply:
        """A stream's settings, its counts by state, what is pending, and its model version."""
        queue = await self._service.streams.queue(call.name)
        return json_reply(await self._service.streams.run(lambda: stream_answer(queue)))

    async def report(self, call: Call) -> Reply:
        """What the stream has learned, from whom, and how sure it is; `clustered`: sources may be alike."""
        given = query_of(call, ("clustered",)).get("clustered", "false")
        if given not in ("true", "false"):
            raise InvalidInput(f"clustered is {given[:20]!r}; expected true or false.")
        queue = await self._service.streams.queue(call.name)
        report = await self._service.streams.run(lambda: queue.stream.report(clustered=given == "true"))
        return json_reply(report.to_dict())

    async def export(self, call: Call) -> Response:
        """The whole log as JSON lines, one event each, in order."""
        streams = self._service.streams
        await streams.run(lambda: streams.store.stream(call.name))  # an unknown one is refused at once
        lines = export_lines(streams.store, call.name)
        return StreamingResponse(_chunks(lines), media_type="application/jsonl")

    async def expire(self, call: Call) -> Reply:
        """Close the duels that have waited longer than a number of seconds."""
        queue = await self._service.streams.queue(call.name)
        body = await self._service.decoded(EXPIRE_BODY, call.body, {})
        changed = await self._service.streams.run(
            lambda: queue.stream.expire(body.older_than, confirm_clock=body.confirm_clock)
        )
        return json_reply(schemas.CountAnswer(changed))

    async def retract_source(self, call: Call) -> Reply:
        """Take back all votes of a source."""
        queue = await self._service.streams.queue(call.name)
        body = await self._service.decoded(RETRACT_SOURCE_BODY, call.body, {})
        changed = await self._service.streams.run(lambda: queue.stream.retract_source(body.source))
        return json_reply(schemas.CountAnswer(changed))

    async def erase_source(self, call: Call) -> Reply:
        """Put a pseudonym in the place of a source's name; votes stay, and so does what was learned."""
        streams = self._service.streams
        await streams.queue(call.name)
        body = await self._service.decoded(RETRACT_SOURCE_BODY, call.body, {})
        pseudonym = await streams.run(lambda: erase_source(streams.store, call.name, body.source))
        return json_reply(schemas.ErasedAnswer(pseudonym))

    async def derive(self, call: Call) -> Reply:
        """Make a stream from the log of this one: some of its features, under other names, other settings."""
        streams = self._service.streams
        body = await self._service.decoded(DERIVE_BODY, call.body, {})
        if call.key is not None and call.key.stream is not None:
            raise Forbidden(f"The key {call.key.name!r} is for the stream {call.key.stream!r} alone.")
        given = asdict(body)["columns"]
        columns: dict[str, str] | None = None if given is UNSET else given

        def made() -> None:
            exported = read_lines(export_lines(streams.store, call.name))
            kept = columns or {one: one for one in exported.settings.feature_names}
            derive_columns(streams.store, body.name, exported, kept, settings_in(body))

        await streams.run(made)
        queue = await self._folded(body.name)
        return json_reply(await streams.run(lambda: stream_answer(queue)), 201)

    async def _folded(self, name: str) -> StreamQueue:
        """A stream that has just been made of a log: 503 would say that it was not."""
        while True:
            try:
                return await self._service.streams.queue(name)
            except Folding:
                await asyncio.sleep(LOOK_AGAIN_SECONDS)


def _chunks(lines: Iterator[str]) -> Iterator[str]:
    """Lines put together: each piece of an answer costs a change of threads."""
    while piece := list(islice(lines, LINES_AT_ONCE)):
        yield "\n".join(piece) + "\n"

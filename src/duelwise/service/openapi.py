"""The OpenAPI document: made from the routes, the bodies and the answers they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from duelwise.answers.foresight import CalibrationBin, Foreseen
from duelwise.service import schemas
from duelwise.service.problems import KINDS, MEDIA_TYPE, ProblemDetails
from duelwise.service.routes import JSON_TYPE, Endpoint
from duelwise.stream.answering import PositionBias

PARAMETERS = {"name": schemas.NAME_PATTERN, "ticket": schemas.TICKET_PATTERN}
UNREFERENCED: tuple[Any, ...] = (
    ProblemDetails, schemas.Item, schemas.AskResult, schemas.ReceiptResult, schemas.ProblemResult,
    schemas.StreamAnswer, schemas.BrokenStream,
)  # fmt: skip
"""Types that the document needs although no route names them by itself."""
RECORDS: tuple[Any, ...] = (Foreseen, CalibrationBin, PositionBias)
"""Tuples with names, which a report has as objects (`Report.to_dict`)."""

Document = dict[str, Any]


def document(endpoints: Iterable[Endpoint], *, title: str, version: str, description: str) -> Document:
    endpoints = list(endpoints)
    named = {one.body for one in endpoints} | {one.answer for one in endpoints}
    _, components = msgspec.json.schema_components(
        [kind for kind in named if kind is not None] + list(UNREFERENCED),
        ref_template=schemas.SCHEMAS + "{name}",
    )
    for record in RECORDS:
        _as_object(record, components)
    items = [{"$ref": f"{schemas.SCHEMAS}{op}Item"} for op in ("Ask", "Observe", "Tell", "Retract", "Import")]
    components["BatchBody"]["properties"]["items"]["items"] = {"anyOf": [*items, {"type": "object"}]}
    paths: dict[str, dict[str, Document]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "description": description, "version": version},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}, {}],  # a service without keys answers this machine without one
    }


def _as_object(record: Any, components: dict[str, Document]) -> None:
    """The schema of a tuple with names becomes that of an object."""
    full = f"{record.__module__}.{record.__qualname__}"  # where two have the same name
    made = components[full if full in components else record.__name__]
    parts = dict(zip(record._fields, made.pop("prefixItems"), strict=True))
    del made["minItems"], made["maxItems"]
    made |= {"type": "object", "properties": parts, "required": list(parts)}


def _operation(endpoint: Endpoint) -> Document:
    name = endpoint.run.__name__
    made: Document = {
        "summary": name.replace("_", " ").title(),
        "description": endpoint.run.__doc__,
        "operationId": re.sub(r"\W", "_", f"{name}{endpoint.path}_{endpoint.method.lower()}"),
        "parameters": [
            {"name": given, "in": "path", "required": True, "schema": {"type": "string", "pattern": pattern}}
            for given, pattern in PARAMETERS.items()
            if f"{{{given}}}" in endpoint.path
        ]
        + [
            {"name": given, "in": "query", "required": False, "schema": {"type": "string"}}
            for given in endpoint.query
        ],
        "responses": _responses(endpoint),
    }
    if endpoint.body is not None:
        made["requestBody"] = {
            "required": not endpoint.body_optional,
            "content": _content(JSON_TYPE, _reference(endpoint.body)),
        }
    return made


def _responses(endpoint: Endpoint) -> Document:
    schema = {"type": "string"} if endpoint.answer is None else _reference(endpoint.answer)
    made: Document = {
        str(endpoint.status): {
            "description": "Successful Response",
            "content": _content(endpoint.media_type, schema),
        }
    }
    if endpoint.repeated:
        made["200"] = {
            "description": "It is there already, just so.",
            "content": _content(endpoint.media_type, schema),
        }
    rate = () if endpoint.role is None else (429,)  # whoever has a role is counted
    for status in (*endpoint.refusals, *rate):
        titles = [kind.title for kind in KINDS.values() if kind.status == status]
        made[str(status)] = {
            "description": "; or: ".join(titles),
            "content": _content(MEDIA_TYPE, _reference(ProblemDetails)),
        }
    return made


def _content(media_types: str, schema: Mapping[str, object]) -> Document:
    """One entry for each of the types, which are separated by commas."""
    return {media_type: {"schema": schema} for media_type in media_types.split(", ")}


def _reference(kind: Any) -> dict[str, str]:
    return {"$ref": schemas.SCHEMAS + kind.__name__}

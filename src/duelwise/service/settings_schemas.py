"""What requests look like that make a stream: made from the one definition of a stream's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from msgspec import UNSET, Meta, UnsetType, defstruct
from msgspec.structs import asdict

from duelwise.service.schemas import Body, FeatureName, Name, Number
from duelwise.stream.operations import MOST_VOTES
from duelwise.stream_fields import setting_fields


class NamedBody(Body):
    """What a request brings that makes a stream: its name, and settings."""

    name: Name


_BOUNDS: dict[str, Meta] = {
    "context_dim": Meta(ge=1, lt=2**31),
    "post_dim": Meta(ge=0, lt=2**31),
    "votes_wanted": Meta(ge=1, le=MOST_VOTES),
    "context_ttl_seconds": Meta(ge=0),
    "vote_ttl_seconds": Meta(gt=0),
    "seed": Meta(ge=0, le=2**63 - 1),
    "random_share": Meta(ge=0, le=1),
    "top": Meta(ge=1),
    "edition": Meta(ge=1),
}
"""What a setting's type does not say of it."""

_WRITTEN: dict[type, Any] = {tuple: list[FeatureName], Mapping: dict[str, Any]}
_WRITTEN_BY_NAME: dict[str, Any] = {
    "goal": Literal["serve", "settle"],
    "sources": Literal["equal", "weighted"],
    "ranges": dict[FeatureName, Annotated[list[Number], Meta(min_length=2, max_length=2)]],
}


def _settings_body(name: str, says: str, *own: tuple[Any, ...], required: bool) -> type[NamedBody]:
    """A body with a field for every setting of a stream, made from their one definition."""
    fields: list[Any] = list(own)
    for one in setting_fields():
        written = _WRITTEN_BY_NAME.get(one.name, _WRITTEN.get(one.type, one.type))
        kind: Any = Annotated[written, Meta(description=one.help)]
        if one.name in _BOUNDS:
            kind = Annotated[kind, _BOUNDS[one.name]]
        must = required and one.required
        fields.append((one.name, kind) if must else (one.name, kind | UnsetType, UNSET))
    made = defstruct(
        name, fields, bases=(NamedBody,), module=__name__, namespace={"__doc__": says}, kw_only=True
    )
    return cast("type[NamedBody]", made)


StreamBody = _settings_body(
    "StreamBody", "A stream to create; what is left out has the stream's default.", required=True
)
DeriveBody = _settings_body(
    "DeriveBody", "A stream made from the log of another; what is left out is as it is there.",
    ("columns", dict[str, str] | UnsetType, UNSET), required=False,
)  # fmt: skip


def settings_in(body: NamedBody) -> dict[str, Any]:
    """The settings that a body gives."""
    known = {one.name for one in setting_fields()}
    return {name: value for name, value in asdict(body).items() if name in known and value is not UNSET}

"""Frozen settings as plain tables and back: one form for keys, files and TOML.

A table names its class by `kind` and holds one entry for each field. Errors name the key.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import (
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from duelwise.errors import InvalidInput, check_known

Scalar = str | int | float | bool | None
Plain = Scalar | Sequence["Plain"] | Mapping[str, "Plain"]
"""What JSON and TOML can say."""
Table = Mapping[str, Plain]


class Frozen(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


F = TypeVar("F", bound=Frozen)


def encode(settings: Frozen) -> dict[str, Plain]:
    """The fields a caller may set, tuples as lists."""
    values: dict[str, Plain] = {f.name: getattr(settings, f.name) for f in fields(settings) if f.init}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def encode_kind(settings: Frozen, kinds: Mapping[str, type[Frozen]]) -> dict[str, Plain]:
    """The same with its kind."""
    for name, kind in kinds.items():
        if type(settings) is kind:
            return {"kind": name, **encode(settings)}
    known = ", ".join(kinds)
    raise InvalidInput(
        f"{type(settings).__name__} is no kind an experiment can write down. Expected one of: {known}."
    )


def decode_kind(table: Plain, kinds: Mapping[str, type[F]], *, where: str) -> F:
    """The settings that a table with a `kind` describes; `where` is its key, for errors."""
    entries = dict(table_at(table, where))
    kind = entries.pop("kind", None)
    if not isinstance(kind, str):
        raise InvalidInput(f"{where}.kind is {kind!r}. Expected one of: {', '.join(kinds)}.")
    check_known(f"{where}.kind", kind, kinds)
    return decode(entries, kinds[kind], where=where)


def decode(table: Plain, kind: type[F], *, where: str) -> F:
    """The settings of one class, every entry checked against its field."""
    entries = table_at(table, where)
    known = {field.name: field for field in fields(kind) if field.init}
    hints = get_type_hints(kind)
    values: dict[str, object] = {}
    for name, value in entries.items():
        check_known(f"key in {where}", name, known)
        if not _fits(value, hints[name]):
            raise InvalidInput(f"{where}.{name} is {value!r}. Expected {describe(hints[name])}.")
        values[name] = _settled(value, hints[name])
    for name, field in known.items():
        if name not in values and field.default is MISSING and field.default_factory is MISSING:
            raise InvalidInput(f"{where}.{name} is missing. Expected {describe(hints[name])}.")
    try:
        return kind(**values)
    except InvalidInput as error:
        raise InvalidInput(f"In {where}: {error}") from error


def table_at(value: Plain, where: str) -> Table:
    """Refuse anything but a table."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{where} is {value!r}. Expected a table with named entries.")
    return value


def describe(hint: object) -> str:
    """A type in words."""
    words = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
    if isinstance(hint, type) and hint in words:
        return words[hint]
    if get_origin(hint) is Literal:
        return "one of: " + ", ".join(map(str, get_args(hint)))
    if get_origin(hint) is tuple:
        return f"a list, each entry {describe(get_args(hint)[0])}"
    return " or ".join(describe(part) for part in get_args(hint) if part is not type(None))


def _fits(value: Plain, hint: object) -> bool:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Union or origin is types.UnionType:
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        listed = isinstance(value, Sequence) and not isinstance(value, str)
        return listed and all(_fits(entry, parts[0]) for entry in cast(Sequence[Plain], value))
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, cast(type, hint))


def _settled(value: Plain, hint: object) -> object:
    """One form for one meaning: lists become tuples, whole numbers floats where only those may stand."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(value)
    takes_int = hint is int or int in get_args(hint)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and not takes_int else value

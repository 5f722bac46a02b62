"""Many rows as PostgreSQL's arrays, one for each column, in its own binary format.

A statement with a value for each column of each row is written, sent and planned by the number of its rows;
one with an array for each column is the same for any number.

    array = written(sa.BigInteger(), [1, 2, None])     # for `unnest($1::BIGINT[])`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from struct import Struct
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

Kind = sa.types.TypeEngine[Any]

_HEAD = "!iIIii"  # dimensions, flags (nulls), type of the elements, how many, the first index
_LENGTH = Struct("!i")
_NULL = _LENGTH.pack(-1)
_NUMBERS: dict[type[Kind], tuple[int, int, str]] = {  # type, bytes, layout with the length before the number
    sa.Boolean: (16, 1, "i?"),
    sa.Integer: (23, 4, "ii"),
    sa.BigInteger: (20, 8, "iq"),
    sa.Double: (701, 8, "id"),
}
_TEXTS: dict[type[Kind], int] = {sa.LargeBinary: 17, sa.Text: 25, sa.String: 1043}
_OFTEN_ALIKE = sa.Integer, sa.Boolean  # types of columns that have few different values


def written(kind: Kind, values: Sequence[Any]) -> bytes:
    """The values of one column, some of which may be None."""
    exact, count = type(kind), len(values)
    if exact in _OFTEN_ALIKE:
        return _written_before(exact, tuple(values))
    if values.count(None) == count:
        return _nulls(exact, count)
    return _written(exact, values)


def _written(kind: type[Kind], values: Sequence[Any]) -> bytes:
    count = len(values)
    if None in values:
        return _head(kind, count) + b"".join(_element(kind, value) for value in values)
    if kind in _NUMBERS:
        id, length, layout = _NUMBERS[kind]
        numbers = [length] * (2 * count)
        numbers[1::2] = values
        return _many(layout, count).pack(1, 1, id, count, 1, *numbers)
    parts = [_head(kind, count)]
    for text in values if kind is sa.LargeBinary else map(str.encode, values):
        parts += _LENGTH.pack(len(text)), text
    return b"".join(parts)


_written_before = lru_cache(maxsize=1024)(_written)


@lru_cache(maxsize=1024)
def _many(layout: str, count: int) -> Struct:
    return Struct(_HEAD + layout * count)


@lru_cache(maxsize=1024)
def _head(kind: type[Kind], count: int) -> bytes:
    id = _NUMBERS[kind][0] if kind in _NUMBERS else _TEXTS[kind]
    return _many("", 0).pack(1, 1, id, count, 1)


@lru_cache(maxsize=1024)
def _nulls(kind: type[Kind], count: int) -> bytes:
    return _head(kind, count) + _NULL * count


def _element(kind: type[Kind], value: object) -> bytes:
    return _NULL if value is None else _written(kind, (value,))[_many("", 0).size :]


def each_of(kinds: Mapping[str, Kind]) -> sa.TableValuedAlias:
    """A table whose rows stand in arrays, one for each column; they are bound in the order of the columns."""
    # By names of their own, since those of columns have a meaning in an update.
    arrays = [sa.bindparam(f"all_{name}", type_=ARRAY(kind)) for name, kind in kinds.items()]
    columns = [sa.column(name, kind) for name, kind in kinds.items()]
    return sa.func.unnest(*arrays).table_valued(*columns).render_derived(name="each")


def bound_in(kinds: Mapping[str, Kind]) -> list[str]:
    """The names under which the arrays of `each_of` are bound."""
    return [f"all_{name}" for name in kinds]


def by_columns(kinds: Mapping[str, Kind], rows: Sequence[Sequence[object]]) -> tuple[bytes, ...]:
    """The arrays themselves."""
    columns = zip(*rows, strict=True)
    return tuple(written(kind, column) for kind, column in zip(kinds.values(), columns, strict=True))

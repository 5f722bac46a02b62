"""Many rows as PostgreSQL's arrays, one for each column, in its own binary format.

A statement with a value for each column of each row is written, sent and planned by the number of its rows;
one with an array for each column is the same for any number.

    array = written(sa.BigInteger(), [1, 2, None])     # for `unnest($1::BIGINT[])`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain, repeat
from struct import Struct
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

Kind = sa.types.TypeEngine[Any]

_HEAD = Struct("!iIIii")  # dimensions, flags (nulls), type of the elements, how many, the first index
_LENGTH = Struct("!i")
_NULL = _LENGTH.pack(-1)
_NUMBERS: dict[type[Kind], tuple[int, int, str]] = {  # type, bytes, layout with the length before the number
    sa.Boolean: (16, 1, "i?"),
    sa.Integer: (23, 4, "ii"),
    sa.BigInteger: (20, 8, "iq"),
    sa.Double: (701, 8, "id"),
}
_TEXTS: dict[type[Kind], int] = {sa.LargeBinary: 17, sa.Text: 25, sa.String: 1043}


def written(kind: Kind, values: Sequence[Any]) -> bytes:
    """The values of one column, some of which may be None."""
    exact, count = type(kind), len(values)
    is_number = exact in _NUMBERS
    id = _NUMBERS[exact][0] if is_number else _TEXTS[exact]
    head = _HEAD.pack(1, 1, id, count, 1)
    nulls = values.count(None)
    if nulls == count:
        return head + _NULL * count
    write = _numbers if is_number else _texts
    if not nulls:
        return head + write(exact, values)
    return head + b"".join(_NULL if value is None else write(exact, (value,)) for value in values)


def _numbers(kind: type[Kind], values: Sequence[Any]) -> bytes:
    _, length, layout = _NUMBERS[kind]
    return _many(layout, len(values)).pack(*chain.from_iterable(zip(repeat(length), values)))


def _texts(kind: type[Kind], values: Sequence[Any]) -> bytes:
    texts: Sequence[bytes] = values if kind is sa.LargeBinary else list(map(str.encode, values))
    lengths = map(_LENGTH.pack, map(len, texts))
    return b"".join(chain.from_iterable(zip(lengths, texts, strict=True)))


@lru_cache(maxsize=1024)
def _many(layout: str, count: int) -> Struct:
    return Struct("!" + layout * count)


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

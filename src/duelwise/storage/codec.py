"""Named values and arrays as versioned bytes: floats exactly, never pickle.

    "DW" | version | 0 | length of header | header (JSON) | raw little-endian arrays

The checksum lives beside the bytes, in the row that holds them.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar, cast

import msgspec
import numpy as np

from duelwise.errors import StorageFailure
from duelwise.types import JSON, AnyArray, BoolArray, IntArray, Snapshot

AnyDtype = np.dtype[Any]
Layout = tuple[tuple[str, tuple[int, ...], AnyDtype, int, bool], ...]
"""Of each array its name, shape, type, where it begins, and whether it can be used where it stands."""

T = TypeVar("T")

MAGIC = b"DW"
VERSION = 1
_PREFIX = struct.Struct("<2sBBI")


def _plain(value: object) -> object:
    """A text or a number of NumPy's as Python has it."""
    plain: object = cast("Any", value).item() if isinstance(value, np.generic) else value
    if type(plain) is type(cast("object", value)):  # for a long double Python has no type
        raise TypeError(f"{plain!r:.80} is a {type(plain).__name__}; JSON has no such values.")
    return plain


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)  # floats as short as they come back exactly
_FIELDS: msgspec.json.Decoder[dict[str, JSON]] = msgspec.json.Decoder(dict)
_KINDS = "biuf"  # booleans, integers, floats: what raw bytes can hold exactly
_BEGIN = int.from_bytes(_PREFIX.pack(MAGIC, VERSION, 0, 0)[:4], "little")
MANY = 200  # values of one length that are worth a table
MOST_LAYOUTS = 16  # that are looked for among other values that are unpacked together


@lru_cache(maxsize=1024)
def _stored(name: str, dtype: AnyDtype, shape: tuple[int, ...]) -> tuple[bytes, AnyDtype | None]:
    """What the header says of an array, and the type it is written in, None: as it is."""
    if dtype.kind not in _KINDS:
        raise TypeError(f"An array has dtype {dtype}; only numbers and booleans are stored.")
    stored = dtype.newbyteorder("<")
    return _ENCODER.encode((name, stored.str, shape)), None if stored == dtype else stored


def pack(fields: Mapping[str, JSON] | msgspec.Struct, arrays: Mapping[str, AnyArray | None]) -> bytes:
    """Bytes from which `unpack` gives back equal fields and identical arrays; None is left out."""
    if not arrays:
        header = b"[%b,[]]" % _ENCODER.encode(fields)
        return _PREFIX.pack(MAGIC, VERSION, 0, len(header)) + header
    described: list[bytes] = []
    parts: list[bytes] = [b"", b""]
    for name, array in arrays.items():
        if array is None:
            continue
        said, stored = _stored(name, array.dtype, array.shape)
        described.append(said)
        parts.append(array.tobytes() if stored is None else array.astype(stored).tobytes())
    parts[1] = b"[%b,[%b]]" % (_ENCODER.encode(fields), b",".join(described))
    parts[0] = _PREFIX.pack(MAGIC, VERSION, 0, len(parts[1]))
    return b"".join(parts)


def unpack(data: bytes) -> tuple[dict[str, JSON], Snapshot]:
    """The fields and arrays of `pack`; the arrays are fresh, aligned and writable."""
    magic, version, _, length = _PREFIX.unpack_from(data) if len(data) >= _PREFIX.size else (b"", 0, 0, 0)
    if magic != MAGIC or version != VERSION:
        raise StorageFailure(
            f"Stored bytes start with {data[:4]!r}; expected format {VERSION} of Duelwise. "
            "Open this store with the version that wrote it, or a later one."
        )
    start = _PREFIX.size + length
    fields, layout = _header(data[_PREFIX.size : start])
    return fields, _arrays(layout, bytearray(data[start:])) if layout else {}


def _header(header: bytes) -> tuple[dict[str, JSON], Layout]:
    """Fields and arrays' places. Shapes are parsed once for all headers that end alike, as most do."""
    end = header.rfind(b"},[") + 1  # the end of the fields, unless an array has this in its name
    try:
        return _FIELDS.decode(header[1:end]), _layout(header[end + 1 : -1])
    except ValueError:
        pass
    fields, shapes = json.loads(header)
    return fields, _layout(json.dumps(shapes).encode())


@lru_cache(maxsize=256)
def _layout(text: bytes) -> Layout:
    places: list[tuple[str, tuple[int, ...], AnyDtype, int, bool]] = []
    offset = 0
    for name, dtype, shape in cast("list[tuple[str, str, list[int]]]", json.loads(text)):
        kind = np.dtype(dtype)
        usable = offset % kind.itemsize == 0 and kind.isnative
        places.append((name, tuple(shape), kind, offset, usable))
        offset += math.prod(shape) * kind.itemsize
    return tuple(places)


def _arrays(layout: Layout, held: bytearray) -> Snapshot:
    """Arrays over one block of memory that is theirs alone: compiled kernels write to them."""
    arrays: Snapshot = {}
    for name, shape, kind, offset, usable in layout:
        array: AnyArray = np.ndarray(shape, kind, held, offset)
        arrays[name] = array if usable else array.astype(kind.newbyteorder("="))
    return arrays


class Alike(NamedTuple, Generic[T]):
    """Values of `pack` that hold arrays of the same names and shapes."""

    places: IntArray  # (n,) where they stand among all
    fields: list[T]  # (n,)
    arrays: Snapshot  # (n, …) each


def unpack_together(data: Sequence[bytes], fields: msgspec.json.Decoder[list[T]]) -> Iterator[Alike[T]]:
    """`unpack` of many at once, by what arrays they hold; `fields` says what else is expected of them.

    Whatever cannot be read so is a ValueError, or is not among the places: `unpack` says of each what it is.
    """
    lengths = np.fromiter(map(len, data), np.int64, len(data))
    others: BoolArray = np.ones(len(data), dtype=np.bool_)  # which are left
    found, counts = np.unique(lengths, return_counts=True)
    for length in found[counts >= MANY]:
        places: IntArray = np.flatnonzero(lengths == length)
        own: list[int] = places.tolist()
        alike = _table([data[place] for place in own], fields)
        if alike is not None:
            others[places] = False
            yield Alike(places, *alike)
    left: list[int] = np.flatnonzero(others).tolist()
    yield from _by_layout(left, [data[place] for place in left], fields)


def _table(rows: Sequence[bytes], fields: msgspec.json.Decoder[list[T]]) -> tuple[list[T], Snapshot] | None:
    """Fields and arrays of values of one length, if what each holds stands in the same place in all."""
    held = _bytes_of(rows)
    if held.shape[1] < _PREFIX.size or not _are_alike(held[:, : _PREFIX.size]):
        return None
    begin, header = held[0, : _PREFIX.size].view("<u4").tolist()
    end = _PREFIX.size + header
    layout = _layout_at_end(rows[0], end)
    cut = end - len(layout)
    if begin != _BEGIN or cut <= _PREFIX.size or not _are_alike(held[:, cut:end]):
        return None
    texts = held[:, _PREFIX.size + 1 : cut + 1].tobytes()  # each with the comma after it
    return _decoded(fields, texts[:-1]), _stacked(layout, held[:, end:])


def _bytes_of(rows: Sequence[bytes]) -> AnyArray:
    """Of n rows of one length: (n, length)."""
    if len(set(map(len, rows))) > 1:
        raise ValueError("Some stored bytes are more or fewer than their arrays.")
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)


def _are_alike(rows: AnyArray) -> bool:
    return bool((rows == rows[0]).all())


def _layout_at_end(one: bytes, end: int) -> bytes:
    """Of a value whose header ends there: from the comma after its fields to the last bracket."""
    return one[one.rfind(b"},[", 0, end) + 1 : end]


def _by_layout(
    places: list[int], data: Sequence[bytes], fields: msgspec.json.Decoder[list[T]]
) -> Iterator[Alike[T]]:
    """Values of any length that stand at these places."""
    words = np.frombuffer(b"".join([one[: _PREFIX.size] for one in data]), "<u4")
    if len(words) != 2 * len(data) or (words[::2] != _BEGIN).any():
        raise ValueError("Some stored bytes do not start as expected.")
    ends: list[int] = (words[1::2].astype(np.int64) + _PREFIX.size).tolist()
    left = list(zip(places, data, ends, strict=True))
    for _ in range(MOST_LAYOUTS):
        if not left:
            return
        layout = _layout_at_end(*left[0][1:])
        some = [each for each in left if each[1].endswith(layout, 0, each[2])]
        if len(some) < len(left):
            left = [each for each in left if not each[1].endswith(layout, 0, each[2])]
        else:
            left = []
        begin, cut = _PREFIX.size + 1, len(layout)
        said = _decoded(fields, b",".join([one[begin : end - cut] for _, one, end in some]))
        held = _bytes_of([one[end:] for _, one, end in some])
        yield Alike(np.array([place for place, _, _ in some]), said, _stacked(layout, held))


def _decoded(fields: msgspec.json.Decoder[list[T]], texts: bytes) -> list[T]:
    try:
        return fields.decode(b"[%b]" % texts)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error


def _stacked(layout: bytes, held: AnyArray) -> Snapshot:
    """The arrays of many values, one row for each: held (n, bytes)."""
    places = _layout(layout[1:-1])
    sizes = [math.prod(shape) * kind.itemsize for _, shape, kind, _, _ in places]
    if held.shape[1] != sum(sizes):
        raise ValueError("Some stored bytes are more or fewer than their arrays.")
    arrays: Snapshot = {}
    for (name, shape, kind, offset, _), size in zip(places, sizes, strict=True):
        own = held[:, offset : offset + size].view(kind).astype(kind.newbyteorder("="))
        arrays[name] = own.reshape(len(held), *shape)
    return arrays

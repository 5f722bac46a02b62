"""Named values and arrays as versioned bytes: floats exactly, never pickle.

    "DW" | version | 0 | length of header | header (JSON) | raw little-endian arrays

The checksum lives beside the bytes, in the row that holds them.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, cast

import msgspec
import numpy as np

from duelwise.errors import StorageFailure
from duelwise.types import JSON, AnyArray, Snapshot

AnyDtype = np.dtype[Any]
Layout = tuple[tuple[str, tuple[int, ...], AnyDtype, int, bool], ...]
"""Of each array its name, shape, type, where it begins, and whether it can be used where it stands."""

MAGIC = b"DW"
VERSION = 1
_PREFIX = struct.Struct("<2sBBI")
_ENCODER = msgspec.json.Encoder()  # floats as short as they come back exactly
_FIELDS: msgspec.json.Decoder[dict[str, JSON]] = msgspec.json.Decoder(dict)
_KINDS = "biuf"  # booleans, integers, floats: what raw bytes can hold exactly


@cache
def _stored(dtype: AnyDtype) -> tuple[AnyDtype | None, str]:
    """How arrays of this kind are written, None: as they are, and the name of that."""
    if dtype.kind not in _KINDS:
        raise TypeError(f"An array has dtype {dtype}; only numbers and booleans are stored.")
    stored = dtype.newbyteorder("<")
    return None if stored == dtype else stored, stored.str


def pack(fields: Mapping[str, JSON], arrays: Mapping[str, AnyArray]) -> bytes:
    """Bytes from which `unpack` gives back equal fields and identical arrays."""
    shapes: list[tuple[str, str, tuple[int, ...]]] = []
    parts: list[bytes] = [b"", b""]
    for name, array in arrays.items():
        stored, kind = _stored(array.dtype)
        shapes.append((name, kind, array.shape))
        parts.append(array.tobytes() if stored is None else array.astype(stored).tobytes())
    parts[1] = _ENCODER.encode((fields, shapes))
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

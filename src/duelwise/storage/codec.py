"""Named values and arrays as versioned bytes: floats exactly, never pickle.

    "DW" | version | 0 | length of header | header (JSON) | raw little-endian arrays

The checksum lives beside the bytes, in the row that holds them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
import numpy as np

from duelwise.errors import StorageFailure
from duelwise.types import AnyArray, Snapshot

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]

AnyDtype = np.dtype[Any]

MAGIC = b"DW"
VERSION = 1
_PREFIX = struct.Struct("<2sBBI")
_ENCODER = msgspec.json.Encoder()  # floats as short as they come back exactly
_DECODER = msgspec.json.Decoder(tuple[dict[str, Any], list[tuple[str, str, list[int]]]])
_KINDS = "biuf"  # booleans, integers, floats: what raw bytes can hold exactly


@cache
def _stored(dtype: AnyDtype) -> tuple[AnyDtype, str]:
    """How arrays of this kind are written, and the name of that."""
    if dtype.kind not in _KINDS:
        raise TypeError(f"An array has dtype {dtype}; only numbers and booleans are stored.")
    stored = dtype.newbyteorder("<")
    return stored, stored.str


def pack(fields: Mapping[str, JSON], arrays: Mapping[str, AnyArray]) -> bytes:
    """Bytes from which `unpack` gives back equal fields and identical arrays."""
    shapes: list[tuple[str, str, tuple[int, ...]]] = []
    parts: list[bytes] = [b"", b""]
    for name, array in arrays.items():
        stored, kind = _stored(array.dtype)
        shapes.append((name, kind, array.shape))
        parts.append(array.astype(stored, copy=False).tobytes())
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
    fields, shapes = _DECODER.decode(data[_PREFIX.size : start])
    arrays: Snapshot = {}
    for name, dtype, shape in shapes:
        kind = np.dtype(dtype)
        count = int(np.prod(shape, dtype=np.int64))
        # A copy: compiled kernels take aligned, writable arrays, and the bytes are neither.
        arrays[name] = np.frombuffer(data, kind, count, start).reshape(shape).astype(kind.newbyteorder("="))
        start += count * kind.itemsize
    return fields, arrays

"""Named values and arrays as versioned bytes: floats exactly, never pickle.

    "DW" | version | 0 | length of header | header (JSON) | raw little-endian arrays

The checksum lives beside the bytes, in the row that holds them.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import numpy as np

from duelwise.errors import StorageFailure
from duelwise.types import JSON, AnyArray, Snapshot

AnyDtype = np.dtype[Any]

MAGIC = b"DW"
VERSION = 1
_PREFIX = struct.Struct("<2sBBI")
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_decode = json.JSONDecoder().decode
_KINDS = "biuf"  # booleans, integers, floats: what raw bytes can hold exactly


@cache
def _little_endian(dtype: AnyDtype) -> AnyDtype:
    return dtype.newbyteorder("<")


@cache
def _dtype(text: str) -> AnyDtype:
    return np.dtype(text)


def pack(fields: Mapping[str, JSON], arrays: Mapping[str, AnyArray]) -> bytes:
    """Bytes from which `unpack` gives back equal fields and identical arrays."""
    shapes: list[list[str | list[int]]] = []
    parts: list[bytes] = [b"", b""]
    for name, array in arrays.items():
        if array.dtype.kind not in _KINDS:
            raise TypeError(f"Array {name!r} has dtype {array.dtype}; only numbers and booleans are stored.")
        stored = _little_endian(array.dtype)
        shapes.append([name, stored.str, list(array.shape)])
        parts.append(array.astype(stored, copy=False).tobytes())
    header = _ENCODER.encode([fields, shapes]).encode()
    parts[0] = _PREFIX.pack(MAGIC, VERSION, 0, len(header))
    parts[1] = header
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
    fields, shapes = cast(
        "tuple[dict[str, JSON], list[tuple[str, str, list[int]]]]",
        _decode(data[_PREFIX.size : start].decode()),
    )
    return fields, _arrays(shapes, bytearray(data[start:])) if shapes else {}


def _arrays(shapes: list[tuple[str, str, list[int]]], held: bytearray) -> Snapshot:
    """Arrays over one block of memory that is theirs alone: compiled kernels write to them."""
    arrays: Snapshot = {}
    offset = 0
    for name, text, shape in shapes:
        kind = _dtype(text)
        array: AnyArray = np.ndarray(shape, kind, held, offset)
        if not (array.flags.aligned and kind.isnative):
            array = array.astype(kind.newbyteorder("="))
        arrays[name] = array
        offset += math.prod(shape) * kind.itemsize
    return arrays

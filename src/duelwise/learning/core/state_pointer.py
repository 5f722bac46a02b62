"""State crosses from Python, and between kernels, as one pointer.

`handle(state)` lays out a tuple of arrays, numbers and further tuples as a row of words: a number is one,
an array the address of its data, its length, shape and strides. Compiled code sees a reference to that row;
`state.field` loads what stands there. By value a state of sixty arrays would be four hundred numbers to hand
on at every call, and sixty references to count. Nobody counts here: the handle keeps the arrays alive, and
compiled code must not give them to Python.
"""

# numba's extensions have no types to check against.
# pyright: basic, reportAttributeAccessIssue=false, reportIncompatibleVariableOverride=false

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, models, register_model, unbox
from numba.np.numpy_support import from_dtype

from duelwise.errors import InvalidInput

T = TypeVar("T")

_WORD = ir.IntType(64)


class Reference(types.Type):
    """To a tuple of this class, whose fields are of these kinds."""

    def __init__(self, instance_class: type, fields: tuple[types.Type, ...]) -> None:
        self.instance_class, self.types = instance_class, fields
        self.fields = dict(zip(instance_class._fields, fields, strict=True))
        self.places, self.words = {}, 0  # where each field begins
        for name, kind in self.fields.items():
            self.places[name] = self.words
            self.words += _words(kind)
        inner = ", ".join(map(str, fields))
        super().__init__(f"{instance_class.__module__}.{instance_class.__qualname__}({inner})*")


def _words(kind: types.Type) -> int:
    if isinstance(kind, types.Array):
        return 2 + 2 * kind.ndim
    return kind.words if isinstance(kind, Reference) else 1


def handle(state: T) -> T:
    """A state as kernels take it, called from Python; to them it is that state."""
    return cast(T, Handle(state))


class Handle:
    """The words of a state; the arrays are shared, not copied."""

    __slots__ = ("_arrays", "_numba_type_", "_row", "address", "held")

    def __init__(self, held: Any) -> None:
        self.held = held
        self._arrays: list[Any] | None = None
        words: list[int] = []
        self._numba_type_ = _lay_out(held, words)
        self._row = np.array([*words, 0], dtype=np.int64)
        self.address = int(self._row.ctypes.data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.held, name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied or pickled as its state: addresses hold for these arrays only."""
        return Handle, (self.held,)

    @property
    def arrays(self) -> list[Any]:
        """All of the state, and of the tuples in it."""
        if self._arrays is None:
            self._arrays = list(arrays_in(self.held))
        return self._arrays


def arrays_in(value: Any) -> Iterator[Any]:
    """An array itself, or those in a tuple and in the tuples in it."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from arrays_in(one)


def _lay_out(value: Any, words: list[int]) -> types.Type:
    """Append the words of a value; returns its type in compiled code."""
    if isinstance(value, np.ndarray):
        words += [value.__array_interface__["data"][0], value.size, *value.shape, *value.strides]
        flags = value.flags
        return _array_type(value.dtype, value.ndim, flags.c_contiguous, flags.writeable)
    if hasattr(value, "_fields"):
        return _reference_type(type(value), tuple([_lay_out(field, words) for field in value]))
    if isinstance(value, bool | np.bool_):
        words.append(int(value))
        return types.boolean
    if isinstance(value, int | np.integer):
        words.append(int(value))
        return types.int64
    if isinstance(value, float | np.floating):
        words.append(struct.unpack("q", struct.pack("d", value))[0])
        return types.float64
    raise InvalidInput(
        f"A state holds {value!r}, of type {type(value).__name__}. Expected arrays, numbers and named tuples."
    )


@lru_cache(maxsize=1024)  # numba makes a type slowly, and looks then whether it has it already
def _array_type(dtype: Any, ndim: int, contiguous: bool, writeable: bool) -> types.Type:
    return types.Array(from_dtype(dtype), ndim, "C" if contiguous else "A", readonly=not writeable)


_reference_type = lru_cache(maxsize=1024)(Reference)


@register_model(Reference)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _WORD.as_pointer())


@unbox(Reference)
def _address(kind: Any, handle: Any, c: Any) -> NativeValue:
    number = c.pyapi.object_getattr_string(handle, "address")
    place = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.bitcast(place, _WORD.as_pointer()))


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, kind: Any, name: str) -> Any:
        return kind.fields.get(name)


@lower_getattr_generic(Reference)
def _field(context: Any, builder: Any, kind: Any, row: Any, name: str) -> Any:
    field = kind.fields[name]
    begin = builder.gep(row, [_WORD(kind.places[name])])
    if isinstance(field, Reference):
        return begin
    if isinstance(field, types.Array):
        return _array(context, builder, field, begin)
    word = _load(builder, begin, 0)
    if field == types.float64:
        return builder.bitcast(word, ir.DoubleType())
    return builder.trunc(word, ir.IntType(1)) if field == types.boolean else word


def _array(context: Any, builder: Any, kind: Any, begin: Any) -> Any:
    """An array without an owner."""
    array = context.make_array(kind)(context, builder)
    data = builder.bitcast(begin, array.data.type.as_pointer())
    array.data = _load(builder, data, 0)
    array.nitems = _load(builder, begin, 1)
    array.itemsize = _WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    sizes = [_load(builder, begin, 2 + i) for i in range(2 * kind.ndim)]
    array.shape = cgutils.pack_array(builder, sizes[: kind.ndim], _WORD)
    array.strides = cgutils.pack_array(builder, sizes[kind.ndim :], _WORD)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


def _load(builder: Any, begin: Any, place: int) -> Any:
    """A word, of which LLVM may know that it never changes, whatever is stored elsewhere."""
    word = builder.load(builder.gep(begin, [_WORD(place)]) if place else begin)
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word

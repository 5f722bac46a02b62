"""What compiled code cannot say in Python: one rounding, sums in lanes, a product by BLAS alone.

A running sum has one order, so a compiler that keeps to it adds one number at a time. Here the order
is chosen for the machine instead, and is the same on every machine: eight lanes, lane l adding the
products l, l + 8, l + 16, … with one rounding each, then ((0+1)+(2+3)) + ((4+5)+(6+7)), then the
products left over, one by one.
"""

# numba's code generation has no types to check against.
# pyright: basic, reportCallIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.linalg import call_xxgemm, call_xxgemv, ensure_blas

from duelwise.learning.core.interpreted import stands_for
from duelwise.learning.core.jit import compiled
from duelwise.types import Array

LANES = 8
GROUP = 5  # rows summed at once: their lanes and the factor they share stay in registers

_INDEX, _VECTOR = ir.IntType(64), ir.VectorType(ir.DoubleType(), LANES)


@intrinsic
def _fused(_context: Any, a: Any, b: Any, c: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), generate


def fused_by_fractions(a: float, b: float, c: float) -> float:
    """The same for Python, slowly."""
    a, b, c = float(a), float(b), float(c)
    if not math.isfinite(a) or not math.isfinite(b):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact) if exact else a * b + c  # a zero has its sign
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _fused_by_the_library() -> Callable[[float, float, float], float]:
    """C's own, where the process has it."""
    try:
        found = ctypes.CDLL(None).fma
    except (TypeError, OSError, AttributeError):
        return fused_by_fractions
    found.argtypes, found.restype = [ctypes.c_double] * 3, ctypes.c_double
    return found


_fused_in_python = _fused_by_the_library()


def _sums_over(rows: int) -> Callable[..., Any]:
    """(z, first, r, n) → Σ_{i<n} z[first + row, i] r[i] for `rows` rows, n a multiple of LANES."""

    def sums(_context: Any, z: Any, _first: Any, r: Any, _n: Any) -> Any:
        expected = types.Array(types.float64, 2, "C"), types.Array(types.float64, 1, "C")
        if (z, r) != expected:
            return None  # numba then says that it knows no such function

        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            table = target.make_array(signature.args[0])(target, builder, args[0])
            factor = target.make_array(signature.args[2])(target, builder, args[2]).data
            _, first, _, n = args
            width = cgutils.unpack_tuple(builder, table.shape, 2)[1]
            begins = [
                builder.gep(table.data, [builder.mul(builder.add(first, _INDEX(row)), width)])
                for row in range(rows)
            ]
            lanes = [cgutils.alloca_once(builder, _VECTOR) for _ in range(rows)]
            for slot in lanes:
                builder.store(_VECTOR([0.0] * LANES), slot)
            with cgutils.for_range_slice(builder, _INDEX(0), n, _INDEX(LANES), inc=True) as (at, _):
                shared = _load(builder, factor, at)
                for begin, slot in zip(begins, lanes, strict=True):
                    row = _load(builder, begin, at)
                    builder.store(_fused_lanes(builder, row, shared, builder.load(slot)), slot)
            totals = [_folded(builder, builder.load(slot)) for slot in lanes]
            return target.make_tuple(builder, signature.return_type, totals)

        return types.UniTuple(types.float64, rows)(z, types.intp, r, types.intp), generate

    made = intrinsic(sums)

    @stands_for(made)
    def in_lanes(z: Array, first: int, r: Array, n: int) -> tuple[Any, ...]:
        totals: list[Any] = []
        for row in z[first : first + rows]:
            parts: list[Any] = [0.0] * LANES
            for i in range(n):
                parts[i % LANES] = _fused_in_python(row[i], r[i], parts[i % LANES])
            while len(parts) > 1:
                parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=True)]
            totals += parts
        return tuple(totals)

    return made


def _load(builder: Any, begin: Any, at: Any) -> Any:
    place = builder.bitcast(builder.gep(begin, [at]), _VECTOR.as_pointer())
    return builder.load(place, align=8)


def _fused_lanes(builder: Any, a: Any, b: Any, c: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    return builder.call(
        cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{LANES}f64"), [a, b, c]
    )


def _folded(builder: Any, lanes: Any) -> Any:
    parts = [builder.extract_element(lanes, ir.IntType(32)(lane)) for lane in range(LANES)]
    while len(parts) > 1:
        parts = [builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


@intrinsic
def _product(_context: Any, a: Any, _rows: Any, b: Any, out: Any) -> Any:
    """BLAS as np.dot calls it, without the checks, which take a second to compile."""

    def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
        left, right, to = (target.make_array(signature.args[i])(target, builder, args[i]) for i in (0, 2, 3))
        sizes = args[1], cgutils.unpack_tuple(builder, left.shape, 2)[1]
        if b.ndim == 1:
            call_xxgemv(target, builder, True, a, sizes, left.data, right.data, to.data)
        else:
            inner, columns = cgutils.unpack_tuple(builder, right.shape, 2)
            call_xxgemm(
                target, builder, a, sizes, left.data, b, (inner, columns), right.data,
                out, (args[1], columns), to.data,
            )  # fmt: skip
        return target.get_dummy_value()

    if {kind.layout for kind in (a, b, out)} != {"C"}:
        return None  # numba then says that it knows no such function
    ensure_blas()
    return types.none(a, types.intp, b, out), generate


@stands_for(_product)
def _product_by_blas(a: Array, rows: int, b: Array, out: Array) -> None:
    """By the library that compiled code asks, which is not numpy's own."""
    from scipy.linalg.blas import dgemm, dgemv  # a tenth of a second to import

    if b.ndim == 1:
        out[:rows] = dgemv(1.0, a[:rows].T, b, trans=1)
    else:
        out[:rows] = dgemm(1.0, b.T, a[:rows].T).T


_group_sums, _one_sum = _sums_over(GROUP), _sums_over(1)


@compiled
def fused(a: float, b: float, c: float) -> float:
    """a·b + c with a single rounding."""
    return _fused(a, b, c)


stands_for(fused)(_fused_in_python)


@compiled
def product(a: Array, rows: int, b: Array, out: Array) -> None:
    """The first rows of a (n, d) times b (d, m) or (d,), into those of out; rows > 0."""
    _product(a, rows, b, out)


@compiled
def row_sums(z: Array, r: Array, n: int, out: Array) -> None:
    """Σ_{i<n} z_ji r_i for every row j: z (rows, capacity), r (≥ n,) → out (rows,)."""
    rows, whole, j = z.shape[0], n - n % LANES, 0
    while j + GROUP <= rows:
        out[j], out[j + 1], out[j + 2], out[j + 3], out[j + 4] = _group_sums(z, j, r, whole)
        j += GROUP
    while j < rows:
        out[j] = _one_sum(z, j, r, whole)[0]
        j += 1
    for j in range(rows):
        total = out[j]
        for i in range(whole, n):
            total = fused(z[j, i], r[i], total)
        out[j] = total

"""What the compiler is told by hand: one rounding, a fixed order of sums, arrays nobody counts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from duelwise.lab.play.compiled_loop import Kept as Record
from duelwise.learning.core.intrinsics import LANES, borrowed, fused, row_sums
from duelwise.learning.core.jit import compiled
from duelwise.randomness import generator
from duelwise.types import AnyArray


@compiled
def add_up(kept: Record) -> float:
    kept = borrowed(kept)
    kept.distinct_regret[0, 0] += 1.0
    return kept.regret.sum()


def _owner(_context: Any, array: Any) -> Any:
    def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
        return cgutils.is_not_null(
            builder, target.make_array(signature.args[0])(target, builder, args[0]).meminfo
        )

    return types.boolean(array), generate


_has_owner = cast("Callable[[AnyArray], int]", intrinsic(_owner))


@numba.njit()
def owned(kept: Record) -> int:
    return _has_owner(kept.regret) + _has_owner(kept.distinct_regret) + _has_owner(kept.arms)


@numba.njit()
def owned_when_borrowed(kept: Record) -> int:
    return owned(borrowed(kept))


def once_rounded(a: float, b: float, c: float) -> float:
    """a·b + c exactly, then the nearest float."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


@given(*[st.floats(-1e6, 1e6) for _ in range(3)])
def test_fused_rounds_once(a: float, b: float, c: float) -> None:
    assert fused(a, b, c) == once_rounded(a, b, c)


def test_fused_sees_what_two_roundings_lose() -> None:
    a = 1.0 + 2.0**-30
    assert fused(a, a, -1.0 - 2.0**-29) == 2.0**-60
    assert a * a - 1.0 - 2.0**-29 == 0.0


@given(seed=st.integers(0, 999), n=st.integers(0, 100), rows=st.integers(1, 12))
@settings(max_examples=60)
def test_sums_are_taken_in_the_order_the_module_states(seed: int, n: int, rows: int) -> None:
    rng = generator(seed, "rows", 0)
    z, r, out = rng.standard_normal((rows, 100)), rng.standard_normal(100), np.empty(rows)
    row_sums(z, r, n, out)
    for j in range(rows):
        lanes, whole = [0.0] * LANES, n - n % LANES
        for i in range(whole):
            lanes[i % LANES] = once_rounded(z[j, i], r[i], lanes[i % LANES])
        a, b, c, d = (lanes[k] + lanes[k + 1] for k in range(0, LANES, 2))
        total = (a + b) + (c + d)
        for i in range(whole, n):
            total = once_rounded(z[j, i], r[i], total)
        assert out[j] == total


def test_sums_read_nothing_beyond_n() -> None:
    z, r, out = np.full((7, 20), np.nan), np.full(20, np.nan), np.empty(7)
    z[:, :11], r[:11] = 1.0, 2.0
    row_sums(z, r, 11, out)
    np.testing.assert_array_equal(out, 22.0)


@pytest.mark.parametrize(
    ("z", "r"),
    [
        (np.ones((8, 8))[:, ::2], np.ones(4)),
        (np.ones((8, 4), np.float32), np.ones(4, np.float32)),
        (np.ones((8, 4)), np.ones(4, np.int64)),
        (np.ones((8, 4)), np.ones(8)[::2]),
    ],
    ids=["gaps in z", "single precision", "whole numbers", "gaps in r"],
)
def test_any_other_memory_than_the_sums_can_read_is_refused(z: AnyArray, r: AnyArray) -> None:
    with pytest.raises(TypingError):
        row_sums(z, r, 4, np.empty(8))


def test_borrowed_arrays_are_the_same_memory_and_stay_alive() -> None:
    kept = Record(np.ones((2, 3)), np.zeros((2, 3)), np.zeros((2, 3, 2), np.int32))
    for _ in range(1000):  # a reference given back too often would free the arrays
        assert add_up(kept) == 6.0
    assert kept.distinct_regret[0, 0] == 1000.0


def test_borrowed_arrays_have_no_owner_to_count() -> None:
    kept = Record(np.ones((2, 3)), np.zeros((2, 3)), np.zeros((2, 3, 2), np.int32))
    assert owned(kept) == 3
    assert owned_when_borrowed(kept) == 0

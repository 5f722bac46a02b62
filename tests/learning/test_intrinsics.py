"""What the compiler is told by hand: one rounding, a fixed order of sums, a product by BLAS."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core.errors import TypingError

from duelwise.learning.core.intrinsics import LANES, fused, product, row_sums
from duelwise.randomness import generator
from duelwise.types import AnyArray


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


@given(rows=st.integers(1, 20), d=st.integers(1, 9))
@settings(max_examples=30)
def test_a_product_is_that_of_its_first_rows(rows: int, d: int) -> None:
    rng = generator(rows, "product", d)
    a, b, vector = rng.standard_normal((20, d)), rng.standard_normal((d, d)), rng.standard_normal(d)
    out, values = np.zeros((20, d)), np.zeros(20)
    product(a, rows, b, out)
    product(a, rows, vector, values)
    np.testing.assert_allclose(out[:rows], a[:rows] @ b, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(values[:rows], a[:rows] @ vector, rtol=1e-9, atol=1e-12)
    assert not out[rows:].any()
    assert not values[rows:].any()

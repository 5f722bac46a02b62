"""A state as one pointer: kernels read and write the very arrays, and numbers of every kind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from duelwise.errors import InvalidInput
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.state_pointer import handle
from duelwise.types import Array, IntArray


class Inside(NamedTuple):
    counts: IntArray  # (n,)
    flag: bool
    half: float


class Nothing(NamedTuple):
    pass


class Outside(NamedTuple):
    nothing: Nothing
    inside: Inside
    table: Array  # (n, m)
    number: int


@compiled
def change(state: Outside, r: int) -> float:
    state.inside.counts[r] += state.number
    row = state.table[r]
    for j in range(row.shape[0]):
        row[j] *= state.inside.half
    return state.table[r, 0] + (1.0 if state.inside.flag else 0.0)


@compiled
def total(state: Outside) -> float:
    found = 0.0
    for r in range(state.table.shape[0]):
        found += change(state, r)
    return found


def example(table: Array, *, flag: bool = True) -> Outside:
    return Outside(Nothing(), Inside(np.zeros(len(table), np.int64), flag, 0.5), table, -(2**40))


def test_kernels_move_the_arrays_themselves() -> None:
    state = example(np.ones((3, 4)))
    assert change(handle(state), 1) == 1.5
    np.testing.assert_array_equal(state.table.sum(axis=1), [4.0, 2.0, 4.0])
    np.testing.assert_array_equal(state.inside.counts, [0, -(2**40), 0])


def test_a_kernel_hands_on_what_it_was_given() -> None:
    assert total(handle(example(np.ones((3, 4)), flag=False))) == 1.5


def test_arrays_with_gaps_are_read_where_they_stand() -> None:
    table = np.arange(24.0).reshape(3, 8)[:, ::2]
    assert change(handle(example(table)), 2) == 0.5 * 16.0 + 1.0
    assert table[2, 3] == 11.0


def test_a_handle_keeps_its_state_alive_and_counts_nothing() -> None:
    held = handle(example(np.ones((2, 2))))
    for _ in range(1000):  # a reference given back too often would free the arrays
        change(held, 0)
    assert held.number == -(2**40)
    assert held.inside.counts[0] == -1000 * 2**40


def test_the_plain_tuple_does_too() -> None:
    assert change(example(np.ones((3, 4))), 1) == 1.5


def test_what_no_kernel_can_hold_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Expected arrays, numbers and named tuples"):
        handle(Outside(Nothing(), Inside(np.zeros(1, np.int64), True, 0.5), np.ones((1, 1)), "seven"))  # pyright: ignore[reportArgumentType]

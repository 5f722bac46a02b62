from collections.abc import Callable

import numpy as np
import pytest

from duelwise.errors import InvalidInput
from duelwise.learning.scaling import declared, unlimited
from duelwise.learning.scaling.range_learning import WIDEST, estimated, fences, widened
from duelwise.types import Array


def test_values_are_in_units_of_their_range_and_within_it() -> None:
    ranges = declared({0: (0.0, 100.0)}, runs=1, dim=2)
    values = np.array([[[0.0, -1.0], [50.0, 0.5], [1e6, np.nan], [-1e6, 7.0]]])
    scaled = ranges.scaled(values)
    np.testing.assert_array_equal(scaled[0, :, 0], [-1, 0, 1, -1])
    np.testing.assert_array_equal(scaled[0, :, 1], [-1, 0.5, np.nan, 1])
    np.testing.assert_array_equal(ranges.measured(values)[1][0], [2, 1])
    np.testing.assert_array_equal(ranges.raw(scaled[:, :2]), values[:, :2])


def test_no_range_changes_no_bit() -> None:
    values = np.random.Generator(np.random.PCG64(0)).normal(size=(3, 5, 4)) * 1e200
    np.testing.assert_array_equal(unlimited(runs=3, dim=4).scaled(values), values)


@pytest.mark.parametrize("limits", [{0: (1.0, 1.0)}, {0: (0.0, np.inf)}, {2: (0.0, 1.0)}])
def test_what_is_no_range_is_refused(limits: dict[int, tuple[float, float]]) -> None:
    with pytest.raises(InvalidInput, match="smaller first, for a feature from 0 to 1"):
        declared(limits, runs=1, dim=2)


def _offers(asks: int, candidates: int, draw: Callable[[tuple[int, int]], Array], hostile: int = 0) -> Array:
    """(n, 1, 2, 1) what honest asks offer after some hostile ones."""
    bad = np.tile([-1e6, 1e6], (hostile, 1))
    x = draw((asks - hostile, candidates))
    good = np.stack([x.min(axis=1), x.max(axis=1)], axis=1)
    return np.concatenate([bad, good])[:, None, :, None]


@pytest.mark.parametrize(("asks", "hostile"), [(4, 1), (8, 2), (16, 3), (1024, 255)])
def test_a_quarter_of_the_asks_may_be_hostile_and_first(asks: int, hostile: int) -> None:
    rng = np.random.Generator(np.random.PCG64(asks))
    offers = _offers(asks, 5, lambda size: rng.uniform(20, 30, size), hostile)
    centre, half = fences(offers[:, :, 0], offers[:, :, 1])
    assert 20 < centre[0, 0] < 30
    assert 2 < half[0, 0] < 20


def test_nearly_all_honest_values_lie_inside() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    for candidates in (2, 5, 50):
        offers = _offers(1024, candidates, rng.standard_normal)
        centre, half = fences(offers[:, :, 0], offers[:, :, 1])
        assert np.mean(np.abs(rng.normal(size=10_000) - centre) > half) < 0.01


def test_the_same_items_each_time_span_the_range() -> None:
    offers = np.tile([3.0, 11.0], (40, 1))[:, None, :, None]
    centre, half = fences(offers[:, :, 0], offers[:, :, 1])
    assert (centre.item(), half.item()) == (7.0, 4.0)


def test_features_that_are_nearly_always_the_same() -> None:
    flag = np.zeros((50, 1, 2, 1))
    flag[::10, 0, 1] = 1.0  # set for some candidate of a tenth of the asks
    centre, half = fences(flag[:, :, 0], flag[:, :, 1])
    assert (centre.item(), half.item()) == (0.0, 2.0)
    constant = np.full((50, 1, 2, 1), 0.3)
    centre, half = fences(constant[:, :, 0], constant[:, :, 1])
    assert (centre.item(), half.item()) == (0.3, 1.0)


def test_what_was_never_seen_keeps_its_range() -> None:
    old = declared({}, runs=1, dim=2)
    y = np.full((5, 1, 2, 1), np.nan)
    new = estimated(old, np.array([True, True]), np.tile([2.0, 4.0], (5, 1))[:, None, :, None], y)
    np.testing.assert_array_equal(new.centre, [[3.0, 0.0]])
    np.testing.assert_array_equal(new.half, [[1.0, 1.0]])


def test_a_range_is_widened_slowly_and_not_for_ever() -> None:
    ranges, far = declared({}, runs=1, dim=2), np.tile([-100.0, 100.0], (5, 1))[:, None, :, None]
    learned, nothing = np.array([True, False]), np.empty((0, 1, 2, 1))
    reached = []
    for _ in range(5):
        ranges = widened(ranges, learned, far, nothing)
        reached.append(ranges.reach[0].tolist())
    assert reached == [[2, 1], [4, 1], [WIDEST, 1], [WIDEST, 1], [WIDEST, 1]]
    near = np.tile([-0.1, 0.1], (5, 1))[:, None, :, None]
    np.testing.assert_array_equal(widened(ranges, learned, near, nothing).reach, ranges.reach)

"""What a learner's monitors say, and events gathered for one compiled call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from duelwise.learning.core.monitors import monitors
from duelwise.learning.event_batch import EventBatch, is_single
from duelwise.learning.monitoring import power_law, watched
from duelwise.types import Contexts, Duel, Votes


def test_the_exponent_of_a_power_law() -> None:
    rounds = np.array([10.0, 20.0, 40.0, 80.0])
    assert power_law(rounds, 3.0 * rounds**-0.75) == pytest.approx(0.75)
    assert power_law(rounds[:3], rounds[:3] ** 0.5) == pytest.approx(-0.5)
    assert math.isnan(power_law(rounds[:2], rounds[:2]))
    assert math.isnan(power_law(rounds, np.array([1.0, 1.0, 0.0, 1.0])))


def test_monitors_in_the_theorys_terms() -> None:
    """Windows of 16, 32 and 64 duels are full with the 31st, 63rd and 127th; none in a run without duels."""
    seen = monitors(runs=3)
    seen.duels[:], seen.flat[:] = (127, 126, 0), (25, 63, 0)
    seen.estimate[:], seen.feature[:] = (9.0, 4.0, 0.0), (0.25, 1.0, 0.0)
    for window in (4, 5, 6):
        seen.counted[:2, window] = 2
        seen.error[:2, window] = 2 * (1.5 * 2.0**window) ** -0.5
    told = watched(seen)
    np.testing.assert_allclose(told.flat_share, [25 / 127, 0.5, np.nan])
    np.testing.assert_allclose(told.estimate_norm, [3.0, 2.0, 0.0])
    np.testing.assert_allclose(told.feature_norm, [0.5, 1.0, 0.0])
    np.testing.assert_allclose(told.learning_rate, [0.5, np.nan, np.nan])
    np.testing.assert_allclose(told.served_error, [96**-0.5, 48**-0.5, np.nan])
    seen.counted[0, 6] = 0
    assert watched(seen).served_error[0] == pytest.approx(48**-0.5)


def test_gathered_events_come_out_as_they_went_in() -> None:
    gathered = EventBatch(context_dim=2, post_dim=1, room=8)
    x = np.arange(4.0).reshape(1, 2, 2)
    one, zero = np.array([1]), np.array([0])
    events: list[Any] = [
        Duel(0, np.array([[2, 5]]), x, np.ones((1, 2, 1)), x + 1, 3),
        Duel(1, np.array([[0, 1]]), -x, np.zeros((1, 2, 1)), None, 1),
        Contexts(zero, one, np.array([[[1.0], [2.0]]]), True),
        Votes(zero, one, np.array([0.5])),
        Contexts(zero, zero, np.array([[[3.0], [4.0]]]), False),
        Votes(zero, zero, np.array([1.0])),
    ]
    assert all(map(is_single, events))
    gathered.serve(0, events[0].arms[0], x[0], np.ones((2, 1)), x[0] + 1, 3)
    gathered.serve(1, events[1].arms[0], -x[0], np.zeros((2, 1)), None, 1)
    gathered.observe(1, events[2].y[0], imputed=True)
    gathered.tell(1, 0.5)
    gathered.observe(0, events[4].y[0])
    gathered.tell(0, 1.0)
    at_once = EventBatch.of_events(events, context_dim=2, post_dim=1)
    for held in (gathered, at_once):
        for came, went in zip(held.one_by_one(), events, strict=True):
            assert type(came) is type(went)
            for mine, theirs in zip(came, went, strict=True):
                np.testing.assert_array_equal(mine, theirs)
        assert held.close().counts.tolist() == [6, 2, 2, 2]
    for mine, theirs in zip(gathered.events, at_once.events, strict=True):
        np.testing.assert_array_equal(mine[: len(theirs)], theirs)
    assert not gathered.is_full
    gathered.tell(1, 0.0)
    assert gathered.is_full  # a duel and its context have no room
    gathered.clear()
    nothing = EventBatch.of_events([], context_dim=2, post_dim=1)
    for held in (gathered, nothing):
        assert (len(held), list(held.one_by_one())) == (0, [])
        assert held.close().counts.tolist() == [0, 0, 0, 0]


def test_only_single_events_of_one_run_are_gathered() -> None:
    two = np.array([0, 0])
    assert not is_single(Votes(two, np.array([0, 1]), np.ones(2)))
    assert not is_single(Duel(0, np.zeros((2, 2), np.int64), np.zeros((2, 2, 1)), np.zeros((2, 2, 0))))

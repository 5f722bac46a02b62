"""How long the machine makes a program wait is told from the gaps of a loop."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.pauses import wait


def test_a_moment_waits_for_what_is_left_of_its_gap() -> None:
    # Of 10 s one gap of 0.3 s: 2 % of all moments have 0.1 s or more of it before them, 1 % 0.2 s.
    assert wait([0.3], 10, 0.02) == pytest.approx(0.1)
    assert wait([0.3], 10, 0.01) == pytest.approx(0.2)


def test_it_is_the_quantile_over_moments() -> None:
    rng = np.random.default_rng(0)
    lengths, seconds = rng.exponential(0.01, 200), 60.0
    moments = rng.random(200_000) * seconds
    ends = np.cumsum(lengths)  # put together at the beginning, which changes no moment's wait but its place
    place = np.searchsorted(ends, moments)
    left = np.where(place < len(ends), ends[np.minimum(place, len(ends) - 1)] - moments, 0.0)
    assert wait(lengths.tolist(), seconds, 0.01) == pytest.approx(np.quantile(left, 0.99), rel=0.05)


def test_a_machine_that_never_stops_makes_nobody_wait() -> None:
    assert wait([], 5, 0.01) == 0

"""A worker that ends is started again: soon at first, later and later when it ends at once."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from duelwise.service import workers


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(workers, "time", clock)
    return clock


class Row(workers._Worker):
    """A worker whose processes are made up: dead at once, unless said otherwise."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(lambda *_: None, None, 2)
        self.clock, self.starts, self.lives = clock, list[float](), False
        self.start()

    def start(self) -> None:
        self._process = cast(
            "Any", SimpleNamespace(pid=7, exitcode=-9, sentinel=1, is_alive=lambda: self.lives)
        )
        self._began, self._again_at = self.clock.now, None
        self.starts.append(self.clock.now)


def test_one_that_ends_at_once_is_waited_for_longer_each_time(clock: Clock) -> None:
    """0.1, 0.2, 0.4 … up to 10 seconds, looked at every twentieth of a second."""
    row = Row(clock)
    while len(row.starts) < 11:
        row.look_after()
    waits = [after - before for before, after in zip(row.starts, row.starts[1:], strict=False)]
    assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0, 10.0], abs=0.051)


@pytest.mark.parametrize(("lived", "wait"), [(30.0, 0.4), (30.1, 0.1)])
def test_one_that_lived_is_started_again_soon(clock: Clock, lived: float, wait: float) -> None:
    row = Row(clock)
    while len(row.starts) < 3:
        row.look_after()
    row.lives = True
    clock.now += lived
    row.look_after()
    assert len(row.starts) == 3
    row.lives = False
    ended = clock.now
    while len(row.starts) < 4:
        row.look_after()
    assert row.starts[-1] - ended == pytest.approx(wait, abs=0.051)


def test_the_log_says_who_ended_and_why(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    Row(clock).look_after()
    (said,) = caplog.messages
    assert said == "worker 2 (process 7) ended with signal SIGKILL; another is started in 0.1 s"
    assert workers._cause(0) == "exit code 0"
    assert workers._cause(None) == "exit code None"

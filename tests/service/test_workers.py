"""A worker that ends is started again: soon at first, later and later when it ends at once."""

from __future__ import annotations

import logging
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from duelwise.errors import DuelwiseError, StorageFailure
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


@pytest.mark.parametrize("error", [StorageFailure("no server"), ZeroDivisionError("no server")])
def test_one_that_cannot_begin_says_why_in_its_log(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And no traceback beside it, which would be no line of JSON."""
    parent = SimpleNamespace(join=threading.Event().wait)
    monkeypatch.setattr(workers.multiprocessing, "parent_process", lambda: parent)

    def work(arguments: object, number: int) -> None:
        raise error

    with pytest.raises(SystemExit, match="1"):
        workers._until_orphaned(work, None, 2)
    (said,) = caplog.records
    assert said.getMessage() == "worker 2 failed: no server"
    assert bool(said.exc_info) is not isinstance(error, DuelwiseError)

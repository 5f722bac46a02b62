"""How far a long fold has come."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from duelwise.stream import progress
from duelwise.stream.events import Rebuilt, Recorded
from duelwise.stream.progress import Progress, counted

EVENTS = [Recorded(seq, 0.0, Rebuilt(0)) for seq in range(1, 4001)]


def test_the_share_is_told_every_thousand_events() -> None:
    seen, shares = Progress(), list[float]()
    with seen.shown():
        for recorded in counted(EVENTS, upto=4000):
            if recorded.seq in (1000, 1001, 2001, 4000):
                shares.append(seen.share)
    assert shares == [0.0, 0.25, 0.5, 0.75]
    assert seen.share == 1.0
    list(counted(EVENTS[:2000], upto=2000))  # nobody looks
    assert seen.share == 1.0


def test_a_fold_that_takes_long_says_so_every_five_seconds(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now))
    caplog.set_level(logging.INFO)
    for recorded in counted(EVENTS, upto=4000):
        now = {1000: 5.0, 2000: 5.1, 3000: 10.1, 4000: 10.2}.get(recorded.seq, now)
    assert caplog.messages == ["folded 2000 of 4000 events", "folded 4000 of 4000 events"]

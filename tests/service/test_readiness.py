"""When the service is ready, and what it says while it is not."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import cast

import pytest

from duelwise.errors import Compiling
from duelwise.service import readiness
from duelwise.service.problems import problem, respond
from duelwise.service.readiness import Readiness
from duelwise.storage import Store


def store(*settings: str) -> Store:
    rows = [SimpleNamespace(settings=text) for text in settings]
    return cast("Store", SimpleNamespace(streams=lambda: rows, count=lambda: len(rows)))


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Nothing is compiled or kept for ever, and a look at the clock takes a second and a half."""
    looks = iter([100.0, 101.5])
    monkeypatch.setattr(readiness, "time", SimpleNamespace(perf_counter=lambda: next(looks)))
    monkeypatch.setattr(readiness, "gc", SimpleNamespace(collect=int, freeze=int))
    monkeypatch.setattr(readiness, "warm_once", str)
    monkeypatch.setattr(readiness, "kinds", list)
    caplog.set_level(logging.INFO)
    return caplog


def test_it_says_what_it_compiles_and_how_long_that_took(said: pytest.LogCaptureFixture) -> None:
    ready = Readiness(store('{"context_dim": 2}', "nonsense"))
    with pytest.raises(Compiling, match="still being compiled"):
        asyncio.run(ready.check())
    ready._compile()
    ready.close()
    assert [record.getMessage() for record in said.records] == [
        "compiling the learner, kind 1 of 2",
        "compiling the learner, kind 2 of 2",
        "a stream cannot be made of its settings: nonsense",
        "ready: the learner was compiled in 1.5 s",
    ]


def test_until_it_is_compiled_the_problem_says_so() -> None:
    ready = Readiness(store())
    with pytest.raises(Compiling) as found:
        asyncio.run(ready.check())
    ready.close()
    said = problem(found.value)
    assert (said["status"], said["title"]) == (503, "The learner is being compiled")
    assert respond(found.value).further == {"retry-after": "1"}


def test_once_compiled_it_counts_the_streams(said: pytest.LogCaptureFixture) -> None:
    ready = Readiness(store('{"context_dim": 2}', '{"context_dim": 3}'))
    ready._compile()
    assert asyncio.run(ready.check()) == 2
    ready.close()

"""What work will take is said near enough, and what cannot fit is refused by the setting that weighs most."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small import PROBLEM

from duelwise.errors import InvalidInput
from duelwise.lab.cells.experiment import Method
from duelwise.lab.cells.problem import Synthetic
from duelwise.lab.sweep.costs import memory
from duelwise.lab.sweep.forecast import Work, duration, forecast, heaviest_setting, refuse_too_large

WORK = Work(problem=PROBLEM, method=Method(name="rcdp-ucb"), runs=10)


def played_in(world: Synthetic) -> Work:
    return replace(WORK, problem=replace(PROBLEM, world=world))


@pytest.mark.parametrize(
    ("work", "name"),
    [
        (replace(WORK, runs=10**8), "runs"),
        (replace(WORK, problem=replace(PROBLEM, horizon=10**9)), "horizon"),
        (played_in(Synthetic(context_dim=200_000)), "context_dim (--dim)"),
        (played_in(Synthetic(arms=10**7)), "arms"),
    ],
)
def test_the_setting_that_weighs_most_is_named(work: Work, name: str) -> None:
    assert heaviest_setting(work)[0] == name
    with pytest.raises(InvalidInput, match="lower " + name.replace("(", r"\(").replace(")", r"\)")):
        refuse_too_large([WORK, work], free=8e9)


def test_what_fits_is_not_refused() -> None:
    refuse_too_large([WORK] * 50, workers=4, free=8e9)
    refuse_too_large([WORK], free=0)  # small work is let through whatever the system says


@pytest.mark.parametrize("horizon", [40, 5000])
def test_the_exact_estimate_keeps_its_votes(horizon: int) -> None:
    """Of every round two rows of z, outcome and weight, and one matrix; in numbers of eight bytes."""
    problem, d = replace(PROBLEM, horizon=horizon), 3
    exact, bounded = (Method(name="rcdp-ucb", estimate=name) for name in ("full-mle", "one-pass"))
    assert memory(problem, exact, 10) - memory(problem, bounded, 10) == 8 * 10 * (
        2 * horizon * (d + 2) + d**2
    )
    assert memory(problem, Method(name="rcdp-ucb"), 10) == memory(problem, exact, 10)  # its own estimate


def test_workers_share_the_time_and_add_memory() -> None:
    alone, together = forecast([WORK] * 4), forecast([WORK] * 4, workers=2)
    assert together.seconds == pytest.approx(alone.seconds / 2)
    assert together.memory == pytest.approx(2 * alone.memory)
    assert together.curves == 4


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (59, "59 s"),
        (89, "89 s"),
        (90, "2 min"),
        (600, "10 min"),
        (5399, "90 min"),
        (5400, "1.5 h"),
        (7200, "2.0 h"),
        (48 * 3600 - 1, "48.0 h"),
        (48 * 3600, "2 days"),
        (1e6, "12 days"),
    ],
)
def test_durations_are_said_as_a_person_would(seconds: float, words: str) -> None:
    assert duration(seconds) == words

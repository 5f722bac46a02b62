"""What work will take is said near enough, and what cannot fit is refused by the setting that weighs most."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small import PROBLEM

from duelwise.errors import InvalidInput
from duelwise.lab.cells.experiment import Cell, Method
from duelwise.lab.cells.problem import Problem, Synthetic
from duelwise.lab.sweep.forecast import Forecast, Work, duration, forecast, heaviest_setting, refuse_too_large

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
    most, less, own = (
        Work(problem=problem, method=method, runs=10).memory()
        for method in (exact, bounded, Method(name="rcdp-ucb"))
    )
    assert most - less == 8 * 10 * (2 * horizon * (d + 2) + d**2)
    assert own == most


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


LATER = replace(PROBLEM, world=Synthetic(context_dim=3, arms=4, mapping="abs"))  # three more after serving
BLOCKS, LATER_BLOCKS = 4 * 256 * 4 * (3 + 3), 4 * 256 * 4 * (3 + 3 + 3)  # of x, y and three numbers
LEARNS = {name: Method(name="rcdb", post_serving=name) for name in ("spline", "mlp", "mlp-replay")}


@pytest.mark.parametrize(
    ("problem", "method", "numbers"),
    [
        (PROBLEM, Method(name="rcdb"), BLOCKS + 5 * 40 + 5 * 3**2 + 2 * (40 + 256) * (3 + 3)),
        (LATER, Method(name="rcdb"), LATER_BLOCKS + 5 * 40 + 5 * 3**2 + 2 * (40 + 256) * (3 + 3)),
        (
            replace(LATER, horizon=5000), Method(name="rcdb"),
            LATER_BLOCKS + 5 * 5000 + 5 * 3**2 + 2 * 1024 * (3 + 3),  # no more votes wait than there is room
        ),
        (
            LATER, LEARNS["spline"],
            LATER_BLOCKS + 5 * 40 + 5 * 6**2 + 2 * (40 + 256) * (6 + 3) + 2 * 39**2 + 39 * 3,
        ),
        (
            LATER, LEARNS["mlp"],
            LATER_BLOCKS + 5 * 40 + 5 * 6**2 + 2 * (40 + 256) * (6 + 3) + 6 * 40 * (3 + 3 + 128),
        ),
    ],
    ids=["before serving", "not learning", "long", "spline", "network"],
)  # fmt: skip
def test_memory_is_counted_part_by_part(problem: Problem, method: Method, numbers: int) -> None:
    """Rounds, trajectory, geometries, votes on their way and φ̂, in numbers of eight bytes for each run."""
    assert Work(problem=problem, method=method, runs=2).memory() == 8 * 2 * numbers


@pytest.mark.parametrize(
    ("problem", "method", "microseconds"),
    [
        (PROBLEM, Method(name="rcdb"), 3.0 + 0.045 * 12 + 0.008 * 9),
        (PROBLEM, Method(name="vacdb"), 3.0 + 0.045 * 12 + 0.008 * 9 + 400),
        (PROBLEM, Method(name="rcdp-ucb"), 3.0 + 0.045 * 12 + 0.008 * 9 + 0.00025 * 3 * 40),
        (LATER, LEARNS["spline"], 3.0 + 0.045 * 24 + 0.008 * 36 + 0.0012 * 39**2),
        (LATER, LEARNS["mlp"], 3.0 + 0.045 * 24 + 0.008 * 36 + 1.2 * 40),
        (LATER, LEARNS["mlp-replay"], 3.0 + 0.045 * 24 + 0.008 * 36 + 400),
    ],
    ids=["plain", "in Python", "exact", "spline", "network", "replay"],
)
def test_time_is_counted_part_by_part(problem: Problem, method: Method, microseconds: float) -> None:
    """Choosing, the geometry, the estimate and φ̂, for each round of each run."""
    taken = Work(problem=problem, method=method, runs=10).seconds()
    assert taken == pytest.approx(1e-6 * microseconds * 40 * 10)
    cell = Cell(problem=problem, method=method, runs=(4, 7))
    assert Work.of(cell).seconds() == pytest.approx(1e-6 * microseconds * 40 * 2)


@pytest.mark.parametrize(
    ("memory", "words"),
    [(1e8, "under 0.1 GB of memory"), (1.01e8, "up to 0.1 GB of memory"), (2.34e9, "up to 2.3 GB of memory")],
)
def test_a_forecast_in_words(memory: float, words: str) -> None:
    assert str(Forecast(curves=3, seconds=600, memory=memory)) == f"3 curves, about 10 min, {words}"


def test_a_refusal_says_what_is_needed_and_what_is_free() -> None:
    large = replace(WORK, problem=replace(PROBLEM, horizon=10**9))
    assert WORK.memory() < 1e7 < large.memory()
    gigabytes = f"{2 * large.memory() / 1e9:,.0f}"
    told = rf"^horizon is 1,000,000,000: .* about {gigabytes} GB of memory, and 8\.5 GB are free"
    with pytest.raises(InvalidInput, match=told):
        refuse_too_large([large] * 3, workers=2, free=8.5e9)


def test_fewer_curves_than_workers_keep_only_so_many_at_work() -> None:
    alone, crowded, nothing = (forecast([WORK] * count, workers=4) for count in (1, 2, 0))
    assert alone.seconds == pytest.approx(WORK.seconds())
    assert crowded.seconds == pytest.approx(WORK.seconds())
    assert crowded.memory == 2 * WORK.memory()
    assert (nothing.seconds, nothing.memory) == (0.0, 0.0)

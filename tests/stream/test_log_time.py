"""A clock that jumps closes nothing; a server that was off closes what is due."""

import pytest
from living import SETTINGS, Clock, candidates, vote
from numpy.random import Generator

from duelwise.storage import Store
from duelwise.stream import DecisionStream
from duelwise.stream.log_time import DAY, HOUR, LogTime

FORTY_DAYS = 40 * DAY


def test_a_moment_in_the_future_closes_nothing(stream: DecisionStream, clock: Clock, rng: Generator) -> None:
    tickets = [stream.ask(candidates(rng)).ticket for _ in range(5)]
    clock.now += FORTY_DAYS
    assert stream.expire() == 0
    vote(stream, rng)
    stream.tell(tickets[0], "left")
    assert stream.report().clock_jump_seconds == FORTY_DAYS
    clock.now += HOUR / 2
    vote(stream, rng)
    clock.now -= FORTY_DAYS
    vote(stream, rng)
    clock.now += HOUR
    vote(stream, rng)
    assert stream.expire() == 0
    assert stream.counts()["expired"] == 0
    assert stream.report().clock_jump_seconds == 0


def test_a_server_that_was_off_closes_what_is_due_within_hours(
    store: Store, clock: Clock, rng: Generator
) -> None:
    with DecisionStream.create(store, "meals", SETTINGS, clock=clock) as stream:
        for _ in range(5):
            stream.ask(candidates(rng))
    clock.now += FORTY_DAYS
    with DecisionStream.open(store, "meals", clock=clock) as stream:
        new = stream.ask(candidates(rng)).ticket
        clock.now += HOUR + 1
        vote(stream, rng)
        stream.ask(candidates(rng))
        assert stream.expire() == 5
        assert stream.ticket(new).state == "asked"


def test_an_operator_confirms_the_clock(store: Store, clock: Clock, rng: Generator) -> None:
    with DecisionStream.create(store, "meals", SETTINGS, clock=clock) as stream:
        late = stream.ask(candidates(rng)).ticket
        clock.now += FORTY_DAYS
        assert stream.expire() == 0
        assert stream.expire(confirm_clock=True) == 1
        assert stream.ticket(late).state == "expired"
        state = stream.snapshot_state()
    with DecisionStream.open(store, "meals", clock=clock) as again:
        assert again.snapshot_state() == state


@pytest.mark.parametrize(
    ("times", "believed"),
    [
        ([0, 100, 50], 100),  # a little back
        ([0, FORTY_DAYS], 0),
        ([0, FORTY_DAYS, FORTY_DAYS + HOUR - 1], 0),
        ([0, FORTY_DAYS, FORTY_DAYS + HOUR], FORTY_DAYS + HOUR),
        ([0, FORTY_DAYS, 10, FORTY_DAYS + HOUR], 10),  # another server has another clock
        ([0, FORTY_DAYS, 2 * FORTY_DAYS, 2 * FORTY_DAYS + HOUR], 2 * FORTY_DAYS + HOUR),
        ([FORTY_DAYS, 0, HOUR], HOUR),  # a clock that was wrong from the start is set right
        ([0, DAY, 2 * DAY, 3 * DAY], 3 * DAY),
    ],
)
def test_what_is_believed(times: list[float], believed: float) -> None:
    time = LogTime()
    for at in times:
        time.take(at)
    assert time.believed == believed


def test_no_clock_runs_ahead_of_the_log_by_more_than_a_day() -> None:
    time = LogTime()
    assert time.now(5.0) == 5.0
    time.take(5.0)
    assert time.now(5.0 + DAY) == 5.0 + DAY
    assert time.now(6.0 + DAY) == 5.0
    assert time.now(-FORTY_DAYS) == -FORTY_DAYS

"""Where cores are short, a group on PostgreSQL waits for those who were just answered, and nowhere else."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import cast

import pytest

from duelwise.service import postgres_writer
from duelwise.service.cores import LOOK_SECONDS, Cores
from duelwise.service.group_writer import Outcomes, StreamQueue
from duelwise.service.postgres_writer import NOT_PAUSING, PostgresWriter
from duelwise.storage import Store
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.operations import Operation, Retract


class Timer:
    def __init__(self, due: float, call: Callable[[], object]) -> None:
        self.due, self.call, self.cancelled = due, call, False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """An event loop whose clock a test sets."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_soon(self, call: Callable[..., object], *given: object) -> Timer:
        return self.call_later(0.0, call, *given)

    def call_later(self, seconds: float, call: Callable[..., object], *given: object) -> Timer:
        self.timers.append(Timer(self.now + seconds, lambda: call(*given)))
        return self.timers[-1]

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        while due := [one for one in self.timers if one.due <= self.now]:
            self.timers = [one for one in self.timers if one not in due]
            for one in due:
                if not one.cancelled:
                    one.call()


class Turn:
    """A transaction that is durable when the test says so."""

    asks, connection = False, None

    def __init__(self, operations: list[Operation]) -> None:
        self.operations = operations

    def decide(self) -> None: ...

    def finish(self) -> list[Outcomes]:
        return [cast("Outcomes", self.operations)]


class Machine(Cores):
    """Cores that are short if the test says so."""

    short = True

    def are_short(self, now: float) -> bool:
        return self.short


class Server:
    """A writer with one stream, and the transactions it makes."""

    def __init__(self, loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loop, self.sizes = loop, list[int]()
        self._then: postgres_writer.Then | None = None
        monkeypatch.setattr(postgres_writer, "begin_postgres_turn", self._post)
        monkeypatch.setattr(postgres_writer, "wait_for", self._wait_for)
        monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
        self.machine = Machine()
        writer = PostgresWriter(
            cast("Store", None),
            cast("Executor", None),
            lambda _: None,
            cores=self.machine,
            clock=loop.time,
        )
        stream = type("Stream", (), {"name": "fake", "settings": StreamSettings(context_dim=1)})()
        self._queue = StreamQueue(cast("DecisionStream", stream), writer, limit=5000)

    def _post(self, store: Store, groups: list[tuple[DecisionStream, list[Operation]]]) -> Turn:
        ((_, operations),) = groups
        self.sizes.append(len(operations))
        return Turn(operations)

    def _wait_for(self, connection: object, loop: object, then: postgres_writer.Then) -> None:
        self._then = then

    def come(self, count: int) -> None:
        for _ in range(count):
            self._queue.submit([Retract("1-a")], lambda _: None)
        self.loop.pass_time(0.0)

    def commit(self) -> None:
        """What was begun is durable."""
        then, self._then = self._then, None
        assert then is not None
        then(None)
        self.loop.pass_time(0.0)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(Loop(), monkeypatch)


def busy(server: Server) -> None:
    """Three are in a transaction of three milliseconds, two came meanwhile."""
    server.come(3)
    server.come(2)
    server.loop.pass_time(0.003)
    server.commit()


def test_the_next_group_begins_when_as_many_have_come_as_were_answered(server: Server) -> None:
    busy(server)
    server.come(2)
    assert server.sizes == [3]
    server.come(1)
    assert server.sizes == [3, 5]
    server.loop.pass_time(1.0)  # the pause that was cut short begins nothing
    assert server.sizes == [3, 5]


def test_a_pause_lasts_half_as_long_as_a_transaction_rounded_up_and_is_not_tried_again_soon(
    server: Server,
) -> None:
    busy(server)
    server.loop.pass_time(0.0019)
    assert server.sizes == [3]
    server.loop.pass_time(0.0002)
    assert server.sizes == [3, 2]
    for _ in range(NOT_PAUSING):
        server.come(1)
        server.loop.pass_time(0.003)
        server.commit()
    assert server.sizes == [3, 2, *[1] * NOT_PAUSING]
    server.come(1)
    server.loop.pass_time(0.003)
    server.commit()
    assert len(server.sizes) == NOT_PAUSING + 2  # now it is
    server.loop.pass_time(0.002)
    assert len(server.sizes) == NOT_PAUSING + 3


def test_a_transaction_too_short_to_halve_has_no_pause_and_forbids_none(server: Server) -> None:
    server.come(3)
    server.come(2)
    server.loop.pass_time(0.0019)  # half of it is less than an event loop's clock can tell
    server.commit()
    assert server.sizes == [3, 2]
    server.come(1)
    server.loop.pass_time(0.003)
    server.commit()
    assert server.sizes == [3, 2]  # now there is one


def test_a_group_that_is_full_already_waits_for_nobody(server: Server) -> None:
    server.come(3)
    server.come(1000)
    server.loop.pass_time(0.003)
    server.commit()
    assert server.sizes == [3, 512]


def test_nobody_waits_where_cores_are_free_or_nothing_else_is_there(server: Server) -> None:
    server.machine.short = False
    busy(server)
    assert server.sizes == [3, 2]
    server.machine.short = True
    server.commit()
    server.come(1)  # an idle writer begins at once
    assert server.sizes == [3, 2, 1]


def test_a_thread_that_waits_for_a_fifth_of_its_time_is_short_of_cores(tmp_path: Path) -> None:
    told = tmp_path / "schedstat"
    cores = Cores(told)
    told.write_text("1000 100 7\n")
    assert not cores.are_short(1.0)
    told.write_text("1700 500 9\n")
    assert not cores.are_short(1.0 + LOOK_SECONDS / 2)  # not yet looked at again
    assert cores.are_short(2.0)  # 400 of 1100
    told.write_text("2600 600 12\n")
    assert not cores.are_short(3.0)


def test_a_machine_that_does_not_tell_is_never_short(tmp_path: Path) -> None:
    assert not Cores(tmp_path / "none").are_short(1.0)
    (tmp_path / "odd").write_text("")
    assert not Cores(tmp_path / "odd").are_short(1.0)

"""Nothing acknowledged is lost: killed processes, several processes, a full disk."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from living import SETTINGS, Clock, candidates, live, vote
from numpy.random import Generator

from duelwise.errors import StorageFailure
from duelwise.storage import Store, open_store
from duelwise.stream import DecisionStream
from duelwise.stream.folding import fold
from duelwise.stream.logs import StoredLog
from duelwise.stream.repair import verify
from duelwise.stream.transfer import export_lines, read_lines
from full_disk import Disk

WORKER = Path(__file__).with_name("worker.py")


@contextmanager
def _worker(url: str, seed: int) -> Iterator[subprocess.Popen[str]]:
    """A process that serves the stream from four threads and prints what was acknowledged."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(WORKER), url, str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as worker:
        try:
            yield worker
        finally:
            worker.kill()


def _check(store: Store, acknowledged: set[str]) -> None:
    """Every acknowledged line is in the log once, and all ways to fold it agree."""
    assert verify(store, "meals") == ()
    with DecisionStream.open(store, "meals") as stream:
        stream.wait_for_background()
        state = stream.snapshot_state()
        log = StoredLog(store, 1)
        assert fold(stream.settings, log, upto=stream.model_version).snapshot().payload == state
        assert read_lines(export_lines(store, "meals")).fold().snapshot().payload == state
        found = [f"{row.kind} {row.round}" for row in store.events(1, after=0, upto=stream.model_version)]
    once = [line for line in found if line.split()[0] in ("asked", "observed", "told")]
    assert len(once) == len(set(once))
    assert acknowledged <= set(once)


def _kill_again_and_again(url: str, times: int) -> None:
    moments = random.Random(5)
    store = open_store(url)
    DecisionStream.create(store, "meals", SETTINGS).close()
    acknowledged: set[str] = set()
    for seed in range(times):
        with _worker(url, seed) as worker:
            assert worker.stdout is not None
            lines = [worker.stdout.readline() for _ in range(moments.randint(5, 80))]
            time.sleep(moments.uniform(0, 0.02))
            worker.send_signal(signal.SIGKILL)
            lines += worker.stdout.read().splitlines(keepends=True)
        acknowledged |= {line.strip() for line in lines if line.endswith("\n")}
        _check(store, acknowledged)
    store.close()


@pytest.mark.long
def test_kills_lose_nothing_on_sqlite(tmp_path: Path) -> None:
    _kill_again_and_again(f"sqlite:///{tmp_path}/duels.db", 10)


@pytest.mark.long
def test_kills_lose_nothing_on_postgresql(postgresql_url: str) -> None:
    _kill_again_and_again(postgresql_url, 10)


def _spread(url: str) -> None:
    store = open_store(url)
    DecisionStream.create(store, "meals", SETTINGS).close()
    with _worker(url, 1) as one, _worker(url, 2) as two:
        outputs = [[worker.stdout.readline() for _ in range(80)] for worker in (one, two) if worker.stdout]
        for worker in (one, two):
            worker.send_signal(signal.SIGTERM)
        for worker, output in zip((one, two), outputs, strict=True):
            output += worker.communicate()[0].splitlines(keepends=True)
    states = {output.pop() for output in outputs}
    assert len(states) == 1  # both printed the same state at the same event
    acknowledged = [line.strip() for output in outputs for line in output]
    assert len(acknowledged) == len(set(acknowledged)) >= 160
    _check(store, set(acknowledged))
    store.close()


@pytest.mark.long
def test_two_processes_share_one_order_on_sqlite(tmp_path: Path) -> None:
    _spread(f"sqlite:///{tmp_path}/duels.db")


@pytest.mark.long
def test_two_processes_share_one_order_on_postgresql(postgresql_url: str) -> None:
    _spread(postgresql_url)


@pytest.mark.long
def test_a_stream_lives_on_postgresql(postgresql_url: str, rng: Generator) -> None:
    one = DecisionStream.create(postgresql_url, "meals", SETTINGS)
    two = DecisionStream.open(postgresql_url, "meals")
    live(one, rng, 60)
    lie = vote(two, rng)
    two.retract(lie)
    two.wait_for_background()
    live(one, rng, 20)
    assert one.expire(older_than=0) > 0
    state = one.snapshot_state()
    assert two.snapshot_state() == state
    one.close()
    two.close()
    with DecisionStream.open(postgresql_url, "meals") as again:
        assert again.snapshot_state() == state
        assert again.ticket(lie).state == "retracted"


def test_a_full_disk_gives_errors_and_loses_nothing(tmp_path: Path, rng: Generator) -> None:
    disk = Disk(f"sqlite:///{tmp_path}/duels.db")
    store = Store(disk.engine)
    stream = DecisionStream.create(store, "meals", SETTINGS)
    disk.leave(6)
    acknowledged: list[str] = []

    def fill() -> None:
        while len(acknowledged) < 200:
            acknowledged.append(vote(stream, rng))

    with pytest.raises(StorageFailure, match=r"disk is full.*send it again"):
        fill()
    stream.report()  # looking is no problem
    with pytest.raises(StorageFailure):
        fill()
    disk.clear()
    acknowledged += [vote(stream, rng) for _ in range(3)]
    assert {stream.ticket(ticket).state for ticket in acknowledged} == {"told"}
    assert stream.counts()["told"] in (len(acknowledged), len(acknowledged) + 1)
    _check(store, {f"told {ticket.split('-')[0]}" for ticket in acknowledged})
    stream.close()
    store.close()


def test_a_failing_database_changes_nothing_in_memory(
    stream: DecisionStream, store: Store, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    vote(stream, rng)
    before = stream.snapshot_state()
    monkeypatch.setattr("duelwise.storage.writer.Writer.commit", _fail)
    with pytest.raises(StorageFailure):
        stream.ask(candidates(rng))
    monkeypatch.undo()
    assert stream.snapshot_state() == before
    vote(stream, rng)
    _check(store, set())


def test_a_failing_database_leaves_no_snapshot_of_what_it_never_took(
    store: Store, clock: Clock, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DecisionStream.create(store, "meals", SETTINGS, clock=clock) as stream:
        vote(stream, rng)
        before = stream.snapshot_state()
        with monkeypatch.context() as patched:
            patched.setattr("duelwise.storage.writer.Writer.commit", _fail)
            with pytest.raises(StorageFailure):
                stream.ask(candidates(rng))
    with DecisionStream.open(store, "meals", clock=clock) as again:
        assert again.snapshot_state() == before
        vote(again, rng)
        _check(store, set())


def _fail(_: object) -> bool:
    raise StorageFailure("no")


def test_an_interruption_between_commit_and_fold_is_made_good(
    stream: DecisionStream, store: Store, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    vote(stream, rng)
    duel = stream.ask(candidates(rng))
    interrupted = lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)  # noqa: E731
    monkeypatch.setattr("duelwise.stream.stream_state.StreamState._hear", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stream.tell(duel.ticket, "left")
    monkeypatch.undo()
    vote(stream, rng)
    assert stream.counts() == stream.counts() | {"told": 2, "voted": 1, "asked": 0}
    _check(store, set())


def test_a_snapshot_that_cannot_be_written_is_a_problem_not_a_failure(
    stream: DecisionStream, store: Store, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duelwise.stream.replica.SNAPSHOT_EVERY", 3)
    monkeypatch.setattr(store, "add_snapshot", lambda *_, **__: _fail(None))
    vote(stream, rng)
    stream.wait_for_background()
    assert stream.report().problem == "StorageFailure: no"
    monkeypatch.undo()
    assert np.any(stream._replica.folded.learner.theta)

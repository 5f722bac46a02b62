"""The runner: only what is missing, the same numbers whatever the workers, nothing lost to a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from small import PROBLEM, cells, shrunk

from duelwise.errors import DuelwiseError, InvalidInput
from duelwise.lab.cells.experiment import Cell, Method
from duelwise.lab.cells.playing import Curve, play_cell
from duelwise.lab.paper.conduct import Meter, conduct
from duelwise.lab.paper.protocols import FairProtocol, PaperProtocol
from duelwise.lab.paper.records import path_of, read_record
from duelwise.lab.paper.study import Study
from duelwise.lab.sweep import runner as runner_module
from duelwise.lab.sweep.forecast import Work
from duelwise.lab.sweep.keys import key
from duelwise.lab.sweep.runner import Runner
from duelwise.lab.sweep.store import CurveStore
from duelwise.lab.worlds.labelled import Spreadsheet


def same(one: CurveStore, other: CurveStore, wanted: list[Cell]) -> None:
    """Float for float."""
    for cell in wanted:
        for name in ("regret", "distinct_regret", "self_duels", "told"):
            np.testing.assert_array_equal(getattr(one.read(cell), name), getattr(other.read(cell), name))


def test_only_what_is_missing_is_played(tmp_path: Path) -> None:
    runner, wanted = Runner(store=CurveStore(tmp_path), jobs=1), cells()
    heard: list[Cell] = []
    first = runner.run(wanted[:2], progress=heard.append)
    assert (first.computed, first.reused) == (2, 0)
    second = runner.run(wanted + wanted, progress=heard.append)
    assert (second.computed, second.reused) == (2, 2)
    assert sorted(map(key, heard)) == sorted(map(key, wanted))


def test_numbers_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    wanted = cells(("rcdp-ucb", "colstim"))
    for jobs in (1, 2):
        Runner(store=CurveStore(tmp_path / str(jobs)), jobs=jobs).run(wanted)
    same(CurveStore(tmp_path / "1"), CurveStore(tmp_path / "2"), wanted)


def test_the_longest_come_first(tmp_path: Path) -> None:
    short = cells(seeds=(0,))
    long = [replace(cell, problem=replace(PROBLEM, horizon=4000)) for cell in short]
    assert Runner(store=CurveStore(tmp_path)).missing(short + long)[:2] == long


def test_a_worker_with_other_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        runner_module, "_play", lambda cell, parent, monitors: (play_cell(cell), {"code": "other"})
    )
    with pytest.raises(DuelwiseError, match="same code and versions everywhere"):
        Runner(store=CurveStore(tmp_path), jobs=1).run(cells()[:1])
    assert Runner(store=CurveStore(tmp_path)).missing(cells()[:1]) == cells()[:1]


def test_data_that_changes_while_it_is_played_is_not_kept_as_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "meals.csv"
    table.write_text("price,stars\n1,2\n3,4\n5,6\n")
    world = Spreadsheet(path=str(table), before=("price",), after=(), utility="stars", arms=2)
    cell = replace(cells()[0], problem=replace(PROBLEM, world=world))

    def edited_meanwhile(cell: Cell, *, monitors: bool) -> Curve:
        curve = play_cell(cell, monitors=monitors)
        table.write_text("price,stars\n1,6\n3,4\n5,2\n")
        return curve

    monkeypatch.setattr(runner_module, "play_cell", edited_meanwhile)
    runner = Runner(store=CurveStore(tmp_path), jobs=1)
    with pytest.raises(DuelwiseError, match="changed the data meanwhile"):
        runner.run([cell])
    assert runner.missing([cell]) == [cell]


def test_a_scheduler_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(address: str) -> None:
        raise OSError("timed out")

    monkeypatch.setattr("distributed.Client", refuse)
    with pytest.raises(DuelwiseError, match="No Dask scheduler answers at 'tcp://nowhere:1': timed out"):
        Runner(store=CurveStore(tmp_path), cluster="tcp://nowhere:1").run(cells()[:1])


def test_no_workers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="jobs is 0"):
        Runner(store=CurveStore(tmp_path), jobs=0)


def test_a_study_leaves_a_record_that_grows(tmp_path: Path) -> None:
    runner, protocol = Runner(store=CurveStore(tmp_path), jobs=1), PaperProtocol()
    meters: list[tuple[int, int, int]] = []

    def hear(meter: Meter) -> None:
        meters.append((meter.cells, meter.cells_expected, meter.kept))

    for number in ("1", "E.2"):
        study = Study(figures=(shrunk(number, horizon=10),), protocol=protocol, runs=2)
        record = conduct(study, runner, hear=hear)
    assert record.figures == ("1", "E.2")
    assert [(session.computed, session.reused) for session in record.sessions] == [(10, 0), (20, 10)]
    assert read_record(path_of(tmp_path, "paper-spline-2")) == record
    assert meters[-1] == (20, 20, 10)


def test_a_session_takes_no_longer_than_the_clock_says(tmp_path: Path) -> None:
    study = Study(figures=(shrunk("1", horizon=10),), protocol=PaperProtocol(), runs=2)
    begun = time.perf_counter()
    record = conduct(study, Runner(store=CurveStore(tmp_path), jobs=1))
    assert 0 < record.sessions[0].seconds <= time.perf_counter() - begun


def test_a_meter_counts_what_is_played_and_what_follows() -> None:
    heard: list[tuple[int, int, int]] = []
    meter = Meter(lambda now: heard.append((now.cells, now.cells_expected, now.kept)))
    trials = cells()
    later = [Work(problem=PROBLEM, method=Method(name="rcdb"), runs=3)] * 5
    meter.expect(trials, later=later, kept=2)
    ahead = meter.expected
    for cell in trials:
        meter.add(cell)
    assert heard == [(0, 9, 2), (1, 9, 2), (2, 9, 2), (3, 9, 2), (4, 9, 2)]
    assert ahead - meter.done == pytest.approx(5 * later[0].seconds())
    meter.expect(trials[:1])
    assert heard[-1] == (4, 5, 2)
    assert meter.expected == pytest.approx(meter.done + Work.of(trials[0]).seconds())


def test_the_fair_search_is_recorded_and_its_best_is_used(tmp_path: Path) -> None:
    protocol = FairProtocol(widths=(0.1, 1.0), held_out=(1000, 1001), search_horizon=20)
    figure = replace(shrunk("1", horizon=20), panels=shrunk("1", horizon=20).panels[:1])
    store = CurveStore(tmp_path)
    record = conduct(Study(figures=(figure,), protocol=protocol, runs=2), Runner(store=store, jobs=1))
    assert len(record.tried) == 2 * (2 * 6 + 3 * 2)
    for entry in record.entries:
        tried = [t for t in record.tried if (t.variant, t.method) == (entry.variant, entry.method)]
        best = min(tried, key=lambda one: one.mean)
        assert best.chosen
        assert store.open(entry.key).cell.method.exploration_width == best.exploration_width


SWEPT = [
    replace(cell, problem=replace(cell.problem, horizon=30_000))
    for cell in cells(("rcdb", "colstim", "max-inp"), seeds=tuple(range(8)))
]
SWEEP = """
import sys
from test_runner import SWEPT
from duelwise.lab.sweep.runner import Runner
from duelwise.lab.sweep.store import CurveStore
if __name__ == "__main__":
    Runner(store=CurveStore(sys.argv[1]), jobs=2).run(SWEPT)
"""


@pytest.mark.long
def test_a_sweep_killed_five_times_ends_with_the_same_numbers(tmp_path: Path) -> None:
    whole, torn = CurveStore(tmp_path / "whole"), CurveStore(tmp_path / "torn")
    Runner(store=whole, jobs=2).run(SWEPT)
    written = sorted(cell.stat().st_mtime for cell in _cells(whole))
    apart = float(np.median(np.diff(written)))  # seconds, on this machine
    waits = np.random.Generator(np.random.PCG64(7)).uniform(0.0, 2 * apart, 5)
    for wait in waits:
        kept = _kept(torn)
        sweep = subprocess.Popen(
            [sys.executable, "-c", SWEEP, str(torn.folder)], cwd=Path(__file__).parent, start_new_session=True
        )
        while _kept(torn) == kept and sweep.poll() is None:  # until it is in the middle of its work
            time.sleep(0.01)
        time.sleep(float(wait))
        os.killpg(sweep.pid, signal.SIGKILL)
        sweep.wait()
    kept = _kept(torn)
    assert 5 <= kept < len(SWEPT)
    tally = Runner(store=torn, jobs=2).run(SWEPT)
    assert (tally.computed, tally.reused) == (len(SWEPT) - kept, kept)
    same(whole, torn, SWEPT)


def _cells(store: CurveStore) -> list[Path]:
    return list(store.folder.glob("cells/[!.]*.parquet"))


def _kept(store: CurveStore) -> int:
    return len(_cells(store))


@pytest.mark.long
def test_workers_do_not_outlive_a_killed_sweep(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SWEEP, str(tmp_path)]
    sweep = psutil.Popen(command, cwd=Path(__file__).parent)
    while _kept(CurveStore(tmp_path)) == 0:
        time.sleep(0.01)
    workers = sweep.children(recursive=True)
    assert workers
    sweep.kill()
    _, alive = psutil.wait_procs([sweep, *workers], timeout=20)
    assert not alive


@pytest.mark.long
def test_a_cluster_that_loses_a_worker_gives_the_same_numbers(tmp_path: Path) -> None:
    from distributed import LocalCluster

    problem = replace(PROBLEM, horizon=1500)
    wanted = [
        Cell(problem=replace(problem, seed=seed), method=Method(name=name), runs=(0, 1))
        for seed in range(8)
        for name in ("rcdp-ucb", "rcdb")
    ]
    alone, shared = CurveStore(tmp_path / "alone"), CurveStore(tmp_path / "cluster")
    Runner(store=alone, jobs=1).run(wanted)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        killed: list[int] = []

        def kill_one(cell: Cell) -> None:
            if not killed:
                pid = next(iter(cluster.workers.values())).pid
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

        tally = Runner(store=shared, cluster=cluster.scheduler_address).run(wanted, progress=kill_one)
    assert killed
    assert tally.computed == len(wanted)
    same(alone, shared, wanted)

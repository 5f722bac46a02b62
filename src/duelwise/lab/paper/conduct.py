"""Playing a study: what is missing is played and kept, and a record says where each curve stands."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from duelwise.lab.cells.experiment import Cell
from duelwise.lab.paper.protocols import Finals, Trial
from duelwise.lab.paper.records import Session, StudyRecord, Tried, machine, write_record
from duelwise.lab.paper.study import Study
from duelwise.lab.play.checks import check_whole
from duelwise.lab.sweep.forecast import Work
from duelwise.lab.sweep.keys import code_digest, key
from duelwise.lab.sweep.runner import Runner, Tally
from duelwise.lab.sweep.store import CurveStore
from duelwise.types import Array


class Meter:
    """How much of the whole job is done, in seconds of work expected."""

    def __init__(self, hear: Callable[[Meter], None] | None = None) -> None:
        self._hear = hear
        self.done = self.expected = 0.0
        self.cells = self.cells_expected = self.kept = 0

    def expect(self, cells: list[Cell], *, later: list[Work] | None = None, kept: int = 0) -> None:
        """These cells are still to be played, then such curves; so many more are kept from before."""
        work = [Work.of(cell) for cell in cells] + (later or [])
        self.kept += kept
        self.expected = self.done + sum(one.seconds() for one in work)
        self.cells_expected = self.cells + len(work)
        self._tell()

    def add(self, cell: Cell) -> None:
        """One more cell is kept."""
        self.done += Work.of(cell).seconds()
        self.cells += 1
        self._tell()

    def _tell(self) -> None:
        if self._hear is not None:
            self._hear(self)


def conduct(study: Study, runner: Runner, *, hear: Callable[[Meter], None] | None = None) -> StudyRecord:
    """Play what is missing of a study and write its record; interrupted, it goes on where it stopped."""
    check_whole("runs", study.runs, least=2)  # a report tells their deviation
    started, clock = datetime.now(UTC), time.perf_counter()
    meter, finals = Meter(hear), _Finals(runner.store)
    trials = study.trials()
    if trials:
        absent = runner.missing(trial.cell for trial in trials)
        kept = len({trial.cell for trial in trials}) - len(absent)
        meter.expect(absent, later=study.outline(), kept=kept)
    tally = runner.run((trial.cell for trial in trials), progress=meter.add)
    plan = study.plan(finals)
    absent = runner.missing(cell for _, cell in plan)
    meter.expect(absent, kept=len({cell for _, cell in plan}) - len(absent))
    tally += runner.run((cell for _, cell in plan), progress=meter.add)
    done = session(runner, tally, started, clock)
    record = StudyRecord(
        protocol=study.protocol.name, post_serving=study.post_serving, runs=study.runs, code=code_digest(),
        entries=tuple(entry for entry, _ in plan), tried=_judged(trials, finals), sessions=(done,),
    )  # fmt: skip
    return write_record(runner.store.folder, record)


class _Finals:
    """Final regrets from the store, each file read once."""

    def __init__(self, store: CurveStore) -> None:
        self._store = store
        self._known: dict[Cell, Array] = {}

    def __call__(self, cell: Cell) -> Array:
        if cell not in self._known:
            self._known[cell] = self._store.read(cell).final
        return self._known[cell]


def _judged(trials: list[Trial], finals: Finals) -> tuple[Tried, ...]:
    """The whole search, the best of each place marked."""
    means = [float(finals(trial.cell).mean()) for trial in trials]
    best: dict[tuple[str, str, str, str], float] = {}
    for trial, mean in zip(trials, means, strict=True):
        place = trial.task, trial.regime, trial.variant, trial.method
        best[place] = min(best.get(place, mean), mean)
    return tuple(
        Tried(
            task=trial.task, regime=trial.regime, variant=trial.variant, method=trial.method,
            exploration_width=trial.exploration_width, clip_rule=trial.clip_rule, mean=mean,
            chosen=mean == best[trial.task, trial.regime, trial.variant, trial.method], key=key(trial.cell),
        )
        for trial, mean in zip(trials, means, strict=True)
    )  # fmt: skip


def session(runner: Runner, tally: Tally, started: datetime, clock: float) -> Session:
    """What a call that started then, at this count of the clock, has done."""
    return Session(
        started=started.isoformat(timespec="seconds"), seconds=time.perf_counter() - clock,
        simulated=tally.seconds, computed=tally.computed, reused=tally.reused,
        workers=workers_of(runner), machine=machine(),
    )  # fmt: skip


def workers_of(runner: Runner) -> str:
    """Who plays, in words."""
    if runner.cluster is not None:
        return f"the cluster at {runner.cluster}"
    return f"{runner.workers} local"

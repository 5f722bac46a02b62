"""A user's own experiment: played, kept, and recorded beside the paper's studies."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from duelwise.lab.cells.experiment import Experiment
from duelwise.lab.cells.playing import Curve
from duelwise.lab.paper.conduct import Meter, session
from duelwise.lab.paper.records import OWN, Entry, StudyRecord, write_record
from duelwise.lab.sweep.keys import code_digest, key
from duelwise.lab.sweep.runner import Runner, Tally


def conduct_own(
    experiment: Experiment, runner: Runner, *, hear: Callable[[Meter], None] | None = None
) -> tuple[Tally, list[Curve]]:
    """Play what is missing of an experiment, record it under its title, and give its curves."""
    started, clock = datetime.now(UTC), time.perf_counter()
    cells, meter = experiment.cells(), Meter(hear)
    absent = runner.missing(cells)
    meter.expect(absent, kept=len(cells) - len(absent))
    tally = runner.run(cells, progress=meter.add)
    done = session(runner, tally, started, clock)
    entries = tuple(
        Entry(
            figure=OWN, panel=experiment.title, variant="as set",
            method=cell.method.name, key=key(cell),
        )
        for cell in cells
    )  # fmt: skip
    models = dict.fromkeys(cell.method.post_serving for cell in cells)
    record = StudyRecord(
        protocol=OWN, post_serving="+".join(models), runs=experiment.runs, code=code_digest(),
        title=experiment.title, entries=entries, sessions=(done,),
    )  # fmt: skip
    write_record(runner.store.folder, record)
    return tally, [runner.store.read(cell) for cell in cells]

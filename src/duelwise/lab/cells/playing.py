"""Playing one cell: what a worker does, and what is kept of it."""

from __future__ import annotations

import platform
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version

import numba
import numpy as np

from duelwise.errors import require
from duelwise.lab.cells.experiment import Cell
from duelwise.lab.play import compiled_loop
from duelwise.lab.play.simulation import Trajectory
from duelwise.lab.worlds.recorded import RecordedWorld
from duelwise.learning.core.compile_time import compile_time
from duelwise.learning.core.deferred_compilation import patience
from duelwise.learning.monitoring import Watched, watched
from duelwise.types import Array, IntArray

POINTS = 200  # a stored curve has at most so many


@dataclass(frozen=True, kw_only=True)
class Curve:
    """What is kept of a cell: its regret at some rounds and some figures for each run."""

    cell: Cell
    rounds: IntArray  # (P,) counted from 1; the last is the horizon
    regret: Array  # (R, P) cumulative, from the best arm served twice
    distinct_regret: Array  # (R,) over the whole horizon, from the best two different arms
    self_duels: Array  # (R,) share of rounds
    told: IntArray  # (R,) votes that arrived
    flips_spent: IntArray  # (R,)
    delay_spent: IntArray  # (R,)
    recorded_share: (
        Array  # (R,) of distinct duels, votes that people really gave; NaN in worlds without a record
    )
    seconds: float  # of processor time for the simulation, compiling apart
    machine: str
    watched: Watched | None = None  # what the monitors saw, where they were on

    @property
    def final(self) -> Array:
        """(R,) regret over the whole horizon."""
        return self.regret[:, -1]


def play_cell(cell: Cell, *, monitors: bool = False) -> Curve:
    """Simulate a cell in one thread, so that its numbers depend on nothing but the cell."""
    require("threadpoolctl", extra="lab", purpose="Playing a cell in one thread")
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1), _one_numba_thread():
        scenario = cell.problem.scenario(cell.runs)
        learner = cell.method.start(scenario.world, runs=cell.runs, seed=cell.problem.seed)
        if monitors:
            learner.watch()
        begun = time.process_time()  # not the clock: other work on the machine is no cost of this cell
        with compile_time() as spent, patience(0.0):  # what is timed is compiled
            trajectory = compiled_loop.play(learner, scenario, horizon=cell.problem.horizon)
        seconds = time.process_time() - begun - spent.processor_seconds
        world = scenario.world
        known = isinstance(world, RecordedWorld)
        share = world.recorded_share(trajectory.arms) if known else np.full(world.runs, np.nan)
    curve = _curve(cell, trajectory, share, seconds)
    return replace(curve, watched=watched(learner.monitors)) if monitors else curve


@contextmanager
def _one_numba_thread() -> Generator[None]:
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _curve(cell: Cell, trajectory: Trajectory, share: Array, seconds: float) -> Curve:
    horizon = cell.problem.horizon
    rounds = np.unique(np.linspace(1, horizon, min(POINTS, horizon)).round().astype(np.int64))
    return Curve(
        cell=cell,
        rounds=rounds,
        regret=trajectory.cumulative[:, rounds - 1],
        distinct_regret=trajectory.distinct_regret.sum(axis=1),
        self_duels=trajectory.self_duels,
        told=trajectory.told,
        flips_spent=trajectory.flips_spent,
        delay_spent=trajectory.delay_spent,
        recorded_share=share,
        seconds=seconds,
        machine=f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
    )


def versions() -> dict[str, str]:
    """The libraries whose arithmetic a cell's numbers depend on."""
    return {name: version(name) for name in ("numpy", "numba", "scipy")}

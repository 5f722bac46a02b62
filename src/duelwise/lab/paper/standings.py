"""How methods did on one problem: played one after another, timed and ranked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from duelwise.lab.cells.codec import Plain
from duelwise.lab.cells.experiment import Cell, Method
from duelwise.lab.cells.playing import play_cell
from duelwise.lab.paper.protocols import Trial
from duelwise.lab.play import compiled_loop
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.simulation import Trajectory
from duelwise.learning.core.compile_time import compile_time
from duelwise.learning.core.deferred_compilation import patience
from duelwise.learning.learner import DuelingLearner
from duelwise.types import Array


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How one method did."""

    method: Method
    trajectory: Trajectory
    seconds: float  # by the clock, compiling apart
    compiling: float = 0.0  # seconds

    @property
    def final(self) -> Array:
        """(R,) regret over the whole horizon."""
        return self.trajectory.final

    def summary(self) -> dict[str, Plain]:
        """As plain values: regrets of the runs, their mean and deviation, the mean curve."""
        return {
            "final_regret_mean": float(self.final.mean()),
            "final_regret_sd": float(self.final.std(ddof=1)) if len(self.final) > 1 else None,
            "final_regret": self.final.tolist(),
            "regret_curve_mean": self.trajectory.cumulative.mean(axis=0).tolist(),
            "self_duels": float(self.trajectory.self_duels.mean()),
            "seconds": self.seconds,
            "compiling_seconds": self.compiling,
            "settings": self.method.told(),
        }


def play_trials(trials: Sequence[Trial], hear: Callable[[], None]) -> Callable[[Cell], Array]:
    """Play the trials of a search; answers with the final regrets of any of their cells."""
    finals: dict[str, Array] = {}
    for trial in trials:
        finals[trial.cell.canonical()] = play_cell(trial.cell).final
        hear()
    return lambda cell: finals[cell.canonical()]


After = Callable[[str, DuelingLearner, Scenario, Trajectory], None]
"""Called with a method's name when it has played, its learner watched."""


def compete(
    cell: Cell, *, progress: Callable[[int], None] | None = None, after: After | None = None,
    compiling: Callable[[bool], None] | None = None,
) -> Standing:  # fmt: skip
    """Play one method; `progress` hears how many rounds are done, `compiling` when the compiler is busy."""
    problem, method = cell.problem, cell.method
    scenario = problem.scenario(cell.runs)
    learner = method.start(scenario.world, runs=cell.runs, seed=problem.seed)
    if after is not None:
        learner.watch()
    begun = time.perf_counter()
    with compile_time(compiling) as spent, patience(0.0):  # what is timed is compiled
        trajectory = compiled_loop.play(learner, scenario, horizon=problem.horizon, progress=progress)
    seconds = time.perf_counter() - begun - spent.seconds
    standing = Standing(method=method, trajectory=trajectory, seconds=seconds, compiling=spent.seconds)
    if after is not None:
        after(method.name, learner, scenario, trajectory)
    return standing


def ranked(standings: Sequence[Standing]) -> list[Standing]:
    """Lowest mean final regret first."""
    return sorted(standings, key=lambda standing: float(np.mean(standing.final)))

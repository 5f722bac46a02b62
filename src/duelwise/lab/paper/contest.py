"""Some methods on one problem, played one after another and ranked: what `duelwise run` shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from duelwise.lab.cells.codec import Plain
from duelwise.lab.cells.experiment import Cell, Method
from duelwise.lab.cells.playing import play as play_cell
from duelwise.lab.cells.problem import Problem, Synthetic
from duelwise.lab.paper.figures import METHODS, Panel, Task
from duelwise.lab.paper.protocols import PaperProtocol, Protocol, Trial, learnt
from duelwise.lab.play import compiled_loop
from duelwise.lab.play.delays import GaussianDelay, NoDelay, StrategicDelay
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.simulation import Trajectory
from duelwise.lab.sweep.forecast import Work
from duelwise.learning.core.compile_time import compile_time
from duelwise.learning.core.deferred_compilation import patience
from duelwise.learning.learner import DuelingLearner
from duelwise.types import Array

TASKS = {
    "linear": "no post-serving context",
    "post-serving": "all methods learn φ",
    "pre-serving": "only RCDP-UCB learns φ; the others see what is known before serving",
}


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
            "final_regret_sd": float(self.final.std(ddof=1)) if len(self.final) > 1 else 0.0,
            "final_regret": self.final.tolist(),
            "regret_curve_mean": self.trajectory.cumulative.mean(axis=0).tolist(),
            "self_duels": float(self.trajectory.self_duels.mean()),
            "seconds": self.seconds,
            "compiling_seconds": self.compiling,
            "settings": self.method.told(),
        }


@dataclass(frozen=True, kw_only=True)
class Contest:
    """A task of the paper at any size, the methods that meet in it and how they are set."""

    task: str
    mapping: str
    delay: StrategicDelay | GaussianDelay | NoDelay
    corruption_budget: int = 25
    context_dim: int = 10
    arms: int = 10
    horizon: int = 2000
    runs: int = 10
    seed: int = 0
    methods: tuple[str, ...] = METHODS
    post_serving: str = "spline"
    protocol: Protocol = field(default_factory=PaperProtocol)
    link: str = "logistic"

    @property
    def variant(self) -> str:
        """The protocol's first: where there are two, self-duels are allowed."""
        return self.protocol.variants[0]

    def panel(self) -> Panel:
        """The contest as a panel of a figure."""
        learners = {"linear": (), "post-serving": self.methods, "pre-serving": ("rcdp-ucb",)}[self.task]
        task = Task(
            name=self.task,
            world=Synthetic(
                mapping="none" if self.task == "linear" else self.mapping,
                context_dim=self.context_dim,
                arms=self.arms,
                parameters="published",
                link=self.link,
            ),
            learners=learners,
            delays={"asked": self.delay},
            corruption=self.corruption_budget,
            horizon=self.horizon,
            seed=self.seed,
        )
        return Panel(
            title=self.task, task=task, regime="asked", problem=task.problem("asked"), methods=self.methods
        )

    def work(self) -> list[Work]:
        """Every curve the contest plays, the search's too, as costly as they may be."""
        panel = self.panel()
        searched = [Work.of(trial.cell) for trial in self.trials()]
        estimate = "full-mle" if searched else None
        return searched + [
            Work(
                problem=panel.problem,
                method=Method(
                    name=name, post_serving=learnt(panel.task, name, self.post_serving), estimate=estimate
                ),
                runs=self.runs,
            )
            for name in self.methods
        ]

    def trials(self) -> list[Trial]:
        """What has to be played before the methods' settings are known."""
        trials = self.protocol.search([self.panel()], post_serving=self.post_serving)
        return [trial for trial in trials if trial.variant == self.variant]

    def settled(self, finals: Callable[[Cell], Array]) -> list[Method]:
        """Every method with its settings; `finals` answers for the trials."""
        panel = self.panel()
        chosen = [
            self.protocol.method(panel, name, self.variant, post_serving=self.post_serving, finals=finals)
            for name in self.methods
        ]
        return chosen if self.link == "logistic" else [replace(method, link=self.link) for method in chosen]


def judge(trials: Sequence[Trial], hear: Callable[[], None]) -> Callable[[Cell], Array]:
    """Play the trials of a search; answers with the final regrets of any of their cells."""
    finals: dict[str, Array] = {}
    for trial in trials:
        finals[trial.cell.canonical()] = play_cell(trial.cell).final
        hear()
    return lambda cell: finals[cell.canonical()]


After = Callable[[str, DuelingLearner, Scenario, Trajectory], None]
"""Called with a method's name when it has played, its learner watched."""


def compete(
    problem: Problem, method: Method, *, runs: int, progress: Callable[[int], None] | None = None,
    after: After | None = None, compiling: Callable[[bool], None] | None = None,
) -> Standing:  # fmt: skip
    """Play one method; `progress` hears how many rounds are done, `compiling` when the compiler is busy."""
    numbers = tuple(range(runs))
    scenario = problem.scenario(numbers)
    learner = method.start(scenario.world, runs=numbers, seed=problem.seed)
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

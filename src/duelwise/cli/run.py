"""`duelwise run`: some methods on one task, live, ranked at the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from duelwise.cli.app import app
from duelwise.cli.reproduce import run_file
from duelwise.errors import InvalidInput, require, unknown_name
from duelwise.lab.cells.problem import sizes
from duelwise.lab.paper.contest import TASKS, After, Contest, Standing, compete, judge, ranked
from duelwise.lab.paper.protocols import protocol_named
from duelwise.lab.play.delays import GaussianDelay, NoDelay, StrategicDelay
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.simulation import Trajectory
from duelwise.lab.sweep.atomic_files import write_whole
from duelwise.lab.worlds.mappings import MAPPINGS
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.links import LINKS
from duelwise.learning.post_serving import POST_SERVING
from duelwise.learning.recipes import RECIPES
from duelwise.theory.monitoring import Lookback, look_back

DelayName = Literal["none", "stochastic", "strategic"]


@app.command()
def run(
    task: Annotated[str, typer.Argument(help=f"{', '.join(TASKS)}; or a file of your own, FILE.toml.")],
    mapping: Annotated[str, typer.Option(help=f"φ: {', '.join(MAPPINGS)}.")] = "abs",
    delay: Annotated[DelayName, typer.Option(help="How votes are held back.")] = "strategic",
    corruption_budget: Annotated[int, typer.Option(help="C: how many votes are flipped.")] = 25,
    delay_budget: Annotated[int, typer.Option(help="Λ: the sum of all strategic delays.")] = 10_000,
    delay_mean: Annotated[float, typer.Option(help="μ of stochastic delays.")] = 100.0,
    delay_std: Annotated[float, typer.Option(help="σ of stochastic delays.")] = 100.0,
    dim: Annotated[int, typer.Option(help="d_x: features known before serving.")] = 10,
    arms: Annotated[int, typer.Option(help="K: candidates in each round.")] = 10,
    horizon: Annotated[int, typer.Option(help="T: rounds.")] = 2000,
    runs: Annotated[int, typer.Option(help="Seeds; all methods meet the same ones.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the whole experiment.")] = 0,
    methods: Annotated[str, typer.Option(help="Separated by commas.")] = ",".join(RECIPES),
    post_serving: Annotated[
        str | None,
        typer.Option(help=f"φ̂: {', '.join(POST_SERVING)}. Default: mlp under paper, else spline."),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="paper: published settings (the default), with the paper's network. "
            "fair: one treatment, tuned on other seeds. "
            "listing-1, theory, appendix: RCDP-UCB as that part of the paper has it."
        ),
    ] = None,
    link: Annotated[str, typer.Option(help=f"g: {', '.join(LINKS)}.")] = "logistic",
    monitors: Annotated[bool, typer.Option(help="Also show what the runs say of the assumptions.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write everything to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves to this PNG, PDF or SVG.")] = None,
) -> None:
    """Compare methods on a task: linear, post-serving, pre-serving, or an experiment of your own in TOML."""
    if task.endswith(".toml"):
        run_file(Path(task))
        return
    if task not in TASKS:
        raise unknown_name("task", task, [*TASKS, "FILE.toml"])
    delays = {
        "none": NoDelay(),
        "stochastic": GaussianDelay(mean=delay_mean, std=delay_std),
        "strategic": StrategicDelay(budget=delay_budget),
    }
    contest = Contest(
        task=task, mapping=mapping, delay=delays[delay], corruption_budget=corruption_budget,
        context_dim=dim, arms=arms, horizon=horizon, runs=runs, seed=seed,
        methods=tuple(name.strip() for name in methods.split(",")),
        post_serving=post_serving or ("mlp" if protocol == "paper" else "spline"),
        protocol=protocol_named(protocol or "paper"), link=link,
    )  # fmt: skip
    if plot is not None:
        require("matplotlib", extra="lab", purpose="Drawing")
    looks: dict[str, Lookback] = {}

    def look(name: str, learner: DuelingLearner, scenario: Scenario, trajectory: Trajectory) -> None:
        looks[name] = look_back(learner, scenario.world, trajectory.arms)

    standings = hold(contest, after=look if monitors else None)
    Console().print(table(standings))
    if monitors:
        Console().print(monitors_table(looks))
    if json_file is not None:
        write_json(json_file, contest, standings)
    if plot is not None:
        draw(plot, standings, title=f"{task}: {describe(contest)}")


def hold(contest: Contest, *, after: After | None = None) -> list[Standing]:
    """Play a contest with a live bar: first the protocol's search, then each method."""
    for name in contest.methods:
        if name not in RECIPES:
            raise unknown_name("method", name, RECIPES)
    if contest.runs < 1:
        raise InvalidInput(f"runs is {contest.runs}; expected at least one.")
    sizes(contest.panel().problem.world)  # refuses a world that cannot be, before anything is played
    trials = contest.trials()
    columns = (
        TextColumn("{task.description:>14}"), BarColumn(), TextColumn("{task.completed} {task.fields[unit]}"),
        _Speed(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        if trials:
            search = bar.add_task("tuning", total=len(trials), unit="trials")
            finals = judge(trials, lambda: bar.advance(search))
        else:
            finals = judge((), lambda: None)
        standings: list[Standing] = []
        for method in contest.settled(finals):
            line = bar.add_task(method.name, total=contest.horizon, unit="rounds")
            standings.append(
                compete(
                    contest.panel().problem, method, runs=contest.runs,
                    progress=lambda done, line=line: bar.update(line, completed=done), after=after,
                )
            )  # fmt: skip
    return ranked(standings)


def describe(contest: Contest) -> str:
    """One line that says what was played."""
    mapping = "" if contest.task == "linear" else f"φ = {contest.mapping}, φ̂ = {contest.post_serving}, "
    return (
        f"{mapping}{contest.delay}, C = {contest.corruption_budget}, d = {contest.context_dim}, "
        f"K = {contest.arms}, T = {contest.horizon}, {contest.runs} runs, protocol {contest.protocol.name}"
    )


def table(standings: list[Standing]) -> Table:
    """The ranking."""
    out = Table("", "method", "final regret", "± sd", "self-duels", "seconds")
    for place, standing in enumerate(standings, start=1):
        told = standing.summary()
        out.add_row(
            str(place), standing.method.name, f"{told['final_regret_mean']:,.1f}",
            f"{told['final_regret_sd']:,.1f}", f"{told['self_duels']:.0%}", f"{standing.seconds:.2f}",
        )  # fmt: skip
    return out


def monitors_table(looks: dict[str, Lookback]) -> Table:
    """What the assumptions meet in practice, means over runs."""
    out = Table("method", *next(iter(looks.values())).summary(), title="Monitors: docs/theory.md")
    for name, look in looks.items():
        out.add_row(name, *(f"{value:.3g}" for value in look.summary().values()))
    return out


def write_json(path: Path, contest: Contest, standings: list[Standing]) -> None:
    """The task, its settings and every method's regrets."""
    content = {
        "task": contest.task,
        "settings": {
            **contest.panel().problem.encode(),
            "runs": contest.runs,
            "post_serving": contest.post_serving,
            "protocol": contest.protocol.name,
        },
        "methods": {standing.method.name: standing.summary() for standing in standings},
    }
    write_whole(path, lambda temporary: temporary.write_text(json.dumps(content)))


def draw(path: Path, standings: list[Standing], *, title: str) -> None:
    """Mean cumulative regret with a band of one standard deviation, in the paper's style."""
    from matplotlib.figure import Figure

    from duelwise.lab.report.static_charts import draw_band

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axis = figure.subplots()
    for standing in standings:
        cumulative = standing.trajectory.cumulative
        rounds = np.arange(1, int(cumulative.shape[1]) + 1)
        draw_band(axis, standing.method.name, rounds, cumulative)
    axis.set_title(title, fontsize=8)
    axis.legend(frameon=False)
    kind = path.suffix[1:] or "png"
    write_whole(path, lambda temporary: figure.savefig(temporary, format=kind, dpi=150))
    Console().print(f"Drew {path}")


class _Speed(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "")

"""`duelwise run`: some methods on one task, live, ranked at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from duelwise.cli.app import app
from duelwise.cli.completing import listed, names, protocols, recipes
from duelwise.cli.completing import post_serving as post_serving_names
from duelwise.cli.given import given_options, option
from duelwise.cli.grid import run_grid
from duelwise.cli.interrupting import interruptible
from duelwise.cli.outputs import (
    HtmlOption,
    JsonOption,
    PlotOption,
    QuietOption,
    check_outputs,
    console,
    write_json,
)
from duelwise.cli.run_file import FolderOption, run_file
from duelwise.cli.standings import as_plain, describe, draw, hold, monitors_table, table
from duelwise.errors import InvalidInput, unknown_name
from duelwise.lab.paper.asked import TASKS, asked
from duelwise.lab.paper.protocols import protocol_named
from duelwise.lab.play.delays import GaussianDelay, NoDelay, StrategicDelay
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.simulation import Trajectory
from duelwise.lab.worlds.mappings import MAPPINGS
from duelwise.learning.core.links import LINKS
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.post_serving import POST_SERVING
from duelwise.learning.recipes import PAPER_FIVE
from duelwise.theory.monitoring import Lookback, look_back

GRID_RUNS = 20
DelayName = Literal["none", "stochastic", "strategic"]
WRITTEN = ("task", "json_file", "plot", "html", "quiet", "folder")  # what a TOML file does not settle itself
OF_DELAY = {"delay_budget": "strategic", "delay_mean": "stochastic", "delay_std": "stochastic"}
OF_POST_SERVING = ("mapping", "post_serving")


@app.command()
def run(
    context: typer.Context,
    task: Annotated[
        str,
        typer.Argument(
            help=f"{', '.join(TASKS)}; grid, the attack grid; or a file of your own, FILE.toml.",
            autocompletion=names(lambda: [*TASKS, "grid", *map(str, Path().glob("*.toml"))]),
        ),
    ],
    mapping: Annotated[
        str, typer.Option(help=f"φ: {', '.join(MAPPINGS)}.", autocompletion=names(lambda: MAPPINGS))
    ] = "abs",
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
    methods: Annotated[
        str, typer.Option(help="Separated by commas.", autocompletion=listed(recipes))
    ] = ",".join(PAPER_FIVE),
    post_serving: Annotated[
        str | None,
        typer.Option(
            help=f"φ̂: {', '.join(POST_SERVING)}. Default: spline; with --protocol paper, mlp.",
            autocompletion=names(post_serving_names),
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="Left out: published settings with a spline, which is quick. "
            "paper: the same with the paper's network. fair: one treatment, tuned on other seeds. "
            "listing-1, theory, appendix: RCDP-UCB as that part of the paper has it.",
            autocompletion=names(protocols),
        ),
    ] = None,
    link: Annotated[str, typer.Option(help=f"g: {', '.join(LINKS)}.")] = "logistic",
    monitors: Annotated[bool, typer.Option(help="Also show what the runs say of the assumptions.")] = False,
    folder: FolderOption = Path("results"),
    json_file: JsonOption = None,
    plot: PlotOption = None,
    html: HtmlOption = None,
    quiet: QuietOption = False,
) -> None:
    """Compare methods on a task: linear, post-serving, pre-serving, or an experiment of your own in TOML."""
    check_outputs(json=json_file, plot=plot, html=html)
    given = given_options(context)
    if task.endswith(".toml"):
        _refuse_in_file(task, given)
        run_file(Path(task), folder=folder, json_file=json_file, plot=plot, html=html, quiet=quiet)
        return
    if task == "grid":
        _refuse_in_grid(given)
        run_grid(runs=runs if "runs" in given else GRID_RUNS, folder=folder, json_file=json_file, quiet=quiet)
        return
    if task not in TASKS:
        raise unknown_name("task", task, [*TASKS, "grid", "FILE.toml"])
    _refuse_without_effect(task, delay, given)
    delays = {
        "none": NoDelay(),
        "stochastic": GaussianDelay(mean=delay_mean, std=delay_std),
        "strategic": StrategicDelay(budget=delay_budget),
    }
    study = asked(
        task, mapping=mapping, delay=delays[delay], corruption_budget=corruption_budget,
        context_dim=dim, arms=arms, horizon=horizon, runs=runs, seed=seed,
        methods=tuple(name.strip() for name in methods.split(",")),
        post_serving=post_serving or ("mlp" if protocol == "paper" else "spline"),
        protocol=protocol_named(protocol or "paper"), link=link,
    )  # fmt: skip
    looks: dict[str, Lookback] = {}

    def look(name: str, learner: DuelingLearner, scenario: Scenario, trajectory: Trajectory) -> None:
        looks[name] = look_back(learner, scenario.world, trajectory.arms)

    with interruptible("Nothing is kept of a run that did not end; reproduce keeps every curve."):
        standings = hold(study, quiet=quiet, after=look if monitors else None)
    out = console(quiet=quiet, json=json_file)
    out.print(table(standings))
    if monitors:
        out.print(monitors_table(looks))
    write_json(json_file, lambda: as_plain(study, standings, looks))
    draw(standings, looks, title=f"{task}: {describe(study)}", plot=plot, html=html)
    for path in (plot, html):
        if path is not None:
            out.print(f"Drew {path}", soft_wrap=True)


def _refuse_in_file(task: str, given: dict[str, object]) -> None:
    """A file says its settings itself; an option that would be ignored is refused."""
    for name, value in given.items():
        if name not in WRITTEN:
            raise InvalidInput(
                f"{option(name)} is {value!r}, but {task} settles that itself. "
                f"Expected it in the file: change {task}, see docs/experiments.md."
            )


def _refuse_in_grid(given: dict[str, object]) -> None:
    """The grid's settings stand in the package."""
    for name, value in given.items():
        if name not in (*WRITTEN, "runs") or name in ("plot", "html"):
            raise InvalidInput(
                f"{option(name)} is {value!r}, but the grid settles that itself. Expected --runs, --folder "
                "or --json with it: leave it out, or write an experiment of your own, docs/experiments.md."
            )


def _refuse_without_effect(task: str, delay: str, given: dict[str, object]) -> None:
    """What is asked for must change what is played."""
    for name in OF_POST_SERVING:
        if task == "linear" and name in given:
            raise InvalidInput(
                f"{option(name)} is {given[name]!r}, but the task linear has no post-serving context. "
                "Expected it with post-serving or pre-serving: leave it out, or choose one of those."
            )
    for name, kind in OF_DELAY.items():
        if name in given and delay != kind:
            raise InvalidInput(
                f"{option(name)} is {given[name]}, but --delay is {delay}. "
                f"Expected it with --delay {kind}: leave it out, or add that."
            )
    if "folder" in given:
        raise InvalidInput(
            f"--folder is {str(given['folder'])!r}, but a task keeps no curves. Expected it with FILE.toml: "
            "leave it out, or write the ranking with --json FILE."
        )

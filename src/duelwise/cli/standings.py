"""Playing one panel with a live bar, and what is shown, drawn and written of its standings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from duelwise.cli.outputs import table_of
from duelwise.cli.progress import COMPILES
from duelwise.errors import check_known
from duelwise.lab.cells.codec import Plain
from duelwise.lab.cells.problem import Synthetic
from duelwise.lab.paper.figures import Panel
from duelwise.lab.paper.standings import After, Standing, compete, play_trials, ranked
from duelwise.lab.paper.study import Study
from duelwise.lab.sweep.forecast import forecast, refuse_too_large
from duelwise.learning.recipes import RECIPES
from duelwise.theory.monitoring import Lookback


def hold(study: Study, *, quiet: bool = False, after: After | None = None) -> list[Standing]:
    """Play the one panel of a study with a live bar: first the protocol's search, then each method."""
    panel = _panel(study)
    for name in panel.methods:
        check_known("method", name, RECIPES)
    work = study.work()
    refuse_too_large(work)
    console = Console(stderr=True, quiet=quiet)
    console.print(f"Playing {forecast(work)}. {COMPILES}", highlight=False)
    trials = study.trials()
    columns = (
        TextColumn("{task.description:>14}"), BarColumn(), TextColumn("{task.completed} {task.fields[unit]}"),
        _Speed(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, disable=quiet) as bar:
        if trials:
            search = bar.add_task("tuning", total=len(trials), unit="trials")
            finals = play_trials(trials, lambda: bar.advance(search))
        else:
            finals = play_trials((), lambda: None)
        standings: list[Standing] = []
        for cell in study.cells(finals):
            line = bar.add_task(cell.method.name, total=cell.problem.horizon, unit="rounds")
            standings.append(
                compete(
                    cell, progress=lambda done, line=line: bar.update(line, completed=done), after=after,
                    compiling=lambda begins, line=line, name=cell.method.name: bar.update(
                        line, description="compiling" if begins else name
                    ),
                )
            )  # fmt: skip
    compiling = sum(standing.compiling for standing in standings)
    if compiling >= 1:
        console.print(f"Compiling took {compiling:.0f} s; no method is charged with it.", highlight=False)
    return ranked(standings)


def _panel(study: Study) -> Panel:
    ((panel,),) = (figure.panels for figure in study.figures)
    return panel


def describe(study: Study) -> str:
    """One line that says what was played."""
    problem = _panel(study).problem
    world = problem.world
    assert isinstance(world, Synthetic)
    mapping = "" if _panel(study).task == "linear" else f"φ = {world.mapping}, φ̂ = {study.post_serving}, "
    return (
        f"{mapping}{problem.delay}, C = {problem.corruption.budget}, d = {world.context_dim}, "
        f"K = {world.arms}, T = {problem.horizon}, {study.runs} runs, protocol {study.protocol.name}"
    )


HEAD = ("method", "final regret", "± sd", "self-duels", "seconds")


def rows(standings: list[Standing]) -> list[tuple[str, ...]]:
    """The ranking as text, best first."""
    told = [(standing, standing.summary()) for standing in standings]
    return [
        (
            standing.method.name, f"{facts['final_regret_mean']:,.1f}",
            f"{facts['final_regret_sd']:,.1f}" if len(standing.final) > 1 else "",  # one value has none
            f"{facts['self_duels']:.0%}", f"{standing.seconds:.2f}",
        )
        for standing, facts in told
    ]  # fmt: skip


def table(standings: list[Standing]) -> Table:
    """The ranking for the terminal."""
    return table_of(("", *HEAD), [(str(place), *row) for place, row in enumerate(rows(standings), start=1)])


MONITORS = "Monitors: docs/theory.md"


def monitor_rows(looks: dict[str, Lookback]) -> list[tuple[str, ...]]:
    """What the assumptions meet in practice, means over runs: the head, then a line for each method."""
    head = ("method", *(name.replace("_", " ") for name in next(iter(looks.values())).summary()))
    lines = [
        (name, *("" if np.isnan(value) else f"{value:.3g}" for value in look.summary().values()))
        for name, look in looks.items()
    ]
    return [head, *lines]


def monitors_table(looks: dict[str, Lookback]) -> Table:
    """The same for the terminal."""
    head, *lines = monitor_rows(looks)
    out = table_of(head, lines, title=MONITORS)
    out.padding, out.columns[0].no_wrap = 0, True  # so that eighty columns hold every name uncut
    return out


def as_plain(study: Study, standings: list[Standing], looks: dict[str, Lookback]) -> dict[str, Plain]:
    """The task, its settings, every method's regrets and monitors."""
    shown: dict[str, Plain] = {
        name: {key: None if np.isnan(value) else value for key, value in look.summary().items()}
        for name, look in looks.items()
    }
    told: dict[str, Plain] = {
        "task": _panel(study).task,
        "settings": {
            **_panel(study).problem.encode(),
            "runs": study.runs,
            "post_serving": study.post_serving,
            "protocol": study.protocol.name,
        },
        "methods": {standing.method.name: standing.summary() for standing in standings},
    }
    return told | {"monitors": shown} if shown else told


def draw(
    standings: list[Standing], looks: dict[str, Lookback], *, title: str, plot: Path | None, html: Path | None
) -> None:
    """Mean cumulative regret with a band of one standard deviation, as a picture, a page or both."""
    if plot is None and html is None:
        return
    from duelwise.lab.report.pictures import Band, save_page, save_picture
    from duelwise.lab.report.tables import Table as PageTable

    bands = [
        Band(
            standing.method.name,
            np.arange(1, standing.trajectory.regret.shape[1] + 1),
            standing.trajectory.cumulative,
        )
        for standing in standings
    ]
    if plot is not None:
        save_picture(plot, bands, title=title)
    if html is not None:
        tables = [PageTable(title="Ranking", head=HEAD, rows=tuple(rows(standings)))]
        if looks:
            head, *lines = monitor_rows(looks)
            tables.append(PageTable(title=MONITORS, head=head, rows=tuple(lines)))
        save_page(html, bands, title=title, tables=tables)


class _Speed(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "")

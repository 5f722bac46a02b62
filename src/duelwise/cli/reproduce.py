"""`duelwise reproduce` and `duelwise report`; `run FILE.toml`, a user's own experiment."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from duelwise.cli.app import app
from duelwise.errors import DuelwiseError, InvalidInput, require

FIGURES = "Figures by number (1, E.4) or label (appendix_std_ablation), or all."
FOLDER = typer.Option(help="Where curves and records are kept; what is there is not played again.")


@app.command()
def reproduce(
    figures: Annotated[list[str], typer.Argument(help=FIGURES)],
    protocol: Annotated[str, typer.Option(help="paper, fair, listing-1, theory or appendix.")] = "paper",
    runs: Annotated[
        int | None, typer.Option(help="Seeds of each curve; 10 under paper, 20 under fair.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Workers on this machine; -1 is one for each core.")] = -1,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler to work on.")] = None,
    post_serving: Annotated[str | None, typer.Option(help="φ̂; mlp under paper, spline under fair.")] = None,
    folder: Annotated[Path, FOLDER] = Path("results"),
) -> None:
    """Play figures of the paper: only what is missing, kept cell by cell."""
    require("pyarrow", extra="lab", purpose="Keeping curves")
    from duelwise.lab.paper.figures import figures_named
    from duelwise.lab.paper.protocols import protocol_named
    from duelwise.lab.paper.study import Study, conduct
    from duelwise.lab.sweep.runner import Runner
    from duelwise.lab.sweep.store import Store

    study = Study(
        figures=figures_named(tuple(figures)),
        protocol=protocol_named(protocol),
        post_serving=post_serving or ("mlp" if protocol == "paper" else "spline"),
        runs=runs or (10 if protocol == "paper" else 20),
    )
    runner = Runner(store=Store(folder), jobs=jobs, cluster=cluster)
    console = Console()
    with _progress(console) as hear:
        record = conduct(study, runner, hear=hear)
    session = record.sessions[-1]
    console.print(
        f"{session.computed} cells played, {session.reused} reused, in {_duration(session.seconds)} "
        f"({_duration(session.simulated)} of processor time) with {session.workers} workers."
    )
    console.print(f"Kept in {folder}. Next: duelwise report --folder {folder}")


@app.command()
def report(
    folder: Annotated[Path, FOLDER] = Path("results"),
    out: Annotated[Path, typer.Option(help="The HTML file; static figures and tables go beside it.")] = Path(
        "report/report.html"
    ),
    static: Annotated[
        bool, typer.Option(help="Also write PDF and PNG figures, CSV and LaTeX tables.")
    ] = True,
) -> None:
    """Write one self-contained HTML file of everything played in a folder."""
    require("plotly", extra="lab", purpose="The report")
    from duelwise.lab.report.html import write_report

    for path in write_report(folder, out, static=static):
        Console().print(f"Wrote {path}", soft_wrap=True)


def run_file(
    file: Path, *, folder: Path = Path("results"), jobs: int = -1, cluster: str | None = None
) -> None:
    """Play the experiment that a TOML file describes and print its ranking."""
    require("pyarrow", extra="lab", purpose="Keeping curves")
    from duelwise.lab.cells.experiment import decode_experiment
    from duelwise.lab.paper.study import Meter
    from duelwise.lab.sweep.runner import Runner
    from duelwise.lab.sweep.store import Store

    try:
        experiment = decode_experiment(tomllib.loads(file.read_text()))
    except FileNotFoundError:
        raise InvalidInput(
            f"There is no file {file}. Expected an experiment in TOML: docs/experiments.md."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(
            f"{file} is no valid TOML: {error}. Expected an experiment: docs/experiments.md."
        ) from None
    runner = Runner(store=Store(folder), jobs=jobs, cluster=cluster)
    cells, console = experiment.cells(), Console()
    with _progress(console) as hear:
        meter, absent = Meter(hear), runner.missing(cells)
        meter.expect(absent, kept=len(cells) - len(absent))
        tally = runner.run(cells, progress=meter.add)
    table = Table("method", "final regret", "sd", "self-duels", "recorded votes", title=experiment.title)
    for curve in sorted((runner.store.read(cell) for cell in cells), key=lambda curve: curve.final.mean()):
        final, share = curve.final, float(curve.recorded_share.mean())
        table.add_row(
            curve.cell.method.name, f"{final.mean():.1f}",
            f"{final.std(ddof=1):.1f}" if len(final) > 1 else "", f"{curve.self_duels.mean():.0%}",
            "" if math.isnan(share) else f"{share:.0%}",
        )  # fmt: skip
    console.print(table)
    console.print(f"{tally.computed} cells played, {tally.reused} reused; kept in {folder}.")


@contextmanager
def _progress(console: Console) -> Generator[_Bar]:
    """A bar over the whole job; stopping it loses only the cells in flight."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[cells]}"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    # One estimate over the whole job: cells differ in cost by a factor of hundreds.
    with Progress(*columns, console=console, speed_estimate_period=86_400) as progress:
        try:
            yield _Bar(progress)
        except KeyboardInterrupt:
            progress.stop()
            console.print("Stopped. Finished cells are kept; the same command goes on from here.")
            raise typer.Exit(130) from None
        except DuelwiseError:
            progress.stop()
            raise


class _Bar:
    """Shows a meter."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("playing", total=None, cells="")

    def __call__(self, meter: object) -> None:
        from duelwise.lab.paper.study import Meter

        assert isinstance(meter, Meter)
        kept = f", {meter.kept} kept before" if meter.kept else ""
        cells = f"{meter.cells} of {meter.cells_expected} cells{kept}"
        self._progress.update(self._task, completed=meter.done, total=meter.expected, cells=cells)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds >= 90 else f"{seconds:.0f} s"

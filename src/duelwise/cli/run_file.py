"""`duelwise run FILE.toml`: a user's own experiment, kept, ranked, drawn and there for `report`."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from duelwise.cli.interrupting import interruptible
from duelwise.cli.outputs import check_writable, console, table_of, write_json
from duelwise.cli.progress import announce, progress
from duelwise.errors import InvalidInput, require
from duelwise.text_files import opened_text

if TYPE_CHECKING:
    from duelwise.lab.cells.codec import Plain
    from duelwise.lab.cells.experiment import Experiment
    from duelwise.lab.cells.playing import Curve

FolderOption = Annotated[
    Path, typer.Option(help="Where curves and records are kept; what is there is not played again.")
]
KEPT = "Finished curves are kept; the same command goes on from here."


def run_file(
    file: Path,
    *,
    folder: Path = Path("results"),
    jobs: int = -1,
    cluster: str | None = None,
    json_file: Path | None = None,
    plot: Path | None = None,
    html: Path | None = None,
    quiet: bool = False,
) -> None:
    """Play the experiment that a TOML file describes and show its ranking."""
    require("pyarrow", extra="lab", purpose="Keeping curves")
    from duelwise.lab.paper.own import conduct_own
    from duelwise.lab.sweep.forecast import Work, refuse_too_large
    from duelwise.lab.sweep.runner import Runner
    from duelwise.lab.sweep.store import CurveStore

    experiment = read_experiment(file)
    check_writable(folder)
    runner = Runner(store=CurveStore(folder), jobs=jobs, cluster=cluster)
    work = [
        Work(problem=experiment.problem, method=method, runs=experiment.runs) for method in experiment.methods
    ]
    refuse_too_large(work, workers=runner.workers)
    announce(work, workers=runner.workers, quiet=quiet)
    with interruptible(KEPT), progress(quiet=quiet) as hear:
        tally, curves = conduct_own(experiment, runner, hear=hear)
    curves = sorted(curves, key=lambda curve: float(curve.final.mean()))
    out = console(quiet=quiet, json=json_file)
    out.print(table_of(HEAD, rows(curves), title=experiment.title))
    out.print(
        f"{tally.computed} cells played, {tally.reused} reused; kept in {folder}. "
        f"Next: duelwise report --folder {folder}",
        soft_wrap=True,
    )
    write_json(json_file, lambda: _plain(experiment, curves))
    _draw(curves, title=experiment.title, plot=plot, html=html)
    for path in (plot, html):
        if path is not None:
            out.print(f"Drew {path}", soft_wrap=True)


def read_experiment(file: Path) -> Experiment:
    """The experiment in a file; without a title it is called after the file."""
    from duelwise.lab.cells.experiment import decode_experiment

    try:
        with opened_text(file) as text:
            table = tomllib.loads(text.read())
    except FileNotFoundError:
        raise InvalidInput(
            f"There is no file {file}. Expected an experiment in TOML: docs/experiments.md."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(
            f"{file} is no valid TOML: {error}. Expected an experiment: docs/experiments.md."
        ) from None
    return decode_experiment({"title": file.stem, **table})


HEAD = ("method", "final regret", "sd", "self-duels", "recorded votes")


def rows(curves: list[Curve]) -> list[tuple[str, ...]]:
    """The ranking as text."""
    out: list[tuple[str, ...]] = []
    for curve in curves:
        final, share = curve.final, float(curve.recorded_share.mean())
        out.append(
            (
                curve.cell.method.name, f"{final.mean():,.1f}",
                f"{final.std(ddof=1):,.1f}" if len(final) > 1 else "", f"{curve.self_duels.mean():.0%}",
                "" if math.isnan(share) else f"{share:.0%}",
            )
        )  # fmt: skip
    return out


def _plain(experiment: Experiment, curves: list[Curve]) -> Plain:
    return {
        "title": experiment.title,
        "settings": {**experiment.problem.encode(), "runs": experiment.runs},
        "methods": {
            curve.cell.method.name: {
                "final_regret_mean": float(curve.final.mean()),
                "final_regret": curve.final.tolist(),
                "rounds": curve.rounds.tolist(),
                "regret_curve_mean": curve.regret.mean(axis=0).tolist(),
                "settings": curve.cell.method.told(),
            }
            for curve in curves
        },
    }


def _draw(curves: list[Curve], *, title: str, plot: Path | None, html: Path | None) -> None:
    if plot is None and html is None:
        return
    from duelwise.lab.report.pictures import Band, save_page, save_picture
    from duelwise.lab.report.tables import Table as PageTable

    bands = [Band(curve.cell.method.name, curve.rounds, curve.regret) for curve in curves]
    if plot is not None:
        save_picture(plot, bands, title=title)
    if html is not None:
        ranking = PageTable(title="Ranking", head=HEAD, rows=tuple(rows(curves)))
        save_page(html, bands, title=title, tables=[ranking])

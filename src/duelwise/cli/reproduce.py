"""`duelwise reproduce` and `duelwise report`: figures of the paper, and one page of what was played."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from duelwise.cli import completing
from duelwise.cli.app import app
from duelwise.cli.completing import names
from duelwise.cli.interrupting import interruptible
from duelwise.cli.outputs import JsonOption, QuietOption, check_outputs, check_writable, console, write_json
from duelwise.cli.progress import announce, progress
from duelwise.cli.run_file import KEPT, FolderOption
from duelwise.errors import require

FIGURES = "Figures by number (1, E.4) or label (appendix_std_ablation), or all."


@app.command()
def reproduce(
    figures: Annotated[list[str], typer.Argument(help=FIGURES, autocompletion=names(completing.figures))],
    protocol: Annotated[
        str,
        typer.Option(
            help="paper: as published. fair: one treatment, tuned. "
            "listing-1, theory, appendix: that part of the paper.",
            autocompletion=names(completing.protocols),
        ),
    ] = "paper",
    runs: Annotated[
        int | None, typer.Option(help="Seeds of each curve; 10 under paper, 20 under fair.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Workers on this machine; -1 is one for each core.")] = -1,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler to work on.")] = None,
    post_serving: Annotated[
        str | None,
        typer.Option(
            help="φ̂; mlp under paper, spline under fair.",
            autocompletion=names(completing.post_serving),
        ),
    ] = None,
    folder: FolderOption = Path("results"),
    monitors: Annotated[
        bool, typer.Option(help="Also keep what the runs say of the assumptions; the report shows it.")
    ] = False,
    json_file: JsonOption = None,
    quiet: QuietOption = False,
) -> None:
    """Play figures of the paper: only what is missing, kept cell by cell."""
    require("pyarrow", extra="lab", purpose="Keeping curves")
    from duelwise.lab.paper.conduct import conduct
    from duelwise.lab.paper.figures import figures_named
    from duelwise.lab.paper.protocols import protocol_named
    from duelwise.lab.paper.study import Study
    from duelwise.lab.play.checks import check_whole
    from duelwise.lab.sweep.forecast import duration, refuse_too_large
    from duelwise.lab.sweep.runner import Runner
    from duelwise.lab.sweep.store import CurveStore

    check_outputs(json=json_file)
    check_writable(folder)
    if runs is None:
        runs = 10 if protocol == "paper" else 20
    check_whole("runs", runs, least=2)
    study = Study(
        figures=figures_named(tuple(figures)),
        protocol=protocol_named(protocol),
        post_serving=post_serving or ("mlp" if protocol == "paper" else "spline"),
        runs=runs,
    )
    runner = Runner(store=CurveStore(folder), jobs=jobs, cluster=cluster, monitors=monitors)
    work = study.work()
    refuse_too_large(work, workers=runner.workers)
    announce(work, workers=runner.workers, quiet=quiet)
    with interruptible(KEPT), progress(quiet=quiet) as hear:
        record = conduct(study, runner, hear=hear)
    session = record.sessions[-1]
    out = console(quiet=quiet, json=json_file)
    out.print(
        f"{session.computed} cells played, {session.reused} reused, in {duration(session.seconds)} "
        f"({duration(session.simulated)} of processor time) with {session.workers} workers."
    )
    out.print(f"Kept in {folder}. Next: duelwise report --folder {folder}", soft_wrap=True)
    write_json(json_file, lambda: {"study": record.name, "folder": str(folder), **asdict(session)})


@app.command()
def report(
    folder: FolderOption = Path("results"),
    out: Annotated[Path, typer.Option(help="The HTML file; static figures and tables go beside it.")] = Path(
        "report/report.html"
    ),
    static: Annotated[
        bool, typer.Option(help="Also write PDF and PNG figures, CSV and LaTeX tables.")
    ] = True,
    quiet: QuietOption = False,
) -> None:
    """Write one self-contained HTML file of everything played in a folder."""
    require("plotly", extra="lab", purpose="The report")
    check_outputs(html=out)
    from duelwise.lab.report.html import write_report

    with interruptible("What was written is whole; the same command writes the rest."):
        for path in write_report(folder, out, static=static):
            console(quiet=quiet).print(f"Wrote {path}", soft_wrap=True)

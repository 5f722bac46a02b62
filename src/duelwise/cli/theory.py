"""`duelwise theory`: the paper's claims, checked on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from duelwise.cli.app import app
from duelwise.cli.interrupting import interruptible
from duelwise.cli.outputs import HtmlOption, JsonOption, check_outputs, check_writable, console, write_json
from duelwise.errors import require
from duelwise.theory.claim import Finding
from duelwise.theory.claims import CLAIMS, claims_named
from duelwise.theory.examining import as_table, examine

COLOURS = {"holds": "green", "holds with room": "green", "fails": "red"}


@app.command()
def theory(
    claim: Annotated[str, typer.Argument(help="A claim, a label of the paper, or all.")] = "all",
    seed: Annotated[int, typer.Option(help="Of every simulation.")] = 0,
    json_file: JsonOption = None,
    html_file: HtmlOption = None,
    page: Annotated[
        Path | None, typer.Option(help="Put the table between the markers of this Markdown page.")
    ] = None,
) -> None:
    """Check the paper's claims by simulation: statement, statistic, verdict and why."""
    claims_named(claim)  # refuses a name that is none, before anything is asked of extras
    if html_file is not None or page is not None:
        require("pyarrow", extra="lab", purpose="A page of findings")
    check_outputs(json=json_file, html=html_file)
    if page is not None:
        from duelwise.theory.page import parts_of

        parts_of(page)  # refuses one without the markers
        check_writable(page.resolve().parent)
    with interruptible("Nothing was written."):
        findings = _examined(claim, seed)
    out = console(quiet=False, json=json_file)
    out.print(_table(findings) if len(findings) > 1 else _full(findings[0]))
    _write(findings, seed=seed, json_file=json_file, html_file=html_file, page=page)
    for path in (json_file, html_file, page):
        if path is not None:
            out.print(f"Wrote {path}", soft_wrap=True)


def _write(
    findings: list[Finding], *, seed: int, json_file: Path | None, html_file: Path | None, page: Path | None
) -> None:
    write_json(json_file, lambda: [as_table(finding) for finding in findings])
    if html_file is not None:
        from duelwise.theory.page import write_html

        write_html(html_file, findings, seed=seed)
    if page is not None:
        from duelwise.theory.page import write_findings

        write_findings(page, findings, seed=seed)


def _examined(name: str, seed: int) -> list[Finding]:
    chosen = claims_named(name)
    columns = (
        TextColumn("{task.description:>26}"), BarColumn(), TextColumn("{task.completed}/{task.total} claims"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    findings: list[Finding] = []
    # One estimate over the whole job: claims differ in cost by a factor of hundreds.
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=86_400) as bar:
        line = bar.add_task(chosen[0].name, total=len(chosen))
        for finding in examine(chosen, seed=seed):
            findings.append(finding)
            following = chosen[len(findings)].name if len(findings) < len(chosen) else "done"
            bar.update(line, advance=1, description=following)
    return findings


def _table(findings: list[Finding]) -> Table:
    table = Table(
        "claim", "statistic", "95 %", "runs", "verdict", title=f"{len(findings)} of {len(CLAIMS)} claims"
    )
    for finding in findings:
        printed, colour = finding.checked.printed, COLOURS.get(finding.verdict, "yellow")
        table.add_row(
            finding.claim.name, f"{printed.value:.3g}", f"{printed.low:.3g} to {printed.high:.3g}",
            f"{printed.runs:,}", Text(finding.verdict, style=colour),
        )  # fmt: skip
    return table


def _full(finding: Finding) -> Table:
    """One claim with its sentences."""
    table = Table(show_header=False, title=finding.claim.name)
    for name, value in as_table(finding).items():
        table.add_row(name, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
    return table

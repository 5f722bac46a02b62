"""Findings as a table for docs/theory.md and as one HTML page with pictures."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path

from duelwise.atomic_files import write_text
from duelwise.errors import InvalidInput
from duelwise.lab.cells.codec import Plain
from duelwise.lab.report.document import document
from duelwise.lab.report.tables import Table
from duelwise.text_files import opened_text
from duelwise.theory.claim import Finding, Picture
from duelwise.theory.measuring import Measured

BEGIN, END = "<!-- findings: begin -->\n", "<!-- findings: end -->"
HEAD = ("claim", "paper", "statement", "statistic", "measured [95 %]", "corrected", "runs", "verdict", "why")


def findings_table(findings: Sequence[Finding], *, seed: int) -> Table:
    """One row for each claim."""
    rows = [
        (
            f.claim.name, ", ".join(f.claim.labels), f.claim.statement, f.claim.measures,
            _told(f.checked.printed), _told(f.checked.corrected) if f.checked.corrected else "",
            f"{f.checked.printed.runs:,}", f.verdict, f.claim.because,
        )
        for f in findings
    ]  # fmt: skip
    return Table(title=f"Claims of the paper, checked with seed {seed}", head=HEAD, rows=tuple(rows))


def write_findings(page: Path, findings: Sequence[Finding], *, seed: int) -> None:
    """Replace what stands between the page's two markers."""
    before, after = parts_of(page)
    text = findings_table(findings, seed=seed).to_markdown()
    command = f"duelwise theory all --seed {seed} --page docs/theory.md"
    told = f"{before}{BEGIN}\nWritten by `{command}`.\n\n{text}\n\n{END}{after}"
    write_text(page, told)


def parts_of(page: Path) -> tuple[str, str]:
    """What stands before the page's markers and after them."""
    with opened_text(page) as file:
        text = file.read().replace("\r\n", "\n")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InvalidInput(
            f"{page} lacks a marker. Expected a line {BEGIN.strip()} and after it one {END}: "
            "give a page that has both."
        )
    return before, after


def write_html(path: Path, findings: Sequence[Finding], *, seed: int) -> None:
    """One HTML file that needs no network: verdicts, then what each check saw."""
    charts = [picture for finding in findings for picture in finding.checked.pictures]
    drawn = "".join(_chart(f"picture-{number}", picture) for number, picture in enumerate(charts))
    table = findings_table(findings, seed=seed).to_html()
    seen = f"<h2>What the checks saw</h2>{drawn}" if drawn else ""
    body = f"<h1>The theory, checked</h1>{_counts(findings)}{table}{seen}"
    write_text(path, document("Duelwise: the theory, checked", body))


def _counts(findings: Sequence[Finding]) -> str:
    verdicts = [finding.verdict for finding in findings]
    told = ", ".join(f"{verdicts.count(each)} {each}" for each in dict.fromkeys(verdicts))
    return f"<p>{len(findings)} claim{'s' if len(findings) != 1 else ''}: {html.escape(told)}.</p>"


def _chart(name: str, picture: Picture) -> str:
    data = json.dumps(chart(picture), separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<script type="application/json" id="{name}">{data}</script>'
        f'<div class="chart" data-chart="{name}"></div>'
    )


def chart(picture: Picture) -> dict[str, Plain]:
    """Data and layout for plotly.js."""
    kind = "log" if picture.logarithmic else "linear"
    traces: list[Plain] = [
        {
            "x": [*line.x],
            "y": [*line.y],
            "name": line.name,
            "mode": "lines+markers" if len(line.x) < 20 else "lines",
        }
        for line in picture.lines
    ]
    layout: dict[str, Plain] = {
        "title": {"text": picture.title, "font": {"size": 14}},
        "xaxis": {"title": {"text": picture.across}, "type": kind},
        "yaxis": {"title": {"text": picture.up}, "type": kind},
        "template": "none", "height": 350, "margin": {"l": 70, "r": 15, "t": 45, "b": 50},
    }  # fmt: skip
    return {"data": traces, "layout": layout}


def _told(measured: Measured) -> str:
    return f"{_short(measured.value)} [{_short(measured.low)}, {_short(measured.high)}]"


def _short(value: float) -> str:
    if value != 0.0 and abs(value) < 1e-3:
        return f"{value:.0e}" if abs(value) > 1e-12 else "0"
    return f"{value:.3g}"

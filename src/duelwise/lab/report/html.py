"""The report: one HTML file that needs no network, static figures and tables beside it."""

from __future__ import annotations

import html
import json
from importlib.metadata import version
from pathlib import Path

from duelwise.lab.paper.figures import FIGURES
from duelwise.lab.paper.records import Record
from duelwise.lab.report.claims import judge, lowest_by_figure, network_cost
from duelwise.lab.report.comparison import contrast_table, curves_table, published_table, search_table
from duelwise.lab.report.interactive_charts import chart
from duelwise.lab.report.results import Results
from duelwise.lab.report.static_charts import save_figure
from duelwise.lab.report.summary import WORDS, markdown
from duelwise.lab.report.tables import Table, bounds_table, datasets_table, finals_table, settings_table
from duelwise.lab.sweep.atomic_files import write_text

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:1200px;margin:2em auto;padding:0 1em;color:#222}
h1,h2,h3{line-height:1.2} h2{border-top:2px solid #ddd;padding-top:.6em;margin-top:2em}
table{border-collapse:collapse;margin:1em 0;font-size:13px;display:block;overflow-x:auto}
caption{text-align:left;font-weight:600;padding:.3em 0}
td,th{border:1px solid #ddd;padding:.25em .6em;text-align:left}
th{background:#f4f4f4} .caption{color:#555;font-size:13px} .chart{min-height:350px}
.holds{color:#176f2c;font-weight:600}.fails{color:#b3261e;font-weight:600}.unjudged{color:#777}
nav a{margin-right:1em} details{margin:.5em 0} summary{cursor:pointer;color:#0b57d0}
"""
SCRIPT = """
const draw = new IntersectionObserver(entries => entries.forEach(entry => {
  if (!entry.isIntersecting) return;
  draw.unobserve(entry.target);
  const told = JSON.parse(document.getElementById(entry.target.dataset.chart).textContent);
  Plotly.newPlot(entry.target, told.data, told.layout, {responsive: true, displaylogo: false});
}), {rootMargin: "400px"});
document.querySelectorAll(".chart").forEach(place => draw.observe(place));
"""
"""A chart is drawn when it comes near the screen: a hundred panels at once would make a slow page."""


def write_report(folder: Path | str, out: Path, *, static: bool = True) -> list[Path]:
    """Everything played in a folder as one HTML file; gives the paths written."""
    results = Results.load(folder)
    short = out.with_name("summary.md")
    write_text(out, page(results))
    write_text(short, markdown(results))
    return [out, short, *(_write_static(results, out.parent) if static else [])]


def page(results: Results) -> str:
    """The whole document."""
    from plotly.offline import get_plotlyjs

    studies = [(record, _of(results, record)) for record in results.records]
    body = [_head(results), _verdicts(results), _paper_tables()]
    for record, chosen in studies:
        body.append(_study(record, chosen))
    links = "".join(f'<a href="#{record.name}">{_title(record)}</a>' for record, _ in studies)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Duelwise: the paper, twice</title>'
        f'<link rel="icon" href="data:,"><style>{STYLE}</style><script>{get_plotlyjs()}</script></head><body>'
        f"<h1>The whole paper, as published and fairly</h1><nav>{links}</nav>{''.join(body)}"
        f"<script>{SCRIPT}</script></body></html>"
    )


def _of(results: Results, record: Record) -> Results:
    return results.where(study=record.name)


def _title(record: Record) -> str:
    return f"{record.protocol} protocol, φ̂ = {record.post_serving}, {record.runs} runs"


def _variants(results: Results) -> list[tuple[str, Results]]:
    names = dict.fromkeys(line.variant for line in results)
    return [(name, results.where(variant=name)) for name in names]


def _head(results: Results) -> str:
    rows = [
        (
            _title(record), session.started, f"{session.seconds / 60:.1f} min",
            f"{session.simulated / 60:.1f} min", f"{session.computed}", f"{session.reused}",
            session.workers, session.machine,
        )
        for record in results.records
        for session in record.sessions
    ]  # fmt: skip
    head = ("study", "started", "by the clock", "processor time", "played", "reused", "workers", "machine")
    times = Table(title="Machine and time", head=head, rows=tuple(rows))
    said = f"Duelwise {version('duelwise')}. Every number below was counted from the curves that were played."
    return f"<p>{said}</p>{times.to_html()}"


def _verdicts(results: Results) -> str:
    parts = ["<h2>The paper's claims, judged</h2>"]
    for record in results.records:
        for variant, chosen in _variants(_of(results, record)):
            rows = [
                f'<tr><td>{html.escape(verdict.claim)}</td><td class="{_colour(verdict.holds)}">'
                f"{WORDS[verdict.holds]}</td><td>{html.escape(verdict.evidence)}</td></tr>"
                for verdict in judge(chosen)
            ]
            parts.append(f"<table><caption>{_title(record)}, {variant}</caption>{''.join(rows)}</table>")
            counts = tuple(
                (f"Fig. {figure}", f"{won} of {of}") for figure, won, of in lowest_by_figure(chosen)
            )
            table = Table(title="RCDP-UCB lowest, by figure", head=("figure", "panels"), rows=counts)
            parts.append(f"<details><summary>by figure</summary>{table.to_html()}</details>")
    network = network_cost(
        results.where(post_serving="mlp"), results.where(post_serving="spline", protocol="paper")
    )
    word = f'<span class="{_colour(network.holds)}">{WORDS[network.holds]}</span>'
    parts.append(f"<p>{html.escape(network.claim)} {word}: {html.escape(network.evidence)}</p>")
    return "".join(parts)


def _colour(holds: bool | None) -> str:
    return "unjudged" if holds is None else "holds" if holds else "fails"


def _paper_tables() -> str:
    tables = (bounds_table(), settings_table(), datasets_table())
    return "<h2>The paper's tables</h2>" + "".join(table.to_html() for table in tables)


def _study(record: Record, results: Results) -> str:
    parts = [f'<h2 id="{record.name}">{_title(record)}</h2>']
    parts.append(published_table(results).to_html())
    for variant, chosen in _variants(results):
        parts.append(finals_table(chosen, f"Final regret, {variant}; * the lowest mean").to_html())
        contrasts = contrast_table(
            chosen, f"RCDP-UCB minus each, paired, 95 % intervals, {variant}"
        ).to_html()
        parts.append(f"<details><summary>paired differences, {variant}</summary>{contrasts}</details>")
    if record.tried:
        search = search_table(record).to_html()
        parts.append(f"<details><summary>the search for settings</summary>{search}</details>")
    for number in dict.fromkeys(line.figure for line in results):
        parts.append(_figure(record, number, results.where(figure=number)))
    return "".join(parts)


def _figure(record: Record, number: str, results: Results) -> str:
    figure = FIGURES[number]
    parts = [
        f"<h3>Fig. {number}: {figure.label}</h3>",
        f'<p class="caption">{html.escape(figure.caption)}</p>',
    ]
    for place, (variant, chosen) in enumerate(_variants(results)):
        name = f"{record.name}-{number}-{place}".replace(".", "-")
        data = json.dumps(chart(chosen), separators=(",", ":")).replace("<", "\\u003c")
        parts.append(f"<p><b>{variant}</b></p>" if record.protocol == "fair" else "")
        parts.append(f'<script type="application/json" id="{name}">{data}</script>')
        parts.append(f'<div class="chart" data-chart="{name}"></div>')
    curves = curves_table(results).to_html()
    parts.append(f"<details><summary>settings and seeds of every curve</summary>{curves}</details>")
    return "".join(parts)


def _write_static(results: Results, folder: Path) -> list[Path]:
    """PDF and PNG of every figure; CSV, LaTeX and Markdown of every table."""
    tables = {"bounds": bounds_table(), "settings": settings_table(), "datasets": datasets_table()}
    written: list[Path] = []
    for record in results.records:
        for variant, chosen in _variants(_of(results, record)):
            name = f"{record.name}-{variant.replace(' ', '-')}"
            tables[f"finals-{name}"] = finals_table(chosen, f"{_title(record)}, {variant}")
            tables[f"contrasts-{name}"] = contrast_table(chosen, f"{_title(record)}, {variant}")
            for number in dict.fromkeys(line.figure for line in chosen):
                stem = folder / "figures" / f"{number}-{name}"
                written += save_figure(
                    chosen.where(figure=number), stem, title=f"Fig. {number}, {_title(record)}"
                )
        tables[f"published-{record.name}"] = published_table(_of(results, record))
    for name, table in tables.items():
        for ending, text in _forms(table).items():
            path = folder / "tables" / f"{name}.{ending}"
            write_text(path, text)
            written.append(path)
    return written


def _forms(table: Table) -> dict[str, str]:
    """The table's texts by the ending of their files."""
    return {"csv": table.to_csv(), "tex": table.to_latex(), "md": table.to_markdown() + "\n"}

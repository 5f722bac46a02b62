"""The report: one HTML file that needs no network, static figures and tables beside it."""

from __future__ import annotations

import html
from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path

from duelwise.atomic_files import write_text
from duelwise.lab.paper.captions import differences
from duelwise.lab.paper.figures import FIGURES
from duelwise.lab.paper.records import OWN, StudyRecord
from duelwise.lab.report.claims import OURS, judge, lowest_by_figure, network_cost
from duelwise.lab.report.comparison import contrast_table, curves_table, published_table, search_table
from duelwise.lab.report.document import document, place_chart
from duelwise.lab.report.interactive_charts import chart
from duelwise.lab.report.results import Results
from duelwise.lab.report.static_charts import save_figure
from duelwise.lab.report.summary import WORDS, markdown
from duelwise.lab.report.tables import (
    Table,
    bounds_table,
    datasets_table,
    finals_table,
    monitors_table,
    settings_table,
)


def write_report(folder: Path | str, out: Path, *, static: bool = True) -> list[Path]:
    """Everything played in a folder as one HTML file; gives the paths written."""
    results = Results.load(folder)
    short = out.with_name("summary.md")
    write_text(out, page(results))
    write_text(short, markdown(results))
    return [out, short, *(_write_static(results, out.parent) if static else [])]


def page(results: Results) -> str:
    """The whole document; the paper's claims and tables only where figures of the paper were played."""
    studies = [(record, _of(results, record)) for record in results.records]
    body = [_head(results)]
    if any(record.protocol != OWN for record in results.records):
        body += [_verdicts(results), _paper_tables()]
    for record, chosen in studies:
        body.append(_own(record, chosen) if record.protocol == OWN else _study(record, chosen))
    links = "".join(f'<a href="#{record.name}">{html.escape(_title(record))}</a>' for record, _ in studies)
    title = heading(results.records)
    return document(f"Duelwise: {title}", f"<h1>{title}</h1><nav>{links}</nav>{''.join(body)}")


def heading(records: Collection[StudyRecord]) -> str:
    """What the report holds, and no more."""
    drawn: dict[str, set[str]] = {}
    for record in records:
        if record.protocol != OWN:
            drawn.setdefault(record.protocol, set()).update(record.figures)
    own = sum(record.protocol == OWN for record in records)
    parts: list[str] = []
    if drawn.keys() == {"paper", "fair"} and all(len(figures) == len(FIGURES) for figures in drawn.values()):
        parts.append("the whole paper, as published and fairly")
    else:
        words = {"paper": "as published", "fair": "fairly"}
        parts += [
            f"{len(figures)} of the paper's {len(FIGURES)} figures {words.get(protocol, protocol)}"
            for protocol, figures in drawn.items()
        ]
    if own:
        parts.append(f"{own} own experiment{'s' if own > 1 else ''}")
    said = ", ".join(parts)
    return said[0].upper() + said[1:]


def _of(results: Results, record: StudyRecord) -> Results:
    return results.where(study=record.name)


def _title(record: StudyRecord) -> str:
    if record.protocol == OWN:
        return f"{record.title}, {record.runs} runs"
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
        if record.protocol == OWN:
            continue
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
            parts.append(_folded("by figure", table))
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


def _study(record: StudyRecord, results: Results) -> str:
    parts = [f'<h2 id="{record.name}">{_title(record)}</h2>']
    published = published_table(results)
    parts.append(published.to_html() if published.rows else "")
    for variant, chosen in _variants(results):
        parts.append(finals_table(chosen, f"Final regret, {variant}; * the lowest mean").to_html())
        contrasts = contrast_table(chosen, f"RCDP-UCB minus each, paired, 95 % intervals, {variant}")
        parts.append(_folded(f"paired differences, {variant}", contrasts))
    parts += [_monitors(results), _folded("the search for settings", search_table(record))]
    for number in dict.fromkeys(line.figure for line in results):
        parts.append(_figure(record, number, results.where(figure=number)))
    return "".join(parts)


def _monitors(results: Results) -> str:
    """What the runs say of the theory's assumptions, where the monitors were on."""
    table = monitors_table(results, "Means over runs; docs/theory.md says what to hold them against")
    return "" if table is None else _folded("what the monitors saw", table)


def _folded(summary: str, table: Table) -> str:
    """A table that is shown when its summary is clicked; nothing where it has no rows."""
    return f"<details><summary>{summary}</summary>{table.to_html()}</details>" if table.rows else ""


def _own(record: StudyRecord, results: Results) -> str:
    """An experiment of one's own: ranking, paired differences, curves."""
    parts = [f'<h2 id="{record.name}">{html.escape(_title(record))}</h2>']
    parts.append(finals_table(results, "Final regret; * the lowest mean").to_html())
    if OURS in results.methods():
        contrasts = contrast_table(results, "RCDP-UCB minus each, paired, 95 % intervals")
        parts.append(_folded("paired differences", contrasts))
    parts += [_monitors(results), place_chart(record.name, chart(results))]
    parts.append(_folded("settings and seeds of every curve", curves_table(results)))
    return "".join(parts)


def _figure(record: StudyRecord, number: str, results: Results) -> str:
    figure = FIGURES[number]
    other = differences(
        figure.label, protocol=record.protocol, post_serving=record.post_serving, runs=record.runs
    )
    parts = [
        f"<h3>Fig. {number}: {figure.label}</h3>",
        f'<p class="caption">The paper\'s caption: “{html.escape(figure.caption)}”</p>',
    ]
    if other:
        parts.append(f'<p class="caption differs">Drawn here with {html.escape("; ".join(other))}.</p>')
    for place, (variant, chosen) in enumerate(_variants(results)):
        name = f"{record.name}-{number}-{place}".replace(".", "-")
        parts.append(f"<p><b>{variant}</b></p>" if record.protocol == "fair" else "")
        parts.append(place_chart(name, chart(chosen)))
    parts.append(_folded("settings and seeds of every curve", curves_table(results)))
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
                title = _title(record) if record.protocol == OWN else f"Fig. {number}, {_title(record)}"
                written += save_figure(chosen.where(figure=number), stem, title=title)
        seen = monitors_table(_of(results, record), f"{_title(record)}, monitors")
        if seen is not None:
            tables[f"monitors-{record.name}"] = seen
        if record.protocol != OWN:
            tables[f"published-{record.name}"] = published_table(_of(results, record))
    for name, table in tables.items():
        if not table.rows:
            continue
        for ending, text in _forms(table).items():
            path = folder / "tables" / f"{name}.{ending}"
            write_text(path, text)
            written.append(path)
    return written


def _forms(table: Table) -> dict[str, str]:
    """The table's texts by the ending of their files."""
    return {"csv": table.to_csv(), "tex": table.to_latex(), "md": table.to_markdown() + "\n"}

"""A report's summary in Markdown: times, verdicts, ours beside the published, the fair comparison."""

from __future__ import annotations

from duelwise.lab.paper.figures import FIGURES
from duelwise.lab.paper.records import OWN, StudyRecord
from duelwise.lab.report.claims import judge, network_cost
from duelwise.lab.report.comparison import BASE_FIGURES, published_table
from duelwise.lab.report.results import Contrast, Results
from duelwise.lab.report.tables import Table, finals_table
from duelwise.lab.report.verdicts import OURS, RIVAL, ClaimVerdict

WORDS = {True: "holds", False: "does not hold", None: "not judged"}


def markdown(results: Results) -> str:
    """Every study of the results, one section each."""
    parts = [
        (_own if record.protocol == OWN else _study)(record, results.where(study=record.name))
        for record in results.records
    ]
    if all(record.protocol == OWN for record in results.records):
        return "\n\n".join(parts) + "\n"
    neural, spline = results.where(post_serving="mlp"), results.where(post_serving="spline", protocol="paper")
    parts.append(verdicts_table([network_cost(neural, spline)], "The network").to_markdown())
    return "\n\n".join(parts) + "\n"


def verdicts_table(verdicts: list[ClaimVerdict], title: str) -> Table:
    """Claims, whether they hold, and what says so."""
    rows = tuple((verdict.claim, WORDS[verdict.holds], verdict.evidence) for verdict in verdicts)
    return Table(title=title, head=("claim", "verdict", "evidence"), rows=rows)


def command(record: StudyRecord) -> str:
    """What was typed to make a study."""
    figures = " ".join(record.figures)
    options = f"--protocol {record.protocol} --post-serving {record.post_serving} --runs {record.runs}"
    return f"duelwise reproduce {'all' if len(record.figures) == len(FIGURES) else figures} {options}"


def _study(record: StudyRecord, results: Results) -> str:
    clock, cells = sum(s.seconds for s in record.sessions) / 60, sum(s.computed for s in record.sessions)
    busy = sum(session.simulated for session in record.sessions) / 60
    last = record.sessions[-1]
    parts = [
        f"## {record.protocol} protocol, φ̂ = {record.post_serving}, {record.runs} runs",
        f"```\n{command(record)}\n```",
        f"{cells} cells in {clock:.1f} minutes by the clock, {busy:.1f} minutes of processor time; "
        f"{last.workers} workers, {last.machine}.",
    ]
    base = results.where(figure=BASE_FIGURES)
    for variant in dict.fromkeys(line.variant for line in results):
        chosen = results.where(variant=variant)
        parts += [f"**{variant}**", verdicts_table(judge(chosen), variant).to_markdown()]
        drawn = base.where(variant=variant)
        if record.protocol == "fair" and len(drawn):
            parts += [finals_table(drawn, variant).to_markdown()]
            parts += [_against_rival(drawn.contrast(OURS, RIVAL)).to_markdown()]
    if record.protocol == "paper" and len(base):
        table = published_table(results)
        parts += [f"{table.title}:", table.to_markdown()]
    return "\n\n".join(parts)


def _own(record: StudyRecord, results: Results) -> str:
    table = finals_table(results, "Final regret")
    return f"## {record.title}, {record.runs} runs\n\n{table.to_markdown()}"


def _against_rival(contrasts: list[Contrast]) -> Table:
    rows = tuple(
        (c.figure, c.panel, f"{c.mean:,.0f}", f"{c.low:,.0f} to {c.high:,.0f}", c.verdict) for c in contrasts
    )
    head = ("figure", "panel", "RCDP-UCB - RCDB", "95 % interval", "RCDP-UCB is")
    return Table(title="Paired differences", head=head, rows=rows)

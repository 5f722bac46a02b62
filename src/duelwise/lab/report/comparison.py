"""Tables that set results beside each other: ours and theirs, pairs, settings, searches."""

from __future__ import annotations

import math

from duelwise.lab.cells.codec import encode_kind
from duelwise.lab.cells.problem import CONTEXTS, CORRUPTIONS, DELAYS, WORLDS
from duelwise.lab.paper.figures import Panel
from duelwise.lab.paper.published import agrees, published
from duelwise.lab.paper.records import StudyRecord
from duelwise.lab.report.results import PlacedCurve, Results
from duelwise.lab.report.style import name_of
from duelwise.lab.report.tables import Table
from duelwise.lab.report.verdicts import OURS

BASE_FIGURES = ("1", "2", "3")  # the settings whose published numbers are known


def published_table(results: Results) -> Table:
    """Ours beside the published number, at the base settings."""
    methods = results.methods()
    rows: list[tuple[str, ...]] = []
    for place in results.where(figure=BASE_FIGURES).places():
        panel = place.lines[0].drawn_in
        beside = {line.method: _beside(line, panel) for line in place}
        cells = [beside.get(name, "") for name in methods]
        rows.append((panel.task, panel.regime, place.lines[0].variant, *cells))
    head = ("task", "delay", "variant", *[name_of(name) for name in methods])
    title = (
        "Final regret: ours / published (~ read off a figure); ✓ within 12 %, baselines 25 %, or three "
        "combined standard errors"
    )
    return Table(title=title, head=head, rows=tuple(rows))


def _beside(line: PlacedCurve, panel: Panel) -> str:
    final = line.curve.final
    ours = f"{final.mean():,.0f} ± {final.std(ddof=1):,.0f}"
    theirs = published(panel.task, panel.regime, line.method)
    if theirs is None:
        return ours
    return f"{ours} / {theirs} {'✓' if agrees(theirs, final, method=line.method) else '✗'}"


def contrast_table(results: Results, title: str) -> Table:
    """RCDP-UCB minus every other method, paired by run."""
    rows = [
        (
            c.figure, c.panel, name_of(c.second), f"{c.mean:,.1f}",
            *("" if math.isnan(end) else f"{end:,.1f}" for end in (c.low, c.high)), c.verdict,
        )
        for other in results.methods()
        if other != OURS
        for c in results.contrast(OURS, other)
    ]  # fmt: skip
    head = ("figure", "panel", "against", "difference", "low", "high", "RCDP-UCB is")
    return Table(title=title, head=head, rows=tuple(rows))


def curves_table(results: Results) -> Table:
    """Settings, seeds and costs of every curve."""
    rows: list[tuple[str, ...]] = []
    for line in results:
        curve, problem = line.curve, line.curve.cell.problem
        method = curve.cell.method
        read = {} if method.preset == "paper" else {"preset": method.preset}
        told = ", ".join(f"{name} {_short(value)}" for name, value in {**read, **method.told()}.items())
        world, delay, lies, contexts = (
            ", ".join(f"{name} {_short(value)}" for name, value in encode_kind(part, kinds).items())
            for part, kinds in (
                (problem.world, WORLDS),
                (problem.delay, DELAYS),
                (problem.corruption, CORRUPTIONS),
                (problem.contexts, CONTEXTS),
            )
        )
        runs = curve.cell.runs
        rows.append(
            (
                line.panel, line.variant, name_of(line.method), told or "published preset",
                method.post_serving, world, delay, lies, contexts,
                f"T {problem.horizon}, seed {problem.seed}",
                f"{runs[0]}-{runs[-1]}", f"{curve.self_duels.mean():.0%}",
                f"{curve.distinct_regret.mean():,.0f}", f"{curve.seconds:.1f}",
            )
        )  # fmt: skip
    head = (
        "panel", "variant", "method", "settings", "φ̂", "world", "delay", "corruption", "contexts",
        "horizon and seed", "runs", "self-duels", "regret from the best distinct pair", "seconds",
    )  # fmt: skip
    return Table(title="Curves", head=head, rows=tuple(rows))


def search_table(record: StudyRecord) -> Table:
    """Every candidate of the search on held-out seeds; * was taken."""
    rows = tuple(
        (
            tried.task, tried.regime, tried.variant, name_of(tried.method), f"{tried.exploration_width:g}",
            tried.clip_rule or "", f"{tried.mean:,.0f}{'*' if tried.chosen else ''}",
        )
        for tried in record.tried
    )  # fmt: skip
    head = ("task", "delay", "variant", "method", "width", "clip", "mean final regret")
    return Table(title="Search on held-out seeds", head=head, rows=rows)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

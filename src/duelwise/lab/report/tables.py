"""The paper's three tables, and tables of results, as rows that become CSV, LaTeX or HTML."""

from __future__ import annotations

import csv
import html
import io
import math
from dataclasses import dataclass

import numpy as np

from duelwise.lab.play.checks import LARGEST, check_number, check_whole
from duelwise.lab.report.results import Results
from duelwise.lab.report.style import name_of
from duelwise.lab.worlds.datasets import DATASETS, load
from duelwise.learning.monitoring import Watched
from duelwise.learning.radii import delay_complexity
from duelwise.types import Array


@dataclass(frozen=True, kw_only=True)
class Table:
    """A title, a head and rows of text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_csv(self) -> str:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([self.head, *self.rows])
        return out.getvalue()

    def to_latex(self) -> str:
        """A tabular with booktabs rules; unicode letters need lualatex or xelatex."""
        lines = [" & ".join(map(_latex, row)) + r" \\" for row in (self.head, *self.rows)]
        body = "\n".join(["\\toprule", lines[0], "\\midrule", *lines[1:], "\\bottomrule"])
        columns = "l" * len(self.head)
        return f"% {self.title}\n\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n"

    def to_html(self) -> str:
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.head)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows
        )
        return f"<table><caption>{html.escape(self.title)}</caption><tr>{head}</tr>{rows}</table>"

    def to_markdown(self) -> str:
        lines = [self.head, ("---",) * len(self.head), *self.rows]
        cells = [[cell.replace("|", "\\|") for cell in row] for row in lines]
        return "\n".join("| " + " | ".join(row) + " |" for row in cells)


@dataclass(frozen=True, kw_only=True)
class Budgets:
    """The sizes a bound is computed for."""

    dim: int = 20
    horizon: int = 2000
    corruption_budget: float = 25.0
    delay_budget: float = 10_000.0
    mean_delay: float = 100.0

    def __post_init__(self) -> None:
        check_whole("dim", self.dim, least=1, most=LARGEST)
        check_whole("horizon", self.horizon, least=1, most=LARGEST)
        for name in ("corruption_budget", "delay_budget", "mean_delay"):
            check_number(name, getattr(self, name), least=0.0)

    @property
    def window_share(self) -> float:
        """P(τ ≤ μ) of a symmetric delay: what OTFLinUCB's window m = μ catches."""
        return 0.5

    @property
    def vote_variance(self) -> float:
        """The largest variance of a vote."""
        return 0.25


def bounds_table(b: Budgets | None = None) -> Table:
    """Table 1: the leading terms, without constants and logarithms, computed for given budgets."""
    b = b or Budgets()
    d, T, C, mu = b.dim, b.horizon, b.corruption_budget, b.mean_delay
    largest = math.sqrt(b.delay_budget)  # the paper's adversary delays by √Λ at most
    D = delay_complexity(delay_budget=b.delay_budget, mean_delay=mu)
    root = math.sqrt(T)
    late = d * root + d**1.5 * mu
    rows: list[tuple[str, str, str, str, str, float]] = [
        ("linear", "no", "no", "OFUL", "d√T", d * root),
        ("linear", "yes", "no", "CW-OFUL", "d√T + dC", d * root + d * C),
        ("linear", "no", "stochastic", "Delayed-UCB", "√(dT(d + E[τ]))", math.sqrt(d * T * (d + mu))),
        ("linear", "no", "stochastic", "OTFLinUCB", "(d√T + md)/τ_m", (d * root + mu * d) / b.window_share),
        ("linear", "no", "stochastic", "GLB-UCB", "d√T + d^{3/2}E[τ]", late),
        ("linear", "no", "adversarial", "Ito et al.", "√(d(d + d_max)T)", math.sqrt(d * (d + largest) * T)),
        ("generalised linear", "no", "no", "GLM-UCB", "d√T", d * root),
        (
            "generalised linear",
            "yes",
            "no",
            "GAdaOFUL",
            "d√(Σσ_t²) + dC",
            d * math.sqrt(T * b.vote_variance) + d * C,
        ),
        ("generalised linear", "yes", "no", "Ye et al.", "d√T + dC", d * root + d * C),
        ("generalised linear", "no", "stochastic", "Delayed-UCB", "d√T + dE[τ]√T", d * root + d * mu * root),
        ("generalised linear", "no", "stochastic", "GLB-UCB", "d√T + d^{3/2}E[τ]", late),
        ("linear dueling", "no", "no", "MaxInP, CoLSTIM", "d√T", d * root),
        ("linear dueling", "yes", "no", "RCDB", "d√T + dC", d * root + d * C),
        ("linear dueling", "yes", "both", "RCDP-UCB", "d(√T + C + D)", d * (root + C + D)),
    ]
    title = (
        f"Upper bounds, leading terms at d = {d}, T = {T}, C = {C:g}, Λ = {b.delay_budget:g}, μ = {mu:g} "
        f"(D = {D:g}, m = μ, τ_m = {b.window_share:g}, d_max = {largest:g}, σ_t² = {b.vote_variance:g})"
    )
    head = ("setting", "corruption", "delay", "algorithm", "bound", "value")
    return Table(title=title, head=head, rows=tuple((*row[:-1], f"{row[-1]:,.0f}") for row in rows))


def settings_table() -> Table:
    """The paper's settings, and where ours are."""
    rows = (
        ("Time horizon", "T", "2,000"), ("Pre-serving dimension", "d_x", "10"), ("Number of arms", "K", "10"),
        ("Number of runs", "", "10"), ("Corruption budget", "C", "25"),
        ("Strategic delay budget", "Λ", "10,000"),
        ("Stochastic delay mean", "μ", "100"), ("Stochastic delay deviation", "σ", "100"),
        ("Regularisation", "λ", "1.0"), ("MLP hidden units", "", "(64, 64)"),
        ("MLP learning rate", "η", "0.001"),
        ("Optimiser", "", "Adam"),
    )  # fmt: skip
    return Table(title="Experimental settings of the paper", head=("parameter", "symbol", "value"), rows=rows)


def datasets_table() -> Table:
    """The paper's dataset statistics, counted from the shipped files."""
    paper = {"magic": "19,020", "satimage": "6,430", "spambase": "4,601"}
    rows: list[tuple[str, ...]] = []
    for name, said in paper.items():
        data, entry = load(name), DATASETS[name]
        total = data.features.shape[1]
        after = total - entry.context_dim
        counts = (f"{len(data.label):,}", said, total, entry.context_dim, after, len(data.classes))
        rows.append((entry.title, *map(str, counts)))
    head = ("dataset", "samples", "samples in the paper", "features", "before serving", "after", "classes")
    return Table(title="Real-world datasets", head=head, rows=tuple(rows))


def finals_table(results: Results, title: str) -> Table:
    """Mean ± sd of the final regret in every place, methods side by side; * marks the lowest mean."""
    methods = results.methods()
    rows: list[tuple[str, ...]] = []
    for place in results.places():
        finals = {line.method: line.curve.final for line in place}
        lowest = min(finals, key=lambda name: float(finals[name].mean()))
        cells = [
            f"{_mean_and_deviation(finals[m])}{'*' if m == lowest else ''}" if m in finals else ""
            for m in methods
        ]
        rows.append((place.lines[0].figure, place.lines[0].panel, *cells))
    return Table(title=title, head=("figure", "panel", *[name_of(m) for m in methods]), rows=tuple(rows))


def _mean_and_deviation(values: Array) -> str:
    """One value has no deviation."""
    deviation = f" ± {values.std(ddof=1):,.0f}" if len(values) > 1 else ""
    return f"{values.mean():,.0f}{deviation}"


def monitors_table(results: Results, title: str) -> Table | None:
    """Means over runs of what the monitors saw in every place, by method; None where they were off."""
    rows = [
        (line.figure, line.panel, name_of(line.method), *_means(line.curve.watched))
        for line in results
        if line.curve.watched is not None
    ]
    seen = ("ġ < κ, share of duels", "largest ‖Θ̂‖", "largest ‖z‖", "a of φ̂", "error of φ̂ when served")
    head = ("figure", "panel", "method", *seen)
    return Table(title=title, head=head, rows=tuple(rows)) if rows else None


def _means(seen: Watched) -> tuple[str, ...]:
    each: list[Array] = list(vars(seen).values())
    return tuple("" if np.isnan(values).all() else f"{np.nanmean(values):.3g}" for values in each)


LATEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "_%&#${}"}
    | {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\textasciitilde{}"}
)


def _latex(text: str) -> str:
    """Text as LaTeX prints it; a bare ~ would be a blank, and a number read off a figure one of theirs."""
    return text.translate(LATEX)

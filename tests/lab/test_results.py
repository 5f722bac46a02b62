"""Results: selected, tabulated, contrasted, drawn; claims judged by the numbers alone."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import t as student_t
from small import made_up

from duelwise.errors import InvalidInput
from duelwise.lab.cells.experiment import Method
from duelwise.lab.cells.problem import LateTable
from duelwise.lab.paper.figures import FIGURES
from duelwise.lab.paper.published import agrees, published
from duelwise.lab.paper.records import StudyRecord, Tried
from duelwise.lab.report import pictures, static_charts
from duelwise.lab.report.claims import growth, judge, lowest_by_figure, network_cost
from duelwise.lab.report.comparison import contrast_table, curves_table, published_table, search_table
from duelwise.lab.report.pictures import Band, Bar, save_bars, save_bars_page, save_page
from duelwise.lab.report.results import Results, interval
from duelwise.lab.report.static_charts import plot_contrasts, plot_finals, plot_regret, save_figure
from duelwise.lab.report.tables import (
    Budgets,
    Table,
    bounds_table,
    datasets_table,
    finals_table,
    monitors_table,
    settings_table,
)
from duelwise.learning.monitoring import Watched
from known import known

FINALS = {
    ("1", "Strategic", "rcdp-ucb"): [460.0, 470.0, 480.0],
    ("1", "Strategic", "rcdb"): [800.0, 790.0, 795.0],
    ("1", "Stochastic", "rcdp-ucb"): [900.0, 905.0, 910.0],
    ("1", "Stochastic", "rcdb"): [800.0, 790.0, 795.0],
}


def test_where_selects_by_label() -> None:
    results = made_up(FINALS)
    assert len(results.where(method="rcdb")) == 2
    assert len(results.where(panel="Strategic", method=("rcdb", "rcdp-ucb"))) == 2
    assert len(results.where(figure="2")) == 0
    assert [len(place) for place in results.places()] == [2, 2]


def test_a_line_is_asked_for_in_one_place() -> None:
    with pytest.raises(InvalidInput, match="select a single place"):
        made_up(FINALS).line("rcdb")


def test_contrasts_are_paired_t_intervals() -> None:
    contrast = made_up(FINALS).where(panel="Strategic").contrast("rcdp-ucb", "rcdb")[0]
    difference = np.array([460.0 - 800.0, 470.0 - 790.0, 480.0 - 795.0])
    low, high = student_t.interval(0.95, 2, difference.mean(), difference.std(ddof=1) / math.sqrt(3))
    assert (contrast.mean, contrast.low, contrast.high) == pytest.approx((difference.mean(), low, high))
    assert contrast.verdict == "lower"


def test_one_run_has_no_interval() -> None:
    mean, low, high = interval(np.array([3.0]))
    assert mean == 3.0
    assert math.isnan(low)
    assert math.isnan(high)


def test_a_data_frame_has_a_row_for_each_run() -> None:
    frame = made_up(FINALS).to_pandas()
    assert len(frame) == 12
    assert frame.query("method == 'rcdb'")["final_regret"].mean() == pytest.approx(795.0)


def test_plots_take_an_axis_and_return_it() -> None:
    place = made_up(FINALS).where(panel="Strategic")
    for plot in (
        partial(plot_regret, place),
        partial(plot_finals, place),
        partial(plot_contrasts, place.contrast("rcdp-ucb", "rcdb")),
    ):
        axis = Figure().subplots()
        assert plot(axis) is axis
        assert plot().has_data()


def test_a_band_is_one_deviation_around_the_mean() -> None:
    axis: Any = plot_regret(made_up({("1", "Strategic", "rcdb"): [10.0, 20.0]}))
    (line,), (band,) = axis.get_lines(), axis.collections
    last = np.asarray(line.get_xydata())[-1]
    assert last.tolist() == [2000.0, 15.0]
    edges = [y for x, y in np.asarray(band.get_paths()[0].vertices) if x == 2000.0]
    assert (min(edges), max(edges)) == (10.0, 20.0)


def test_boxes_and_differences_stand_at_their_names() -> None:
    results = made_up(FINALS)
    axis: Any = plot_finals(results.where(panel="Strategic"))
    assert axis.get_xticks().tolist() == [1, 2]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["RCDP-UCB", "RCDB"]
    contrasts = results.contrast("rcdp-ucb", "rcdb")
    axis = plot_contrasts(contrasts)
    assert axis.get_xlabel() == "Final regret, RCDP-UCB - RCDB"
    assert [label.get_text() for label in axis.get_yticklabels()] == ["1 Strategic", "1 Stochastic"]
    (bars,) = axis.collections
    for contrast, bar in zip(contrasts, bars.get_segments(), strict=True):
        assert bar[:, 0].tolist() == pytest.approx([contrast.low, contrast.high])


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-3.0, -1.0, "lower"),
        (-3.0, 0.0, "no difference shown"),
        (0.0, 3.0, "no difference shown"),
        (1.0, 3.0, "higher"),
    ],
)
def test_a_difference_is_shown_where_its_interval_leaves_out_zero(
    low: float, high: float, verdict: str
) -> None:
    (contrast,) = made_up(FINALS).where(panel="Strategic").contrast("rcdp-ucb", "rcdb")
    assert replace(contrast, low=low, high=high).verdict == verdict


def test_the_networks_share_of_the_time() -> None:
    """Twenty seconds for two runs with it, eighteen for three without it: 10 s and 6 s a run."""
    panel = FIGURES["2"].panels[0].title

    def taking(seconds: float, runs: int) -> Results:
        (line,) = made_up({("2", panel, "rcdp-ucb"): [1.0] * runs})
        return Results([replace(line, curve=replace(line.curve, seconds=seconds))])

    verdict = network_cost(taking(20.0, 2), taking(18.0, 3))
    assert verdict.holds is False
    assert verdict.evidence.startswith("10.0 s a run with the network, 6.00 s with a spline in its place")
    assert "about 40% of the time" in verdict.evidence
    assert network_cost(taking(10.0, 1), taking(9.0, 1)).holds is True
    assert network_cost(taking(10.0, 1), taking(8.9, 1)).holds is False


def test_searches_and_curves_are_tabulated() -> None:
    tried = Tried(
        task="linear", regime="strategic", variant="distinct pairs", method="rcdb", exploration_width=0.3,
        clip_rule=None, mean=1234.5, chosen=True, key="k",
    )  # fmt: skip
    worse = replace(tried, clip_rule="√d/C", mean=2000.0, chosen=False)
    record = StudyRecord(protocol="fair", post_serving="spline", runs=2, code="c", tried=(tried, worse))
    assert search_table(record).rows == (
        ("linear", "strategic", "distinct pairs", "RCDB", "0.3", "", "1,234*"),
        ("linear", "strategic", "distinct pairs", "RCDB", "0.3", "√d/C", "2,000"),
    )
    (row,) = curves_table(made_up({("1", "Strategic", "rcdb"): [10.0, 20.0, 30.0]})).rows
    assert row[:5] == ("Strategic", "as published", "RCDB", "published preset", "none")
    assert row[9:] == ("T 2000, seed 0", "0-2", "0%", "20", "1.0")


def test_one_run_has_neither_deviation_nor_interval() -> None:
    results = made_up({("1", "Strategic", "rcdp-ucb"): [460.0], ("1", "Strategic", "rcdb"): [800.0]})
    assert finals_table(results, "").rows == (("1", "Strategic", "460*", "800"),)
    (row,) = contrast_table(results, "").rows
    assert row[3:] == ("-340.0", "", "", "no difference shown")


def test_curves_say_what_part_of_the_paper_they_follow() -> None:
    (line,) = made_up({("1", "Strategic", "rcdp-ucb"): [10.0, 20.0]})
    cell = replace(line.curve.cell, method=Method(name="rcdp-ucb", preset="listing-1"))
    (row,) = curves_table(Results([replace(line, curve=replace(line.curve, cell=cell))])).rows
    assert row[3] == "preset listing-1"


def test_curves_say_how_their_contexts_came() -> None:
    (line,) = made_up({("1", "Strategic", "rcdb"): [10.0, 20.0]})
    late = LateTable(late="geometric", mean=20.0, missing_sides=0.2)
    cell = replace(line.curve.cell, problem=replace(line.curve.cell.problem, contexts=late))
    results = Results([line, replace(line, curve=replace(line.curve, cell=cell))])
    at_once, lately = (
        row[curves_table(results).head.index("contexts")] for row in curves_table(results).rows
    )
    assert at_once == "kind at-once"
    assert lately.startswith("kind late, late geometric, mean 20, std 0, missing_sides 0.2")


def test_figures_are_saved_as_pdf_and_png(tmp_path: Path) -> None:
    paths = save_figure(made_up(FINALS), tmp_path / "1-paper", title="Fig. 1")
    assert [path.name for path in paths] == ["1-paper.pdf", "1-paper.png"]
    assert paths[0].read_bytes().startswith(b"%PDF")
    assert paths[1].read_bytes().startswith(b"\x89PNG")


def test_claims_fail_where_the_numbers_say_so() -> None:
    verdicts = {verdict.claim: verdict for verdict in judge(made_up(FINALS))}
    lowest = verdicts["RCDP-UCB has the lowest regret everywhere."]
    assert lowest.holds is False
    assert "in 1 of 2 panels" in lowest.evidence
    rival = verdicts["RCDP-UCB consistently outperforms RCDB."]
    assert rival.holds is False
    assert "lower in 1, higher in 1" in rival.evidence
    assert verdicts["In the linear task the gap to RCDB widens as d grows."].holds is None
    assert lowest_by_figure(made_up(FINALS)) == [("1", 1, 2)]


@pytest.mark.parametrize(("gaps", "holds"), [((100, 200, 300), True), ((100, 300, 200), False)])
def test_the_gap_widens_only_if_it_grows_at_every_step(gaps: tuple[int, ...], holds: bool) -> None:
    finals = {}
    for regime in ("Strategic", "Stochastic"):
        for dim, gap in zip((10, 20, 30), gaps, strict=True):
            finals["E.2", f"{regime}: d = {dim}", "rcdp-ucb"] = [500.0, 501.0]
            finals["E.2", f"{regime}: d = {dim}", "rcdb"] = [500.0 + gap, 501.0 + gap]
    assert judge(made_up(finals))[2].holds is holds
    half = {place: final for place, final in finals.items() if place[1].startswith("Strategic")}
    assert judge(made_up(half))[2].holds is (None if holds else False)


def test_stable_in_arms_takes_every_sweep_of_the_paper() -> None:
    finals = {
        (figure, panel.title, "rcdp-ucb"): [500.0, 510.0]
        for figure in ("E.6", "E.7", "E.8", "E.9")
        for panel in FIGURES[figure].panels
    }
    whole = judge(made_up(finals))[3]
    assert whole.holds is True
    assert "in 8 of 8 sweeps" in whole.evidence
    rest = {place: final for place, final in finals.items() if not place[1].startswith("Stochastic")}
    assert judge(made_up(rest))[3].holds is None  # four of eight sweeps say nothing against it
    last = next(reversed(finals))
    assert judge(made_up({**finals, last: [5000.0, 5100.0]}))[3].holds is False


@pytest.mark.parametrize(("spread", "holds"), [(1.0, None), (200.0, False)])
def test_the_gap_widens_only_if_it_grows_by_more_than_chance(spread: float, holds: bool | None) -> None:
    finals = {}
    for dim, gap in zip((10, 20, 30), (100.0, 110.0, 120.0), strict=True):
        rival = [500.0 + gap - spread, 500.0 + gap, 500.0 + gap + spread]
        finals["E.2", f"Stochastic: d = {dim}", "rcdp-ucb"] = [500.0, 500.0, 500.0]
        finals["E.2", f"Stochastic: d = {dim}", "rcdb"] = rival if dim < 30 else rival[::-1]
    verdict = judge(made_up(finals))[2]
    assert "d = 10, 20, 30: 100, 110, 120 (from first to last +20" in verdict.evidence
    assert verdict.holds is holds


@pytest.mark.parametrize(("last", "holds"), [(550.0, True), (700.0, False)])
def test_stability_is_a_ratio_of_means(last: float, holds: bool) -> None:
    finals = {}
    for figure in ("E.6", "E.7", "E.8", "E.9"):
        for regime in ("Strategic", "Stochastic"):
            for arms in (10, 20, 30):
                final = last if arms == 30 else 500.0
                finals[figure, f"{regime}: K = {arms}", "rcdp-ucb"] = [final, final]
    assert judge(made_up(finals))[3].holds is holds
    few = {place: final for place, final in finals.items() if place[0] == "E.6"}
    assert judge(made_up(few))[3].holds is (None if holds else False)


def test_a_claim_about_all_panels_needs_all_of_them() -> None:
    """Two panels that agree are no "everywhere"."""
    won = {place: final for place, final in FINALS.items() if place[1] == "Strategic"}
    lowest = judge(made_up(won))[0]
    assert lowest.holds is None
    assert "in 1 of 1 panels (the paper draws" in lowest.evidence
    everywhere = {
        (number, panel.title, method): [1.0, 1.1] if method == "rcdp-ucb" else [2.0, 2.1]
        for number, figure in FIGURES.items()
        for panel in figure.panels
        for method in panel.methods
    }
    assert [verdict.holds for verdict in judge(made_up(everywhere))[:2]] == [True, True]


@pytest.mark.parametrize(("power", "holds"), [(0.5, None), (1.0, False)])
def test_sublinear_is_an_exponent_below_one(power: float, holds: bool | None) -> None:
    results = made_up({("1", "Strategic", "rcdp-ucb"): [400.0, 410.0, 420.0]}, power=power)
    line = results.lines[0].curve
    assert growth(line.rounds, line.regret)[0] == pytest.approx(power)
    assert judge(results)[5].holds is holds


def verdict_on(finals: dict[tuple[str, str, str], list[float]], claim: str) -> bool | None:
    return next(verdict for verdict in judge(made_up(finals)) if claim in verdict.claim).holds


@pytest.mark.parametrize(("stochastic", "holds"), [(560.0, True), (700.0, False)])
def test_the_regime_does_not_matter_where_both_cost_the_same(stochastic: float, holds: bool) -> None:
    finals = {
        ("1", "Strategic", "rcdp-ucb"): [500.0, 500.0],
        ("1", "Stochastic", "rcdp-ucb"): [stochastic, stochastic],
    }
    assert verdict_on(finals, "delay's regime") is holds
    assert verdict_on({}, "delay's regime") is None


@pytest.mark.parametrize(("means", "holds"), [((400, 450, 500), True), ((400, 500, 450), False)])
def test_regret_grows_with_a_budget_only_if_it_does_at_every_step(
    means: tuple[int, ...], holds: bool
) -> None:
    delays = {
        ("E.11", f"Strategic: Λ = {budget}", "rcdp-ucb"): [float(mean), mean + 2.0]
        for budget, mean in zip(("3,600", "6,400", "10,000"), means, strict=True)
    }
    lies = {
        ("E.10", f"d = 10, C = {budget}", "rcdp-ucb"): [float(mean), mean + 2.0]
        for budget, mean in zip((10, 15, 20), means, strict=True)
    }
    assert verdict_on(delays, "grows with Λ") is holds
    assert verdict_on(lies, "grows with C") is holds
    assert verdict_on({}, "grows with C") is None


def test_a_sweep_that_lowers_C_as_well_is_not_compared_there() -> None:
    finals = {
        ("E.12", f"Strategic: Λ = {budget}", "rcdp-ucb"): [float(mean), mean + 2.0]
        for budget, mean in (("3,600", 400), ("6,400", 450), ("10,000", 300))
    }
    assert verdict_on(finals, "grows with Λ") is True


def test_the_networks_cost_is_not_judged_without_its_runs() -> None:
    assert network_cost(made_up({}), made_up(FINALS)).holds is None


def test_published_numbers_stand_beside_ours() -> None:
    strategic, stochastic = published_table(made_up(FINALS)).rows
    assert strategic == (
        "linear", "strategic", "as published", "470 ± 10 / 472 ± 57 ✓", "795 ± 5 / 787 ± 102 ✓"
    )  # fmt: skip
    assert stochastic[3] == "905 ± 5 / 481 ± 54 ✗"
    theirs = published("abs", "strategic", "rcdb")
    assert theirs is not None
    assert str(theirs) == "~16,400"
    assert agrees(theirs, np.array([20000.0, 20100.0]), method="rcdb")
    assert not agrees(theirs, np.array([26000.0, 26100.0]), method="rcdb")
    assert published("magic", "strategic", "rcdb") is None


def test_tables_become_csv_latex_and_html() -> None:
    table = finals_table(made_up(FINALS), "Finals & more")
    assert table.to_csv().splitlines()[1] == "1,Strategic,470 ± 10*,795 ± 5"
    assert "470 ± 10* & 795 ± 5" in table.to_latex()
    assert "Finals &amp; more" in table.to_html()
    assert len(contrast_table(made_up(FINALS), "").rows) == 2


def test_a_table_in_every_format() -> None:
    table = Table(title="Sums & more", head=("a_b", "x^2"), rows=(("5 %", "<1>"), ("a\\b", "2, 3")))
    assert table.to_csv() == 'a_b,x^2\n5 %,<1>\na\\b,"2, 3"\n'
    assert table.to_markdown() == "| a_b | x^2 |\n| --- | --- |\n| 5 % | <1> |\n| a\\b | 2, 3 |"
    assert table.to_latex().splitlines() == [
        "% Sums & more",
        r"\begin{tabular}{ll}",
        r"\toprule",
        r"a\_b & x\^{}2 \\",
        r"\midrule",
        r"5 \% & <1> \\",
        r"a\textbackslash{}b & 2, 3 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert table.to_html() == (
        "<table><caption>Sums &amp; more</caption><tr><th>a_b</th><th>x^2</th></tr>"
        "<tr><td>5 %</td><td>&lt;1&gt;</td></tr><tr><td>a\\b</td><td>2, 3</td></tr></table>"
    )


def test_text_in_a_table_means_in_every_format_what_it_says() -> None:
    """A title of one's own, the paper's d^{3/2}, and ~ before what was read off a figure."""
    table = Table(title="", head=("|x| > 0, #1, $5",), rows=(("d^{3/2}",), ("~16,400",)))
    assert table.to_markdown().splitlines()[0] == r"| \|x\| > 0, #1, $5 |"
    assert [line for line in table.to_latex().splitlines() if line.endswith(r"\\")] == [
        r"|x| > 0, \#1, \$5 \\",
        r"d\^{}\{3/2\} \\",
        r"\textasciitilde{}16,400 \\",
    ]


def test_a_table_of_finals_marks_the_lowest_mean_and_leaves_gaps() -> None:
    finals = {place: values for place, values in FINALS.items() if place[1:] != ("Stochastic", "rcdb")}
    table = finals_table(made_up(finals), "")
    assert table.head == ("figure", "panel", "RCDP-UCB", "RCDB")
    assert table.rows == (
        ("1", "Strategic", "470 ± 10*", "795 ± 5"),
        ("1", "Stochastic", "905 ± 5*", ""),
    )


def test_monitors_are_means_over_the_runs_that_can_tell() -> None:
    results = made_up({("1", "Strategic", "rcdb"): [1.0, 2.0]})
    assert monitors_table(results, "") is None
    nothing, line = np.array([np.nan, np.nan]), results.lines[0]
    seen = Watched(
        flat_share=np.array([0.25, 0.5]), estimate_norm=np.array([2.0, 4.0]),
        feature_norm=np.array([1.0, np.nan]), learning_rate=nothing, served_error=nothing,
    )  # fmt: skip
    watched = Results([replace(line, curve=replace(line.curve, watched=seen))])
    assert known(monitors_table(watched, "")).rows == (
        ("1", "Strategic", "RCDB", "0.375", "3", "1", "", ""),
    )  # fmt: skip


def test_the_title_of_the_bounds_says_what_they_were_computed_for() -> None:
    budgets = Budgets(dim=4, horizon=100, corruption_budget=5, delay_budget=400, mean_delay=7)
    assert bounds_table(budgets).title == (
        "Upper bounds, leading terms at d = 4, T = 100, C = 5, Λ = 400, μ = 7 "
        "(D = 20, m = μ, τ_m = 0.5, d_max = 20, σ_t² = 0.25)"
    )
    assert bounds_table() == bounds_table(Budgets())


def test_bounds_are_computed_for_given_budgets() -> None:
    """√T = 10, √Λ = 20, D = 20, half of the votes within the window, a variance of 1/4."""
    rows = bounds_table(Budgets(dim=4, horizon=100, corruption_budget=5, delay_budget=400, mean_delay=7)).rows
    assert [(row[3], row[5]) for row in rows] == [
        ("OFUL", "40"),
        ("CW-OFUL", "60"),
        ("Delayed-UCB", f"{math.sqrt(4 * 100 * (4 + 7)):.0f}"),
        ("OTFLinUCB", f"{2 * (40 + 7 * 4)}"),
        ("GLB-UCB", f"{40 + 8 * 7}"),
        ("Ito et al.", f"{math.sqrt(4 * (4 + 20) * 100):.0f}"),
        ("GLM-UCB", "40"),
        ("GAdaOFUL", f"{4 * 5 + 4 * 5}"),
        ("Ye et al.", "60"),
        ("Delayed-UCB", f"{40 + 4 * 7 * 10}"),
        ("GLB-UCB", f"{40 + 8 * 7}"),
        ("MaxInP, CoLSTIM", "40"),
        ("RCDB", "60"),
        ("RCDP-UCB", f"{4 * (10 + 5 + 20)}"),
    ]


def test_settings_and_dataset_statistics_are_the_papers() -> None:
    assert ("Corruption budget", "C", "25") in settings_table().rows
    statistics = {row[0]: row[1:] for row in datasets_table().rows}
    assert statistics["Spambase"] == ("4,601", "4,601", "57", "30", "27", "2")
    assert statistics["Statlog (Landsat Satellite)"] == ("6,435", "6,430", "36", "20", "16", "6")


BARS = [Bar("plain", 1234.5), Bar("<fast>", 0.25)]


def drawn_in(page: str) -> dict[str, Any]:
    """The chart of a page."""
    return json.loads(known(re.search(r'<script type="application/json" id="chart">(.*?)</script>', page))[1])


def test_measurements_become_a_page_of_bars(tmp_path: Path) -> None:
    save_bars_page(
        tmp_path / "bars.html", BARS, title="Costs & more", unit="seconds", head=("what", "how long")
    )
    page = (tmp_path / "bars.html").read_text()
    assert "<h1>Costs &amp; more</h1>" in page
    assert "<tr><th>what</th><th>how long</th></tr><tr><td>plain</td><td>1,234.5</td></tr>" in page
    assert "<tr><td>&lt;fast&gt;</td><td>0.2</td></tr>" in page
    drawn = json.loads(
        known(re.search(r'<script type="application/json" id="chart">(.*?)</script>', page))[1]
    )
    (bars,) = drawn["data"]
    assert (bars["x"], bars["y"], bars["orientation"]) == ([1234.5, 0.25], ["plain", "<fast>"], "h")
    assert drawn["layout"]["height"] == 30 * 2 + 120
    assert drawn["layout"]["xaxis"]["title"]["text"] == "seconds"


def test_regret_becomes_a_page_with_a_curve_for_each_method(tmp_path: Path) -> None:
    bands = [Band(name, np.array([1, 2]), np.array([[1.0, 2.0], [3.0, 4.0]])) for name in ("rcdb", "colstim")]
    table = Table(title="Finals", head=("a",), rows=(("b",),))
    save_page(tmp_path / "curves.html", bands, title="Curves", tables=[table])
    page = (tmp_path / "curves.html").read_text()
    assert table.to_html() in page
    drawn = json.loads(
        known(re.search(r'<script type="application/json" id="chart">(.*?)</script>', page))[1]
    )
    assert [trace["name"] for trace in drawn["data"] if "name" in trace] == ["RCDB", "CoLSTIM"]


@pytest.mark.parametrize(("name", "inches"), [("bars.png", 6.4), ("bars.pdf", 3.25), ("bars.PNG", 6.4)])
def test_a_picture_is_as_wide_as_a_screen_or_a_column(
    name: str, inches: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[Any] = []

    def keep(path: Path, write: Callable[[Path], object]) -> None:
        write(tmp_path / f"any{path.suffix}")

    monkeypatch.setattr(pictures, "write_whole", keep)
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **how: saved.append((figure, how)))
    save_bars(tmp_path / name, BARS, title="word " * 40, unit="seconds")
    ((figure, how),) = saved
    assert figure.get_size_inches().tolist() == pytest.approx([inches, 0.66 * inches + 0.5])
    assert how == {"format": name[-3:].lower(), "dpi": 150}
    (axis,) = figure.axes
    assert [bar.get_width() for bar in axis.patches] == [1234.5, 0.25]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["plain", "<fast>"]
    assert max(map(len, axis.get_title().splitlines())) <= 13 * inches
    assert axis.get_xlabel() == "seconds"


def test_panels_of_a_figure_are_saved_in_rows_of_three(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[Any] = []
    monkeypatch.setattr(static_charts, "write_whole", lambda path, write: write(path))
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **how: saved.append((figure, how["format"])))
    panels = [panel.title for panel in FIGURES["E.2"].panels[:4]]
    save_figure(made_up({("E.2", title, "rcdb"): [1.0, 2.0] for title in panels}), tmp_path / "x", title="T")
    figure = saved[0][0]
    assert [kind for _, kind in saved] == ["pdf", "png"]
    assert figure.get_size_inches().tolist() == pytest.approx([3.4 * 3, 2.7 * 2 + 0.5])
    assert [axis.get_visible() for axis in figure.axes] == [True] * 4 + [False] * 2
    assert [axis.get_title() for axis in figure.axes[:4]] == panels

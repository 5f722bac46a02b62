"""The report: one file, no network, every figure, the numbers that were played."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from small import shrunk

from duelwise.errors import InvalidInput
from duelwise.lab.paper.conduct import conduct
from duelwise.lab.paper.figures import FIGURES
from duelwise.lab.paper.protocols import FairProtocol, PaperProtocol, Protocol
from duelwise.lab.paper.records import Entry, Session, StudyRecord, path_of, write_record
from duelwise.lab.paper.study import Study
from duelwise.lab.report import html
from duelwise.lab.report.html import heading, page, write_report
from duelwise.lab.report.interactive_charts import band_traces, chart, layout_of
from duelwise.lab.report.results import Results
from duelwise.lab.report.summary import markdown
from duelwise.lab.sweep.runner import Runner
from duelwise.lab.sweep.store import CurveStore
from known import inside, known

FAIR = FairProtocol(widths=(0.1,), held_out=(1000, 1001), search_horizon=10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Figs. 1 and E.15 as published and Fig. 1 fairly, ten rounds each."""
    folder = tmp_path_factory.mktemp("results")
    runner = Runner(store=CurveStore(folder), jobs=1)
    last = shrunk("E.15", horizon=10)
    figures = (shrunk("1", horizon=10), replace(last, panels=last.panels[:2]))
    conduct(Study(figures=figures, protocol=PaperProtocol(), runs=2), runner)
    conduct(Study(figures=figures[:1], protocol=FAIR, runs=3), runner)
    return folder


@pytest.fixture(scope="module")
def document(folder: Path) -> str:
    return page(Results.load(folder))


def test_it_needs_no_network(document: str) -> None:
    head, body = document.split("</head>")
    assert not re.findall(r'(?:src|href)\s*=\s*"(?!data:|#)', body)
    assert "<script src" not in head
    assert "Plotly" in head


def test_it_holds_every_figure_caption_and_curve(document: str) -> None:
    for number in ("1", "E.15"):
        assert f"Fig. {number}: {FIGURES[number].label}" in document
    charts = re.findall(r'<script type="application/json" id="([^"]+)">(.*?)</script>', document)
    assert len(charts) == 4  # two figures as published, one in two variants fairly
    assert len(re.findall('class="chart"', document)) == 4
    assert len(json.loads(charts[0][1])["data"]) == 2 * 2 * 5  # panels, band and mean, methods


def test_it_says_times_machine_settings_and_search(document: str) -> None:
    for said in ("Machine and time", "published preset", "Search on held-out seeds", "runs", "cores", "0-1"):
        assert said in document


def test_monitors_are_kept_and_shown_where_they_were_on(folder: Path, document: str, tmp_path: Path) -> None:
    assert "what the monitors saw" not in document
    study = Study(figures=(shrunk("1", horizon=10),), protocol=PaperProtocol(), runs=2)
    plain, watched = (
        Runner(store=CurveStore(tmp_path), jobs=1),
        Runner(store=CurveStore(tmp_path), jobs=1, monitors=True),
    )
    conduct(study, plain)
    unwatched = {line.method: line.curve.final.tolist() for line in Results.load(tmp_path)}
    assert conduct(study, watched).sessions[-1].reused == 0  # what was not watched is played again
    assert conduct(study, watched).sessions[-1].computed == 0
    lines = list(Results.load(tmp_path))
    assert {line.method: line.curve.final.tolist() for line in lines} == unwatched  # and the same
    assert all(0 <= known(line.curve.watched).flat_share.max() <= 1 for line in lines)
    shown = page(Results.load(tmp_path))
    assert "what the monitors saw" in shown
    assert f"<td>{known(lines[0].curve.watched).estimate_norm.mean():.3g}</td>" in shown


def test_it_judges_each_protocol_by_itself(document: str) -> None:
    titles = re.findall(r"<caption>((?:paper|fair) protocol[^<]*)</caption>", document)
    assert len(titles) == 3  # as published, and fairly with and without self-duels
    assert len(re.findall("Lowest mean in [0-2] of 2 panels", document)) == 3


def test_a_chart_has_a_band_and_a_mean_for_every_curve(folder: Path) -> None:
    results = Results.load(folder).where(figure="1", protocol="paper")
    drawn = inside(chart(results), "data")
    assert len(drawn) == 2 * len(results)
    mean = drawn[1]
    assert mean["x"][-1] == 10
    assert mean["y"][-1] == pytest.approx(results.lines[0].curve.final.mean(), rel=1e-3)


def test_panels_stand_in_rows_of_three() -> None:
    """Five of them: widths of a third each, two rows, and a title in the middle above each panel."""
    layout = layout_of(["a", "b", "c", "d", "e"])
    assert (layout["height"], inside(layout, "legend", "yref")) == (260 * 2 + 90, "container")
    assert layout["margin"] == {"l": 60, "r": 15, "t": 45, "b": 40}
    boxes = [inside(layout, f"{axis}axis5", "domain") for axis in "xy"]
    assert boxes[0] == pytest.approx([1 / 3 + 0.03, 2 / 3 - 0.02])
    assert boxes[1] == pytest.approx([0.07, 0.44])
    assert inside(layout, "yaxis", "domain") == pytest.approx([0.57, 0.94])
    assert inside(layout, "xaxis3", "domain") == pytest.approx([2 / 3 + 0.03, 0.98])
    assert [inside(layout, f"{axis}axis5", "anchor") for axis in "xy"] == ["y5", "x5"]
    notes = [(note["text"], note["x"], note["y"]) for note in inside(layout, "annotations")]
    assert notes[0] == ("a", pytest.approx((0.03 + 1 / 3 - 0.02) / 2), pytest.approx(0.94))
    assert notes[4] == ("e", pytest.approx(sum(boxes[0]) / 2), pytest.approx(0.44))


def test_rounds_are_said_below_the_last_of_a_column_and_regret_left_of_a_row() -> None:
    layout = layout_of(["a", "b", "c", "d", "e"])
    suffixes = ("", "2", "3", "4", "5")
    said = [
        (inside(layout, f"xaxis{at}", "title", "text"), inside(layout, f"yaxis{at}", "title", "text"))
        for at in suffixes
    ]
    round, regret = "Round", "Cumulative regret"
    assert said == [("", regret), ("", ""), (round, ""), (round, regret), (round, "")]


def test_a_band_is_one_deviation_around_the_mean_and_ends_with_the_last_round() -> None:
    rounds, regret = np.arange(1, 8), np.array([np.arange(7.0), np.arange(7.0) + 2])
    band, mean = band_traces("rcdb", rounds, regret, number=1)
    assert inside(mean, "x") == [1, 3, 5, 7]
    assert inside(mean, "y") == [1.0, 3.0, 5.0, 7.0]
    assert inside(band, "x") == [1, 3, 5, 7, 7, 5, 3, 1]
    assert inside(band, "y") == [2.0, 4.0, 6.0, 8.0, 6.0, 4.0, 2.0, 0.0]
    assert [inside(mean, axis) for axis in ("xaxis", "yaxis", "name")] == ["x2", "y2", "RCDB"]
    assert not inside(mean, "showlegend")  # the first panel's are enough
    assert inside(band_traces("rcdb", rounds, regret, number=0)[1], "showlegend")


@pytest.mark.parametrize(("stored", "drawn"), [(5, 3), (200, 100), (299, 150), (300, 100), (1000, 100)])
def test_about_a_hundred_points_are_drawn(stored: int, drawn: int) -> None:
    _, mean = band_traces("rcdb", np.arange(stored), np.full((1, stored), 12345.678), number=0)
    assert len(inside(mean, "x")) == drawn
    assert inside(mean, "x")[-1] == stored - 1
    assert set(inside(mean, "y")) == {12350.0}  # four digits


def test_files_are_written_beside_it(folder: Path, tmp_path: Path) -> None:
    paths = {path.relative_to(tmp_path).as_posix() for path in write_report(folder, tmp_path / "report.html")}
    assert {
        "report.html",
        "summary.md",
        "tables/bounds.tex",
        "tables/finals-paper-spline-2-as-published.csv",
    } <= paths
    assert {
        "figures/1-fair-spline-3-distinct-pairs.pdf",
        "figures/E.15-paper-spline-2-as-published.png",
    } <= paths
    assert all((tmp_path / path).stat().st_size > 0 for path in paths)
    written = [Path(path) for path in paths if path.startswith("tables/")]
    stems = {path.stem for path in written}
    assert {path.name for path in written} == {
        f"{stem}.{end}" for stem in stems for end in ("csv", "md", "tex")
    }
    played = (
        "fair-spline-3-distinct-pairs",
        "fair-spline-3-self-duels-allowed",
        "paper-spline-2-as-published",
    )
    assert stems == {
        "bounds", "settings", "datasets", "published-fair-spline-3", "published-paper-spline-2",
        *(f"finals-{name}" for name in played), *(f"contrasts-{name}" for name in played),
    }  # fmt: skip
    finals = (tmp_path / "tables" / "finals-paper-spline-2-as-published.md").read_text()
    assert finals.startswith("| figure | panel | RCDP-UCB |")
    assert finals.endswith(" |\n")


def test_the_summary_names_commands_times_and_verdicts(folder: Path) -> None:
    said = markdown(Results.load(folder))
    assert "duelwise reproduce 1 E.15 --protocol paper --post-serving spline --runs 2" in said
    assert "duelwise reproduce 1 --protocol fair --post-serving spline --runs 3" in said
    assert "minutes by the clock" in said
    assert said.count("| RCDP-UCB has the lowest regret everywhere. |") == 3
    assert said.count("| figure | panel | RCDP-UCB - RCDB |") == 2


def test_axes_are_labelled_and_captions_marked(document: str) -> None:
    chart = json.loads(re.findall(r'<script type="application/json" id="[^"]+">(.*?)</script>', document)[0])
    assert chart["layout"]["xaxis"]["title"]["text"] == "Round"
    assert chart["layout"]["yaxis"]["title"]["text"] == "Cumulative regret"
    assert "The paper's caption: “" in document
    assert (
        "Drawn here with 2 runs, not 10; σ = 100 as in the paper&#x27;s table and code, not 10." in document
    )
    assert "Drawn here with 3 runs, not 10; one treatment for all methods" in document


def test_the_title_says_no_more_than_was_played(document: str) -> None:
    title = "2 of the paper's 18 figures as published, 1 of the paper's 18 figures fairly"
    assert f"<h1>{title}</h1>" in document
    assert "not judged" in document


def record(protocol: str, *figures: str, title: str = "") -> StudyRecord:
    entries = [Entry(figure=number, panel="", variant="", method="", key="") for number in figures]
    return StudyRecord(
        protocol=protocol, post_serving="spline", runs=2, code="", title=title, entries=tuple(entries)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([record("paper", *FIGURES), record("fair", *FIGURES)], "The whole paper, as published and fairly"),
        ([record("paper", *FIGURES)], "18 of the paper's 18 figures as published"),
        (
            [record("fair", "1"), record("fair", "1", "2"), record("theory", "1")],
            "2 of the paper's 18 figures fairly, 1 of the paper's 18 figures theory",
        ),
        ([record("own", title="a")], "1 own experiment"),
        (
            [record("paper", "1"), record("own", title="a"), record("own", title="b")],
            "1 of the paper's 18 figures as published, 2 own experiments",
        ),
    ],
)
def test_the_heading_says_what_there_is(records: list[StudyRecord], title: str) -> None:
    assert heading(records) == title


def test_titles_in_any_alphabet_are_studies_of_their_own() -> None:
    names = [
        record("own", title=title).name
        for title in (
            "cold-soup", "Κρύα σούπα", "राम", "रोम", "👍", "👎", "学" * 300, "學" * 300, "cold soup",
            "Cold soup!", "delay < 5", "delay > 5",
        )
    ]  # fmt: skip
    assert names[0] == "own-cold-soup"
    assert names[1].startswith("own-κρύα-σούπα-")
    assert len(set(names)) == len(names)
    assert max(len(path_of(Path(), name).name.encode()) for name in names) < 230


def test_a_record_takes_the_place_of_one_that_an_earlier_version_named(tmp_path: Path) -> None:
    session = Session(
        started="today", seconds=1.0, simulated=1.0, computed=1, reused=0, workers="1 local", machine="m"
    )
    mine, other = (replace(record("own", "own", title=title), sessions=(session,)) for title in "AB")
    for one, earlier in ((mine, "own-gr-e"), (other, "own-b-b")):
        path_of(tmp_path, earlier).parent.mkdir(exist_ok=True)
        write_record(tmp_path, one)
        path_of(tmp_path, one.name).rename(path_of(tmp_path, earlier))
    path_of(tmp_path, "own-damaged").write_text("{")
    joined = write_record(tmp_path, mine)
    assert joined.sessions == (session, session)
    left = {path.stem for path in (tmp_path / "studies").iterdir()}
    assert left == {mine.name, "own-b-b", "own-damaged"}


def test_times_are_told_in_minutes() -> None:
    session = Session(
        started="today", seconds=90.0, simulated=150.0, computed=7, reused=3, workers="2 local", machine="m"
    )  # fmt: skip
    results = Results((), [replace(record("own", title="Mine"), sessions=(session, session))])
    cells = ("Mine, 2 runs", "today", "1.5 min", "2.5 min", "7", "3", "2 local", "m")
    row = "".join(f"<td>{cell}</td>" for cell in cells)
    assert html._head(results).count(f"<tr>{row}</tr>") == 2
    fair = replace(record("fair", "1"), sessions=(session, session))
    said = markdown(Results((), [fair]))
    assert "14 cells in 3.0 minutes by the clock, 5.0 minutes of processor time; 2 local workers, m." in said


def test_an_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="duelwise reproduce"):
        write_report(tmp_path, tmp_path / "report.html")


@pytest.mark.long
def test_a_browser_shows_every_figure(folder: Path, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    write_report(folder, tmp_path / "report.html", static=False)
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)
        tab = browser.new_context(offline=True).new_page()
        complaints: list[str] = []
        tab.on(
            "console", lambda message: complaints.append(message.text) if message.type == "error" else None
        )
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.goto((tmp_path / "report.html").as_uri())
        for place in tab.locator(".chart").all():
            place.scroll_into_view_if_needed()
            place.locator(".main-svg").first.wait_for()
        drawn = tab.evaluate(
            "[...document.querySelectorAll('.chart')].map(c => c.querySelectorAll('.trace').length)"
        )
        tab.screenshot(path=tmp_path / "report.png", full_page=True)
        browser.close()
    assert not complaints
    assert len(drawn) == 4
    assert all(count > 0 for count in drawn)
    assert (tmp_path / "report.png").stat().st_size > 10_000


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_printed_report_shows_every_chart(
    folder: Path, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    """Printed without having been scrolled through, from a dark screen too: axes and lines in black."""
    from playwright.sync_api import sync_playwright

    write_report(folder, tmp_path / "report.html", static=False)
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)
        tab = browser.new_context(offline=True, color_scheme=scheme).new_page()
        tab.goto((tmp_path / "report.html").as_uri())
        ink = tab.evaluate("getComputedStyle(document.body).color")
        tab.evaluate("addEventListener('beforeprint', () => { window.printed = charts.map(c => "
                     "[c.querySelectorAll('.trace').length, c.querySelector('.xtitle')?.textContent, "
                     "c.querySelector('.ytitle')?.textContent, c.clientWidth >= c.querySelector('.main-svg')"
                     ".clientWidth, c.querySelector('.xtitle')?.style.fill]) })")  # fmt: skip
        tab.pdf(path=tmp_path / "report.pdf")
        printed = tab.evaluate("window.printed")
        browser.close()
    assert ink == ("rgb(34, 34, 34)" if scheme == "light" else "rgb(221, 221, 221)")
    assert len(printed) == 4
    for traces, across, up, fits, colour in printed:
        assert traces > 0
        assert (across, up) == ("Round", "Cumulative regret")
        assert fits
        assert colour == "rgb(0, 0, 0)"
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("protocol", [PaperProtocol(), FAIR])
def test_a_table_that_would_have_no_row_is_left_out(protocol: Protocol, tmp_path: Path) -> None:
    """Fig. E.15 draws one method, and no published number."""
    last = shrunk("E.15", horizon=10)
    runner = Runner(store=CurveStore(tmp_path), jobs=1)
    conduct(Study(figures=(replace(last, panels=last.panels[:1]),), protocol=protocol, runs=2), runner)
    files = write_report(tmp_path, tmp_path / "report.html")
    assert not [path for path in files if path.stem.startswith(("published", "contrasts"))]
    document = (tmp_path / "report.html").read_text()
    assert "ours / published" not in document
    assert "paired differences" not in document
    assert "ours / published" not in (tmp_path / "summary.md").read_text()
    assert "| RCDP-UCB - RCDB |" not in (tmp_path / "summary.md").read_text()

"""What commands write: pictures, pages, JSON; and what they say before they start."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from duelwise.cli.app import app
from duelwise.cli.run_file import read_experiment
from duelwise.errors import InvalidInput
from duelwise.lab.report.results import Results
from duelwise.theory.page import parts_of

EXPERIMENT = (
    'title = "Cold soup"\nhorizon = 30\nruns = 2\nmethods = ["rcdp-ucb", "rcdb"]\n'
    '[world]\nkind = "synthetic"\ncontext_dim = 3\narms = 4\n'
)
SMALL = ["--dim", "3", "--arms", "4", "--horizon", "30", "--runs", "2", "--delay-budget", "100"]


def typed(*words: object) -> Result:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_an_own_experiment_is_drawn_written_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("soup.toml").write_text(EXPERIMENT)
    said = typed("run", "soup.toml", "--plot", "x.png", "--html", "x.html", "--json", "x.json")
    assert "2 curves, about" in said.stderr
    assert "first time ever it also compiles" in " ".join(said.stderr.split())
    assert "duelwise report" in said.stdout
    assert "Drew x.png" in said.stdout
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")
    assert set(json.loads(Path("x.json").read_text())["methods"]) == {"rcdp-ucb", "rcdb"}
    page = Path("x.html").read_text()
    assert "Cold soup" in page
    assert '"text":"Cumulative regret"' in page
    typed("report", "--out", "report.html", "--no-static")
    report = Path("report.html").read_text()
    assert "<h1>1 own experiment</h1>" in report
    assert "Cold soup, 2 runs" in report
    assert "The paper's claims" not in report
    frame = Results.load("results").to_pandas()
    assert set(frame["panel"]) == {"Cold soup"}
    assert len(frame) == 4


def test_what_is_written_is_json_where_a_setting_has_no_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clip of ∞ lets every vote count 1; most programs refuse a file that says Infinity or NaN."""
    monkeypatch.chdir(tmp_path)
    Path("soup.toml").write_text(EXPERIMENT + "[method.rcdp-ucb]\nclip = inf\n")
    typed("run", "soup.toml", "--json", "x.json")

    def refuse(name: str) -> None:
        raise AssertionError(name)

    told = json.loads(Path("x.json").read_text(), parse_constant=refuse)
    assert told["methods"]["rcdp-ucb"]["settings"] == {"clip": None}


def test_own_experiments_stand_beside_the_papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("soup.toml").write_text(EXPERIMENT)
    typed("run", "soup.toml")
    typed("reproduce", "E.15", "--runs", 2, "--jobs", 1)
    typed("report", "--out", "report.html")
    report = Path("report.html").read_text()
    assert "<h1>1 of the paper's 18 figures as published, 1 own experiment</h1>" in report
    assert "Drawn here with 2 runs, not 10." in report
    assert "The paper&#x27;s caption" in report or "The paper's caption" in report
    assert list(Path("figures").glob("own-own-cold-soup-*-as-set.pdf"))


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_a_picture_keeps_its_whole_title(ending: str, tmp_path: Path) -> None:
    """At the width of a column in print; no line of the title is wider than the picture."""
    picture = tmp_path / f"x.{ending}"
    typed("run", "linear", *SMALL, "--methods", "rcdp-ucb", "--plot", picture)
    assert picture.stat().st_size > 1000
    if ending == "svg":
        width = re.search(r'width="([\d.]+)pt"', picture.read_text())
        assert width is not None
        assert float(width[1]) == pytest.approx(3.25 * 72, rel=0.01)


def test_json_goes_to_the_terminal_alone() -> None:
    said = typed("run", "linear", *SMALL, "--methods", "rcdb", "--json", "-")
    assert set(json.loads(said.stdout)["methods"]) == {"rcdb"}
    assert "rcdp-ucb" in json.loads(typed("list", "--json", "-").stdout)["methods"]


def test_a_terminal_without_greek_is_no_obstacle(tmp_path: Path) -> None:
    """Nor is a file: in UTF-8 whatever the machine's encoding is; and JSON stays JSON."""
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code = r"""
import sys
from pathlib import Path
from duelwise.cli import main
from duelwise.cli.outputs import write_json

def named(): return {"\u03c6": "\u00e9"}

sys.argv = ["duelwise", "advise"]
try:
    main()
finally:
    write_json(Path("x.json"), named)
    write_json(Path("-"), named)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert r"\u03b2_T" in done.stdout  # β
    assert json.loads(done.stdout.splitlines()[-1]) == {"φ": "é"}
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8")) == {"φ": "é"}


def test_quiet_says_nothing() -> None:
    said = typed("run", "linear", *SMALL, "--methods", "rcdb", "--quiet")
    assert said.stdout == said.stderr == ""


def test_bench_draws_and_writes(tmp_path: Path) -> None:
    typed("bench", "--rounds", 3, "--plot", tmp_path / "x.png", "--html", tmp_path / "x.html",
          "--json", tmp_path / "x.json", "--quiet")  # fmt: skip
    measured = json.loads((tmp_path / "x.json").read_text())
    assert all(value > 0 for value in measured.values())
    assert "one-pass, 10 features, 10 candidates" in measured
    assert (tmp_path / "x.png").stat().st_size > 1000
    assert "µs per ask + tell" in (tmp_path / "x.html").read_text()


@pytest.mark.long
def test_the_demo_leaves_a_figure_a_table_and_numbers(tmp_path: Path) -> None:
    typed("demo", "--folder", tmp_path / "demo")
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "regret.json", "regret.png", "table.md"
    ]  # fmt: skip
    table = (tmp_path / "demo" / "table.md").read_text()
    assert "| method | final regret |" in table
    assert table.count("| rcd") == 2


def test_files_that_an_editor_has_marked_as_utf_8_are_read_and_others_are_refused(tmp_path: Path) -> None:
    marked, latin = tmp_path / "soup.toml", tmp_path / "page.md"
    marked.write_text(EXPERIMENT, encoding="utf-8-sig")
    assert read_experiment(marked).title == "Cold soup"
    latin.write_bytes(b"caf\xe9")
    with pytest.raises(InvalidInput, match=r"page\.md is not in UTF-8"):
        parts_of(latin)

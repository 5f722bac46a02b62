"""`reproduce`, `report` and an experiment of one's own, as typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from duelwise.cli.app import app
from duelwise.cli.run_file import run_file
from duelwise.errors import InvalidInput, UnknownName


def typed(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_a_figure_is_played_once_and_reported(tmp_path: Path) -> None:
    words = ("reproduce", "E.15", "--runs", 2, "--jobs", 1, "--folder", tmp_path / "results")
    assert "7 cells played, 0 reused" in typed(*words)
    assert "0 cells played, 7 reused" in typed(*words)
    page = tmp_path / "report.html"
    assert "report.html" in typed("report", "--folder", tmp_path / "results", "--out", page, "--no-static")
    assert "appendix_std_ablation" in page.read_text()


def test_an_unknown_figure_gets_the_nearest() -> None:
    with pytest.raises(UnknownName, match="ablation"):
        typed("reproduce", "ablaton")


def test_a_file_is_an_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'title = "Mine"\nhorizon = 30\nruns = 2\nmethods = ["rcdp-ucb", "rcdb"]\n'
        '[world]\nkind = "synthetic"\ncontext_dim = 3\narms = 4\n'
    )
    run_file(file, folder=tmp_path / "results", jobs=1)
    said = capsys.readouterr().out
    assert "Mine" in said
    assert "2 cells played" in said


def test_a_file_that_is_not_there_or_no_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="There is no file"):
        run_file(tmp_path / "nowhere.toml")
    (tmp_path / "bad.toml").write_text("horizon = ")
    with pytest.raises(InvalidInput, match="no valid TOML"):
        run_file(tmp_path / "bad.toml")

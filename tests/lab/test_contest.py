"""`duelwise run` from the command line to its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from duelwise.cli import app
from duelwise.errors import InvalidInput, UnknownName
from duelwise.learning.recipes import PAPER_FIVE, RECIPES

SMALL = ["--dim", "3", "--arms", "4", "--horizon", "60", "--runs", "2", "--delay-budget", "100"]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["run", *arguments, *SMALL], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("task", ["linear", "post-serving", "pre-serving"])
def test_a_task_writes_what_the_page_promises(task: str, tmp_path: Path) -> None:
    file, picture = tmp_path / "out.json", tmp_path / "out.png"
    output = run(task, "--json", str(file), "--plot", str(picture))
    told = json.loads(file.read_text())
    assert told["task"] == task
    assert set(told["methods"]) == set(PAPER_FIVE)
    for method in told["methods"].values():
        assert len(method["final_regret"]) == 2
        assert len(method["regret_curve_mean"]) == 60
        assert method["regret_curve_mean"][-1] == pytest.approx(method["final_regret_mean"])
    ranking = sorted(told["methods"], key=lambda name: told["methods"][name]["final_regret_mean"])
    assert [output.index(name) for name in ranking] == sorted(output.index(name) for name in ranking)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_only_rcdp_ucb_sees_what_comes_after_serving_in_pre_serving(tmp_path: Path) -> None:
    files = {task: tmp_path / f"{task}.json" for task in ("pre-serving", "post-serving")}
    for task, file in files.items():
        run(task, "--json", str(file))
    finals = {task: json.loads(file.read_text())["methods"] for task, file in files.items()}
    same = {
        name: finals["pre-serving"][name]["final_regret"] == finals["post-serving"][name]["final_regret"]
        for name in PAPER_FIVE
    }
    assert same == {name: name == "rcdp-ucb" for name in PAPER_FIVE}


def test_fair_tunes_and_says_what_it_chose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from duelwise.lab.paper import protocols

    short = protocols.FairProtocol(widths=(0.1, 1.0), held_out=(1000, 1001), search_horizon=30)
    monkeypatch.setitem(protocols.PROTOCOLS, "fair", short)
    file = tmp_path / "fair.json"
    run("linear", "--protocol", "fair", "--methods", "rcdp-ucb,colstim", "--json", str(file))
    told = json.loads(file.read_text())["methods"]
    assert told["rcdp-ucb"]["settings"]["exploration_width"] in (0.1, 1.0)
    assert told["colstim"]["settings"]["estimate"] == "full-mle"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lineer"], "Did you mean 'linear'?"),
        (["linear", "--methods", "rcdp-ucp"], "Did you mean 'rcdp-ucb'?"),
        (["post-serving", "--mapping", "poly"], "Did you mean 'polynomial'?"),
        (["linear", "--protocol", "unfair"], "Did you mean 'fair'?"),
        (["post-serving", "--post-serving", "splin"], "Did you mean 'spline'?"),
    ],
)
def test_unknown_names_are_told_the_nearest(arguments: list[str], message: str) -> None:
    with pytest.raises(UnknownName) as error:
        run(*arguments)
    assert message in str(error.value)


@pytest.mark.parametrize("option", ["--corruption-budget", "--delay-budget", "--horizon", "--arms"])
def test_impossible_numbers_are_refused(option: str) -> None:
    with pytest.raises(InvalidInput):
        CliRunner().invoke(app, ["run", "linear", *SMALL, option, "-1"], catch_exceptions=False)


def test_list_names_everything_that_can_be_run() -> None:
    output = CliRunner().invoke(app, ["list"], catch_exceptions=False).output
    assert all(name in output for name in RECIPES)

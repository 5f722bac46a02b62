"""`duelwise run` from the command line to its files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from small import PROBLEM
from typer.testing import CliRunner

from duelwise.cli import app
from duelwise.cli.standings import rows
from duelwise.errors import InvalidInput, UnknownName
from duelwise.lab.cells.experiment import Cell, Method
from duelwise.lab.cells.problem import Problem, Synthetic, sizes
from duelwise.lab.paper.asked import asked
from duelwise.lab.paper.protocols import FairProtocol
from duelwise.lab.paper.standings import Standing, compete, ranked
from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import NoDelay
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.simulation import Trajectory
from duelwise.learning.learner import DuelingLearner
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


def test_monitors_are_shown_uncut_where_there_is_something_to_tell() -> None:
    output = run("linear", "--methods", "max-pair-ucb", "--monitors").partition("Monitors")[2]
    for name in ("max-pair-ucb", "flat share", "estimate norm", "feature norm"):
        assert name in output
    assert "learning" not in output  # of φ̂, which nothing has to be foreseen by
    assert "…" not in output
    assert "nan" not in output


def test_one_run_is_ranked_without_a_deviation() -> None:
    cell = Cell(problem=PROBLEM, method=Method(name="rcdb"), runs=(0,))
    name, _, deviation, *_ = rows([compete(cell)])[0]
    assert (name, deviation) == ("rcdb", "")


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


@pytest.mark.parametrize(
    ("task", "learners"),
    [("linear", []), ("post-serving", ["rcdb", "live", "thompson"]), ("pre-serving", [])],
)
def test_who_learns_in_a_task(task: str, learners: list[str]) -> None:
    """A method that is not the paper's is denied y only where all but RCDP-UCB are."""
    study = asked(task, mapping="abs", delay=NoDelay(), methods=("rcdb", "live", "thompson"))
    methods = [cell.method for cell in study.cells(lambda cell: np.zeros(1))]
    assert [method.name for method in methods if method.post_serving != "none"] == learners


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


def standing(name: str, *regret: list[float]) -> Standing:
    """Of a method whose runs had these regrets round by round; its second round was a self-duel."""
    runs, rounds = len(regret), len(regret[0])
    arms, zeros = np.zeros((runs, rounds, 2), np.int32), np.zeros(runs, np.int64)
    arms[:, :, 1] = np.arange(rounds) != 1
    played = Trajectory(
        regret=np.array(regret), distinct_regret=np.array(regret), arms=arms, told=zeros, flips_spent=zeros,
        delay_spent=zeros,
    )  # fmt: skip
    return Standing(method=Method(name=name, clip=0.5), trajectory=played, seconds=2.5, compiling=1.5)


def test_a_standing_in_numbers() -> None:
    assert standing("rcdb", [1.0, 2.0], [3.0, 4.0]).summary() == {
        "final_regret_mean": 5.0,
        "final_regret_sd": pytest.approx(np.sqrt(8)),
        "final_regret": [3.0, 7.0],
        "regret_curve_mean": [2.0, 5.0],
        "self_duels": 0.5,
        "seconds": 2.5,
        "compiling_seconds": 1.5,
        "settings": {"clip": 0.5},
    }
    assert standing("rcdb", [1.0, 2.0]).summary()["final_regret_sd"] is None


def test_the_lowest_mean_regret_stands_first() -> None:
    finals = {"rcdb": (3.0, 9.0), "colstim": (5.0, 5.0), "max-inp": (9.0, 2.0)}
    met = [standing(name, [first], [second]) for name, (first, second) in finals.items()]
    assert [one.method.name for one in ranked(met)] == ["colstim", "max-inp", "rcdb"]


def test_who_listens_hears_of_every_method_that_has_played() -> None:
    heard: list[tuple[str, DuelingLearner, Scenario, Trajectory]] = []
    done: list[int] = []
    cell = Cell(problem=PROBLEM, method=Method(name="rcdb"), runs=(0, 1))
    found = compete(cell, progress=done.append, after=lambda *told: heard.append(told))
    ((name, learner, scenario, trajectory),) = heard
    assert name == "rcdb"
    assert (learner.runs, learner.round, scenario.world.runs) == (2, 40, 2)
    assert learner.monitors.duels.tolist() == [40, 40]
    assert trajectory is found.trajectory
    assert done[-1] == 40
    assert 0 < found.seconds < 60


def test_what_is_asked_for_is_the_study_of_one_panel() -> None:
    study = asked(
        "pre-serving", mapping="abs", delay=NoDelay(), context_dim=3, arms=4, horizon=50, seed=2,
        corruption_budget=7, methods=("rcdb", "rcdp-ucb"), link="probit",
    )  # fmt: skip
    ((panel,),) = (figure.panels for figure in study.figures)
    assert panel.problem == Problem(
        world=Synthetic(mapping="abs", context_dim=3, arms=4, parameters="published", link="probit"),
        delay=NoDelay(), corruption=StrategicCorruption(budget=7), horizon=50, seed=2,
    )  # fmt: skip
    assert [(work.method.name, work.method.post_serving, work.runs) for work in study.work()] == [
        ("rcdb", "none", 10),
        ("rcdp-ucb", "spline", 10),
    ]
    assert study.trials() == []
    assert [cell.method.link for cell in study.cells(lambda _: np.zeros(1))] == ["probit", "probit"]


def test_a_linear_task_has_no_map_and_published_links() -> None:
    study = asked("linear", mapping="abs", delay=NoDelay(), context_dim=3, arms=4)
    assert [sizes(cell.problem.world) for cell in study.cells(lambda _: np.zeros(1))] == [(3, 0, 4)] * 5
    assert {cell.method.link for cell in study.cells(lambda _: np.zeros(1))} == {None}


def test_fair_plays_the_variant_with_self_duels_alone() -> None:
    fair = asked("linear", mapping="abs", delay=NoDelay(), methods=("rcdb",), protocol=FairProtocol())
    assert {trial.variant for trial in fair.trials()} == {"self-duels allowed"}
    assert [variant for _, _, variant, _ in fair.places()] == ["self-duels allowed"]


def test_list_names_everything_that_can_be_run() -> None:
    output = CliRunner().invoke(app, ["list"], catch_exceptions=False).output
    assert all(name in output for name in RECIPES)

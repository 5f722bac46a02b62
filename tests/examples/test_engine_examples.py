"""The examples of the engine run, and show what they say."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from duelwise.client import Client
from duelwise.service import create_app
from in_process import InProcess

ROOT = Path(__file__).parents[2]
# Twenty votes written by hand in the collection's format; figures come from the real folder.
SAMPLE = ROOT / "tests" / "lab" / "answers_fixture"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_embedded_stream_goes_on_where_it_stopped(tmp_path: Path) -> None:
    example = load("embedded_stream")
    path = str(tmp_path / "headlines.db")
    worth = example.main(path, readers=40)
    assert worth["number"] == max(worth.values()) > 0
    assert example.main(path, readers=40)["number"] > worth["number"]


def test_deliveries_get_better_from_evening_to_evening(tmp_path: Path) -> None:
    transport = InProcess(create_app(f"sqlite:///{tmp_path}/duels.db"))
    try:
        client = Client("http://127.0.0.1", transport=transport)
        joys = load("food_delivery").main(client=client, evenings=6, orders=25)
    finally:
        transport.stop()
    assert sum(joys[3:]) / 3 > joys[0]


def test_recorded_votes_are_learned_with_their_voters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, judged = load("llm_answers").main(str(SAMPLE), str(tmp_path / "answers.db"))
    votes = len((SAMPLE / "crowd-comparisons.csv").read_text().splitlines()) - 1
    assert report.counts["told"] == votes == 20
    assert 0 < len(judged) <= 4
    assert "tokens per second" in capsys.readouterr().out


def test_examples_run_as_scripts(tmp_path: Path) -> None:
    for name, *arguments in (["embedded_stream", "headlines.db"], ["llm_answers", SAMPLE, "answers.db"]):
        script = ROOT / "examples" / f"{name}.py"
        done = subprocess.run(
            [sys.executable, script, *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "votes learned" in done.stdout


def test_an_example_without_its_data_says_how_it_is_run() -> None:
    script = ROOT / "examples" / "llm_answers.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "python examples/llm_answers.py FOLDER" in done.stderr

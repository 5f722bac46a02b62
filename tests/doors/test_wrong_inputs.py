"""Whatever is typed, written, called or sent wrongly: one message, no traceback, nothing changed.

Each case gives what was wrong, the value its message must name, and a word of what was expected.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from duelwise import Contexts, DecisionStream, DuelingLearner, LinearWorld, Votes, play, rcdp_ucb, recipe
from duelwise.cli import main
from duelwise.client import Client
from duelwise.errors import DuelwiseError
from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import GaussianDelay
from duelwise.lab.report.results import Results
from duelwise.learning.estimation import FullMLE
from duelwise.learning.post_serving import NoPostServing
from duelwise.learning.selection import LeaderChallenger
from duelwise.learning.weighting import Uniform
from duelwise.learning.widths import ConstantWidth
from duelwise.service import create_app
from duelwise.stream import StreamSettings
from in_process import MEALS, InProcess, candidates

EXPECTED = re.compile(
    r"[Ee]xpected|Known:|Did you mean|must be|needs at least|should|is not one of|no keys|"
    r"Expecting|for life|Make one first"
)
REMEDY = re.compile(
    r"--help|Install it with|`duelwise |choose|check|leave it out|Create it|Make one|give", re.I
)


def contents(folder: Path) -> dict[str, str]:
    """Every file below a folder by its digest; a database's side files come and go with its readers."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands are typed: a store with one stream, a file that is no folder, some bad files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    DecisionStream.create(
        "sqlite:///duels.db", "meals", StreamSettings(context_dim=1, feature_names=("price",))
    ).close()
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "torn.backup").write_text('{"format": "duelwise log 1"')
    (tmp_path / "bad.csv").write_text("left.price,right.price,winner\n1,x,left\n")
    (tmp_path / "short.csv").write_text("left.price,winner\n1,left\n")
    (tmp_path / "votes.txt").write_text("left\n")
    (tmp_path / "plain.toml").write_text('[world]\nkind = "synthetic"\n')
    return tmp_path


def typed(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of a command typed as a person would."""
    monkeypatch.setattr(sys, "argv", ["duelwise", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


COMMANDS: list[tuple[str, str, str]] = [
    ("run lineer", "'lineer'", "linear"),
    ("run linear --runs 0", "runs is 0", "at least one"),
    ("run linear --runs -3", "runs is -3", "at least one"),
    ("run linear --runs ten", "ten", "integer"),
    ("run linear --runs 100000000", "100,000,000", "lower runs"),
    ("run linear --dim 200000", "200,000", "lower context_dim"),
    ("run linear --arms 100000000", "100,000,000", "lower arms"),
    ("run linear --horizon 5000000000", "5,000,000,000", "lower horizon"),
    ("run linear --dim 0", "context_dim is 0", "at least 1"),
    ("run linear --arms 1", "arms is 1", "at least 2"),
    ("run linear --horizon 0", "horizon is 0", "at least 1"),
    ("run linear --seed -1", "seed is -1", "at least 0"),
    ("run linear --seed 42950", "42950", "at most"),
    ("run linear --corruption-budget -1", "-1", "at least 0"),
    ("run linear --delay-budget -1", "-1", "at least 0"),
    ("run linear --delay stochastic --delay-std -2", "-2", "at least 0"),
    ("run linear --delay stochastic --delay-mean nan", "nan", "finite"),
    ("run linear --delay late", "'late'", "strategic"),
    ("run linear --mapping sinusoidal", "'sinusoidal'", "post-serving"),
    ("run linear --post-serving spline", "'spline'", "post-serving"),
    ("run linear --delay strategic --delay-mean 5", "5.0", "stochastic"),
    ("run linear --delay none --delay-budget 5", "5", "strategic"),
    ("run linear --folder elsewhere", "elsewhere", "FILE.toml"),
    ("run linear --methods rcdp-ucp", "'rcdp-ucp'", "rcdp-ucb"),
    ("run linear --methods rcdp-ucb,", "''", "rcdb"),
    ("run linear --protocol unfair", "'unfair'", "fair"),
    ("run post-serving --mapping poly", "'poly'", "polynomial"),
    ("run post-serving --post-serving splin", "'splin'", "spline"),
    ("run linear --plot x.bmp", "x.bmp", ".png"),
    ("run linear --plot file/x.png", "file", "may be written"),
    ("run linear --html x.txt", "x.txt", ".html"),
    ("run linear --json file/x.json", "file", "may be written"),
    ("run nowhere.toml", "nowhere.toml", "an experiment"),
    ("run plain.toml --runs 5", "5", "in the file"),
    ("demo --folder file/demo", "file", "may be written"),
    ("reproduce 99", "'99'", "appendix"),
    ("reproduce 1 --runs 1", "runs is 1", "at least 2"),
    ("reproduce 1 --runs 0", "runs is 0", "at least 2"),
    ("reproduce 1 --runs 100000000", "100,000,000", "lower runs"),
    ("reproduce 1 --jobs 0", "jobs is 0", "every core"),
    ("reproduce 1 --folder file/results", "file", "may be written"),
    ("report --folder nowhere", "nowhere", "reproduce"),
    ("report --out report.pdf", "report.pdf", ".html"),
    ("bench --rounds -1", "rounds is -1", "at least 1"),
    ("list --json file/x.json", "file", "may be written"),
    ("streams --store sqlite:///typo.db", "typo.db", "exists"),
    ("streams --store mysql://x", "'mysql'", "sqlite"),
    ("streams --store nonsense", "'nonsense'", "sqlite:///"),
    ("keys list --store sqlite:///typo.db", "typo.db", "exists"),
    ("keys add till --role boss", "'boss'", "admin"),
    ("create meals --context-dim 0", "context_dim is 0", "at least 1"),
    ("create meals --context-dim 2", "meals", "settings"),
    ("create drinks --context-dim 2 --options {", "--options", "JSON"),
    ("create drinks --context-dim 2 --recipe best", "'best'", "rcdb"),
    ("create drinks --context-dim 2 --feature-names a", "a", "expected"),
    ("import meals nowhere.csv", "nowhere.csv", "can be read"),
    ("import meals bad.csv", "'x'", "a number"),
    ("import meals short.csv", "right.price", "expected"),
    ("import meals votes.txt", ".txt", ".csv"),
    ("import meels bad.csv", "'meels'", "meals"),
    ("restore nowhere.backup", "nowhere.backup", "can be read"),
    ("restore torn.backup", "no JSON", "whole copy"),
    ("export meels", "'meels'", "meals"),
    ("verify meels", "'meels'", "meals"),
    ("repair meels", "'meels'", "meals"),
    ("backup meals file/x", "file/x", "may be read or written"),
    ("serve --candidate-limit 1", "candidate_limit is 1", "at least 2"),
    ("serve --host 0.0.0.0", "0.0.0.0", "keys add"),
    ("serve --port 99999", "99999", "65535"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "value", "expected"), COMMANDS, ids=[case[0] for case in COMMANDS])
def test_a_command_refuses(
    words: str,
    value: str,
    expected: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = contents(folder)
    assert typed(words.split(" "), monkeypatch) == 2
    out, said = capsys.readouterr()
    assert_told(said, value, expected)
    assert REMEDY.search(said), said
    assert "Serving on" not in out
    assert contents(folder) == before


def assert_told(said: str, *words: str) -> None:
    flat = " ".join(said.split())
    assert "Traceback" not in said
    for word in words:
        assert word in flat
    assert EXPECTED.search(flat) or "expected" in words, flat


def test_a_taken_port_is_refused_before_anything_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        assert typed(["serve", "--port", port], monkeypatch) == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert_told(said, port, "--port")


def test_brackets_are_no_markup(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty.toml").write_text("runs = 2\n")
    assert typed(["run", "empty.toml"], monkeypatch) == 2
    assert "Expected a table [world] with at least its kind" in capsys.readouterr().err


WORLD = '[world]\nkind = "synthetic"\n'
TOML: list[tuple[str, str, str]] = [
    ("horizon = ", "mine.toml", "TOML"),
    ("horizn = 5\n" + WORLD, "'horizn'", "horizon"),
    ("horizon = 0\n" + WORLD, "0", "at least 1"),
    ('horizon = "long"\n' + WORLD, "'long'", "whole number"),
    ("runs = 0\n" + WORLD, "0", "at least 1"),
    ("runs = 100000000\n" + WORLD, "100,000,000", "lower runs"),
    ('methods = ["rcdp"]\n' + WORLD, "'rcdp'", "rcdp-ucb"),
    ('post_serving = "splin"\n' + WORLD, "'splin'", "spline"),
    ("runs = 2\n", "world", "[world]"),
    ('[world]\nkind = "flat"\n', "'flat'", "synthetic"),
    ("world = 3\n", "3", "table"),
    (WORLD + "context_dim = -1\n", "-1", "at least 1"),
    (WORLD + "context_dim = 300000\n", "300,000", "lower context_dim"),
    (WORLD + 'mapping = "absolute"\n', "'absolute'", "abs"),
    (WORLD + 'link = "logit"\n', "'logit'", "logistic"),
    (WORLD + "colour = 1\n", "'colour'", "context_dim"),
    (WORLD + '[delay]\nkind = "stochastic"\nmean = -1\nstd = 1\n', "-1", "at least 0"),
    (WORLD + '[delay]\nkind = "strategic"\n', "budget", "whole number"),
    (WORLD + '[corruption]\nkind = "random"\nbudget = 1\nprobability = 2\n', "2", "at most 1"),
    (WORLD + "[method.rcdb]\nestimate = 3\n", "3", "text"),
    (WORLD + "[method.nobody]\nclip = 1\n", "'nobody'", "rcdb"),
    ('[world]\nkind = "spreadsheet"\npath = "no.csv"\nbefore = ["a"]\nafter = []\nutility = "u"\n',
     "no.csv", "xpected"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value", "expected"), TOML, ids=[case[0][:40] for case in TOML])
def test_an_experiment_refuses(
    text: str,
    value: str,
    expected: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "mine.toml").write_text(text)
    before = contents(folder)
    assert typed(["run", "mine.toml"], monkeypatch) == 2
    said = capsys.readouterr().err
    assert_told(said, value, expected)
    assert contents(folder) == before


def _learner(**changed: object) -> object:
    parts: dict[str, object] = {
        "select": LeaderChallenger(), "weigh": Uniform(), "estimate": FullMLE(),
        "post_serving": NoPostServing(), "width": ConstantWidth(value=0.1),
    }  # fmt: skip
    return DuelingLearner(runs=1, context_dim=2, post_dim=0, **{**parts, **changed})  # type: ignore[arg-type]


def _told(outcome: float) -> object:
    learner = rcdp_ucb(context_dim=2)
    learner.serve(learner.choose(np.ones((1, 3, 2))))
    return learner.tell(Votes(run=np.array([0]), round=np.array([0]), outcome=np.array([outcome])))


def _unknown_round() -> object:
    learner = rcdp_ucb(context_dim=2, post_dim=1)
    return learner.observe(Contexts(run=np.array([0]), round=np.array([7]), y=np.ones((1, 2, 1))))


def _played_twice() -> object:
    world, learner = LinearWorld(runs=1, context_dim=2, arms=3), rcdp_ucb(context_dim=2)
    play(learner, world, horizon=3)
    return play(learner, world, horizon=3)


def _create(**changed: object) -> object:
    return StreamSettings(**({"context_dim": 1} | changed))  # type: ignore[arg-type]


def _fetch() -> object:
    with Client("http://127.0.0.1:9", retries=0) as client:
        return client.stream("meals").report()


PYTHON: list[tuple[str, Callable[[], object], str, str]] = [
    ("estimate by name", lambda: _learner(estimate="full-mle"), "'full-mle'", "FullMLE()"),
    ("select by name", lambda: _learner(select="ucb"), "'ucb'", "LeaderChallenger()"),
    ("φ̂ by name", lambda: _learner(post_serving="spline"), "'spline'", "Spline()"),
    ("geometry", lambda: _learner(geometry="round"), "'round'", "served"),
    ("recipe", lambda: recipe("rcdp"), "'rcdp'", "rcdp-ucb"),
    ("option", lambda: rcdp_ucb(context_dim=2, widht=1), "'widht'", "exploration_width"),  # type: ignore[call-arg]
    ("estimator", lambda: rcdp_ucb(context_dim=2, estimate="mle"), "'mle'", "full-mle"),
    ("context_dim", lambda: rcdp_ucb(context_dim=0), "0", "context_dim ≥ 1"),
    ("mapping", lambda: LinearWorld(mapping="absolut"), "'absolut'", "abs"),
    ("arms", lambda: LinearWorld(arms=1), "arms is 1", "at least 2"),
    ("published seed", lambda: LinearWorld(seed=42950, parameters="published"), "42950", "at most"),
    ("delay", lambda: GaussianDelay(mean=-1, std=1), "-1", "at least 0"),
    ("corruption", lambda: StrategicCorruption(budget=-1), "-1", "at least 0"),
    ("horizon", lambda: play(rcdp_ucb(context_dim=10), LinearWorld(runs=1), horizon=0), "0", "at least 1"),
    ("misfit", lambda: play(rcdp_ucb(context_dim=3), LinearWorld(runs=1), horizon=1), "3", "same sizes"),
    ("played twice", _played_twice, "3 rounds", "make a new one"),
    ("candidates", lambda: rcdp_ucb(context_dim=2).choose(np.ones((1, 3, 5))), "(1, 3, 5)", "(1, K, 2)"),
    ("one candidate", lambda: rcdp_ucb(context_dim=2).choose(np.ones((1, 1, 2))), "1", "at least two"),
    ("nan", lambda: rcdp_ucb(context_dim=2).choose(np.full((1, 3, 2), np.nan)), "nan", "finite"),
    ("vote", lambda: _told(2.0), "2.0", "0"),
    ("round", _unknown_round, "7", "never served"),
    ("results", lambda: Results.load("nowhere"), "nowhere", "duelwise reproduce"),
    ("feature names", lambda: _create(feature_names=("a", "b")), "2", "expected"),
    ("share", lambda: _create(random_share=2), "2", "probability"),
    ("store", lambda: DecisionStream.open("sqlite:///no/such.db", "x"), "no", "create it"),
    ("service", _fetch, "127.0.0.1:9", "no answer"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "call", "value", "expected"), PYTHON, ids=[case[0] for case in PYTHON])
def test_python_refuses(
    what: str, call: Callable[[], object], value: str, expected: str, folder: Path
) -> None:
    before = contents(folder)
    with pytest.raises(DuelwiseError) as error:
        call()
    assert value in str(error.value)
    assert expected.lower() in str(error.value).lower()
    assert contents(folder) == before


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    running = InProcess(create_app(f"sqlite:///{tmp_path_factory.mktemp('wrong')}/duels.db"))
    with httpx.Client(base_url="http://127.0.0.1", transport=running) as client:
        assert client.post("/v1/streams", json=MEALS).status_code == 201
        yield client
    running.stop()


ASK, STREAMS, MEAL = "/v1/streams/meals/ask", "/v1/streams", "/v1/streams/meals"
SHORT = [{"id": "a", "features": [1]}, {"id": "b", "features": [1]}]
HTTP: list[tuple[str, str, object, int, str]] = [
    ("POST", STREAMS, {"name": "x"}, 422, "context_dim"),
    ("POST", STREAMS, {"name": "x", "context_dim": 0}, 422, "context_dim"),
    ("POST", STREAMS, {"name": "a b", "context_dim": 1}, 422, "'a b'"),
    ("POST", STREAMS, {"name": "x", "context_dim": 1, "recipe": "rcdp"}, 422, "'rcdp'"),
    ("POST", STREAMS, {"name": "x", "context_dim": 1, "options": {"widht": 1}}, 422, "widht"),
    ("POST", STREAMS, {"name": "x", "context_dim": 9999}, 413, "9999"),
    ("POST", STREAMS, MEALS | {"context_dim": 4, "feature_names": [], "ranges": {}}, 409, "meals"),
    ("POST", ASK, {"candidates": []}, 422, "candidates"),
    ("POST", ASK, {"candidates": candidates(1)}, 422, "length >= 2"),
    ("POST", ASK, {"candidates": SHORT}, 422, "price, distance, spice"),
    ("POST", ASK, {"candidate": candidates()}, 422, "candidate"),
    ("POST", ASK, "no object", 422, "expected `object`"),
    ("POST", f"{MEAL}/tickets/no/tell", {"winner": "left"}, 404, "'no'"),
    ("POST", f"{MEAL}/tickets/no/tell", {"winner": "both"}, 422, "both"),
    ("POST", f"{MEAL}/tickets/no/observe", {"left": [1, 1], "right": [1, 1]}, 404, "'no'"),
    ("POST", f"{MEAL}/expire", {"older_than": -1}, 422, "older_than"),
    ("GET", f"{STREAMS}/meels", None, 404, "'meels'"),
    ("GET", "/v1/nothing", None, 404, "/v1/nothing"),
    ("DELETE", ASK, None, 405, "DELETE"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "status", "named"), HTTP)
def test_the_service_refuses(
    method: str, path: str, body: object, status: int, named: str, service: httpx.Client
) -> None:
    before = service.get(STREAMS).json()
    content = None if body is None else json.dumps(body)
    answer = service.request(method, path, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert named in problem["detail"]
    assert problem["title"]
    assert problem["advice"]
    assert service.get(STREAMS).json() == before


def test_there_are_enough_of_them() -> None:
    assert len(COMMANDS) + len(TOML) + len(PYTHON) + len(HTTP) >= 60

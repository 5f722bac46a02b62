"""Whatever is typed or written wrongly: one message, no traceback, nothing changed.

Each case gives what was wrong, the value its message must name, and a word of what was expected.
"""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from unchanged import unchanged

from duelwise.cli import main

EXPECTED = re.compile(
    r"[Ee]xpected|Known:|Did you mean|must be|needs at least|should|is not one of|no keys|"
    r"Expecting|for life|Make one first"
)
REMEDY = re.compile(
    r"--help|Install it with|`duelwise |choose|check|leave it out|Create it|Make one|give", re.I
)

Refused = Callable[..., tuple[str, str]]


@pytest.fixture
def refused(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Type a command as a person would, that fails and changes nothing; gives what it prints and says."""

    def type_it(*words: str) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["duelwise", *words])
        with unchanged(folder), pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        out, said = capsys.readouterr()
        return out, said

    return type_it


def assert_told(said: str, *words: str) -> None:
    flat = " ".join(said.split())
    assert "Traceback" not in said
    for word in words:
        assert word in flat
    assert EXPECTED.search(flat) or "expected" in words, flat


COMMANDS: list[tuple[str, str, str]] = [
    ("run lineer", "'lineer'", "linear"),
    ("run linear --runs 0", "runs is 0", "at least 1"),
    ("run linear --runs -3", "runs is -3", "at least 1"),
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
    ("advise --dim 0", "context_dim is 0", "at least 1"),
    ("advise --curvature 0", "curvature is 0", "norm_bound"),
    ("advise --norm-bound nan", "norm_bound is nan", "finite"),
    ("advise --norm-bound 1000", "curvature is 0", "norm_bound"),
    ("advise --feature-bound -1", "feature_bound is -1", "at least 0"),
    ("advise --store sqlite:///any.db", "--store is given", "--stream"),
    ("advise --stream meals --dim 5", "--dim is 5", "--lies"),
    ("bounds --dim 0", "dim is 0", "at least 1"),
    ("bounds --lies nan", "nan", "finite"),
    ("bounds --mean-delay -1", "-1", "at least 0"),
    ("theory alpha --json file/x.json", "file", "may be written"),
    ("theory alpha --html x.txt", "x.txt", ".html"),
    ("theory alpha --page nowhere.md", "nowhere.md", "exists"),
    ("theory alpha --page plain.toml", "plain.toml", "marker"),
    ("list --json file/x.json", "file", "may be written"),
    ("items meals --withdraw soup --group lunch", "--group is 'lunch'", "leave it out"),
    ("items meals --load x.csv --limit 5", "--limit is 5", "leave it out"),
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
    ("import meals endless.csv", "endless.csv", "cells"),
    ("import meals short.csv", "right.price", "expected"),
    ("import meals votes.txt", ".txt", ".csv"),
    ("import meels bad.csv", "'meels'", "meals"),
    ("restore nowhere.backup", "nowhere.backup", "can be read"),
    ("restore binary.backup", "binary.backup", "backup` wrote"),
    ("restore torn.backup", "no JSON", "whole copy"),
    ("export meels", "'meels'", "meals"),
    ("verify meels", "'meels'", "meals"),
    ("repair meels", "'meels'", "meals"),
    ("backup meals file/x", "file/x", "may be read or written"),
    ("stress meals --lies ,", "','", "from 0 to 1"),
    ("audit meals --html x.txt", "x.txt", ".html"),
    ("audit meals --html file/x.html", "file", "may be written"),
    ("serve --candidate-limit 1", "candidate_limit is 1", "at least 2"),
    ("serve --host 0.0.0.0", "0.0.0.0", "keys add"),
    ("serve --port 99999", "99999", "65535"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "value", "expected"), COMMANDS, ids=[case[0] for case in COMMANDS])
def test_a_command_refuses(words: str, value: str, expected: str, refused: Refused) -> None:
    out, said = refused(*words.split(" "))
    assert_told(said, value, expected)
    assert REMEDY.search(said), said
    assert "Serving on" not in out


def test_a_taken_port_is_refused_before_anything_is_said(refused: Refused) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        out, said = refused("serve", "--port", port)
    assert out == ""
    assert_told(said, port, "--port")


def test_brackets_are_no_markup(folder: Path, refused: Refused) -> None:
    (folder / "empty.toml").write_text("runs = 2\n")
    _, said = refused("run", "empty.toml")
    assert "Expected a table [world] with at least its kind" in said


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
def test_an_experiment_refuses(text: str, value: str, expected: str, folder: Path, refused: Refused) -> None:
    (folder / "mine.toml").write_text(text)
    _, said = refused("run", "mine.toml")
    assert_told(said, value, expected)


def test_there_are_enough_of_them() -> None:
    assert len(COMMANDS) + len(TOML) >= 60

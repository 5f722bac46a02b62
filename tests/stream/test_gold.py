"""Pairs whose answer is known: counted apart, and never part of what a source is judged by."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from duelwise.cli import app
from duelwise.errors import InvalidInput
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.gold import Gold, check_gold, read_gold

ITEMS = [{"id": name, "features": [k]} for k, name in enumerate(("bad", "fair", "good"))]
ORDER = {"bad": 0, "fair": 1, "good": 2}
GOLD = [Gold("good", "bad")]


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DecisionStream]:
    monkeypatch.setenv("DUELWISE_STORE", f"sqlite:///{tmp_path}/g.db")
    settings = StreamSettings(context_dim=1, random_share=1.0)
    with DecisionStream.create(f"sqlite:///{tmp_path}/g.db", "shop", settings) as opened:
        opened.put_items(ITEMS)
        for n in range(80):
            duel = opened.ask()
            source = ("honest", "liar", "tired", None)[n % 4]
            left_is_better = ORDER[duel.left.id or ""] > ORDER[duel.right.id or ""]
            winner = "left" if left_is_better != (source == "liar") else "right"
            opened.tell(duel.ticket, "tie" if source == "tired" else winner, source=source)
        yield opened


def test_gold_votes_are_counted_apart(stream: DecisionStream) -> None:
    before = {one.source: one for one in stream.raters()}
    found = {one.source: one for one in stream.raters(gold=GOLD)}
    assert {one.gold_votes for one in before.values()} == {0}
    asked = [{"good", "bad"} == {a, b} for a, b in zip(*ids(stream), strict=True)]
    sources = stream.votes().source
    for name, share in (("honest", 1.0), ("liar", 0.0), ("tired", 0.5)):
        tests = sum(test and source == name for test, source in zip(asked, sources, strict=True))
        assert tests > 2
        assert (found[name].gold_votes, found[name].gold_right) == (tests, share * tests)
        assert found[name].votes == before[name].votes - tests


def ids(stream: DecisionStream) -> tuple[list[str | None], list[str | None]]:
    votes = stream.votes()
    return votes.first, votes.second


def test_gold_comes_from_files_and_the_command_line(stream: DecisionStream, tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("better,worse\ngood,bad\n")
    (tmp_path / "gold.jsonl").write_text('{"better": "good", "worse": "bad"}\n')
    assert read_gold(tmp_path / "gold.csv") == read_gold(tmp_path / "gold.jsonl") == GOLD
    words = ["raters", "shop", "--gold", str(tmp_path / "gold.csv"), "--json"]
    shown = json.loads(CliRunner().invoke(app, words).output)["raters"]
    assert {one["source"]: one["gold_right"] for one in shown}["liar"] == 0


def test_gold_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    for pairs in ([Gold("a", "a")], [Gold("a", "b"), Gold("b", "a")]):
        with pytest.raises(InvalidInput, match="leave one out"):
            check_gold(pairs)
    (tmp_path / "gold.csv").write_text("best,worst\na,b\n")
    with pytest.raises(InvalidInput, match="gold pair 1"):
        read_gold(tmp_path / "gold.csv")
    with pytest.raises(InvalidInput, match=r"expected \.csv or \.jsonl"):
        read_gold(tmp_path / "gold.txt")

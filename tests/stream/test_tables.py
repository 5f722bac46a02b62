"""Votes as tables, read back; an audit and its page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from duelwise.answers.influence import leaders_without
from duelwise.cli import app
from duelwise.errors import InvalidInput, UnknownName
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.audit_page import audit_page
from duelwise.stream.auditing import audit
from duelwise.stream.csv_files import unquoted
from duelwise.stream.events import Asked, Cut, Recorded, Told
from duelwise.stream.gold import Gold, read_gold
from duelwise.stream.importing import import_duels
from duelwise.stream.operations import Import
from duelwise.stream.stream_state import StreamState
from duelwise.stream.tables import (
    cell,
    preferences,
    vote_columns,
    votes_as,
    written,
)
from duelwise.stream.vote_table import table_of
from duelwise.types import Array, IntArray

HOSTILE = "=SUM(A1)<script>"


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[DecisionStream]:
    settings = StreamSettings(context_dim=1, feature_names=("size",))
    with DecisionStream.create(f"sqlite:///{tmp_path}/t.db", "shop", settings) as opened:
        opened.put_items(
            [
                {"id": HOSTILE, "features": [1.0], "group": "how?", "content": "One, two"},
                {"id": "plain", "features": [0.0], "group": "how?"},
            ]
        )
        for n in range(30):
            duel = opened.ask()
            winner = "tie" if n % 10 == 9 else "left" if duel.left.id == HOSTILE else "right"
            opened.tell(duel.ticket, winner, source=f"@rater {n % 2}")
        yield opened


def test_a_table_read_back_gives_the_same_votes(stream: DecisionStream) -> None:
    columns = vote_columns(stream.votes())
    rows = list(csv.DictReader(io.StringIO(written(columns, "csv").decode())))
    for name in ("ticket", "left", "right", "winner", "source"):
        assert [unquoted(row[name]) for row in rows] == columns[name]
    assert [float(row["weight"]) for row in rows] == columns["weight"]
    assert [float(row["left.size"]) for row in rows] == columns["left.size"]
    assert not any(value.startswith(("=", "@", "+", "-")) for row in rows for value in row.values() if value)
    lines = [json.loads(line) for line in written(columns, "jsonl").splitlines()]
    assert [line["winner"] for line in lines] == columns["winner"]
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(written(columns, "parquet")))
    assert table.to_pydict() == {name: list(values) for name, values in columns.items()}


def test_preferences_name_prompt_chosen_and_rejected(stream: DecisionStream) -> None:
    rows = [json.loads(line) for line in votes_as(stream, "preferences").splitlines()]
    assert len(rows) == 27  # ties prefer nobody
    assert {row["prompt"] for row in rows} == {"how?"}
    assert {(row["chosen"], row["rejected"]) for row in rows} == {("One, two", "plain")}
    assert all(row["margin"] > 0 and row["rater"].startswith("@rater") for row in rows)


@pytest.mark.parametrize("text", ["plain", "=1", "+1", "-1", "@x", "\tx", "'quoted", "'=1", "''", ""])
def test_a_cell_is_plain_text_and_read_back(text: str) -> None:
    assert unquoted(str(cell(text))) == text
    assert not str(cell(text)).startswith(("=", "+", "-", "@", "\t"))


def test_a_quote_that_nobody_put_there_is_left_alone() -> None:
    assert unquoted("'tis") == "'tis"


def test_an_unknown_format_is_refused(stream: DecisionStream) -> None:
    with pytest.raises(UnknownName, match="xml"):
        votes_as(stream, "xml")


def test_a_table_has_three_formats_and_votes_a_fourth(stream: DecisionStream) -> None:
    with pytest.raises(UnknownName, match=r"no format called 'preferences'.* Known: csv, jsonl, parquet\."):
        written({"a": [1]}, "preferences")
    with pytest.raises(UnknownName, match=r"no format called 'xml'.* csv, jsonl, parquet, preferences\."):
        votes_as(stream, "xml")


def test_a_row_says_what_was_shown_left_and_right(stream: DecisionStream) -> None:
    columns, votes = vote_columns(stream.votes()), stream.votes()
    assert {bool(swapped) for swapped in votes.swapped} == {True, False}
    sizes = {HOSTILE: 1.0, "plain": 0.0}
    shown = zip(votes.first, votes.second, votes.swapped, strict=True)
    pairs = [(second, first) if swapped else (first, second) for first, second, swapped in shown]
    assert list(zip(columns["left"], columns["right"], strict=True)) == pairs
    assert [sizes[str(id)] for id in columns["left"]] == columns["left.size"]
    assert [sizes[str(id)] for id in columns["right"]] == columns["right.size"]


def test_names_survive_export_and_import(stream: DecisionStream, tmp_path: Path) -> None:
    votes, items, gold = tmp_path / "votes.csv", tmp_path / "items.csv", tmp_path / "gold.csv"
    votes.write_bytes(votes_as(stream, "csv"))
    settings = StreamSettings(context_dim=1, feature_names=("size",))
    with DecisionStream.create(f"sqlite:///{tmp_path}/other.db", "shop", settings) as other:
        assert import_duels(other, votes) == 30
        assert set(other.votes().source) == {"@rater 0", "@rater 1"}
        names = [HOSTILE, "'quoted", "''", "plain", "-1"]
        items.write_bytes(written({"id": names, "group": names, "size": [0.0, 1.0, 2.0, 3.0, 4.0]}, "csv"))
        assert other.put_items(items).added == 5
        assert [other.catalogue.item(name).group for name in names] == names
    gold.write_bytes(written({"better": [HOSTILE], "worse": ["'quoted"]}, "csv"))
    assert read_gold(gold) == [Gold(HOSTILE, "'quoted")]


def test_a_preference_for_the_second_turns_pair_and_margin(stream: DecisionStream) -> None:
    votes = stream.votes()
    votes = replace(votes, outcome=np.resize([1.0, 0.0, 0.5], len(votes)))
    rows = preferences(votes, stream.catalogue, [0.25] * len(votes))
    assert [row["margin"] for row in rows[:3]] == [0.25, -0.25, 0.25]
    assert [row["ticket"] for row in rows[:3]] == [votes.ticket[k] for k in (0, 1, 3)]
    content = {HOSTILE: "One, two", "plain": "plain"}
    assert [rows[0]["chosen"], rows[1]["rejected"]] == [content[str(id)] for id in votes.first[:2]]


def test_an_audit_finds_who_sees_otherwise(stream: DecisionStream) -> None:
    for n in range(120):
        duel = stream.ask()
        likes = HOSTILE if n % 4 else "plain"
        winner = "left" if duel.left.id == likes else "right"
        stream.tell(duel.ticket, winner, source="many" if n % 4 else "few")
    found = stream.audit()
    checks = {one.group: one.check for one in found.groups}
    assert checks["few"].outvoted_low > 0
    assert not checks["many"].outvoted_low > 0
    assert any("few" in alarm for alarm in found.alarms)
    assert found.leader == HOSTILE
    page = audit_page("shop", found)
    assert "<script>SUM" not in page
    assert "=SUM(A1)&lt;script&gt;" in page


def test_an_audit_asks_who_would_lead_without_a_group_only_for_those_it_shows(
    stream: DecisionStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step for each of 100,000 people who voted once would take minutes."""
    for n in range(150):
        duel = stream.ask()
        likes = HOSTILE if n < 40 else "plain"
        source = f"person {n}" if n < 40 else "everybody"
        stream.tell(duel.ticket, "left" if duel.left.id == likes else "right", source=source)
    asked: list[int] = []

    def counted(dz: Array, outcome: Array, source: IntArray, sources: int, *rest: Array) -> IntArray:
        asked.append(sources)
        return leaders_without(dz, outcome, source, sources, *rest)

    monkeypatch.setattr("duelwise.stream.auditing.leaders_without", counted)
    found = stream.audit()
    assert {one.group: one.leader_without for one in found.groups} == {"everybody": HOSTILE}
    assert found.leader == "plain"
    assert asked == [1]


@pytest.mark.parametrize("text", ['{"@rater 0": null}', '{"@rater 0": ["a"]}', "[" * 100_000, "[]"])
def test_groups_that_are_none_are_refused(stream: DecisionStream, tmp_path: Path, text: str) -> None:
    (tmp_path / "groups.json").write_text(text, encoding="utf-8")
    store, groups = f"sqlite:///{tmp_path}/t.db", f"{tmp_path}/groups.json"
    words = ["audit", stream.name, "--groups", groups, "--store", store]
    assert isinstance(CliRunner().invoke(app, words).exception, InvalidInput)


def test_groups_may_begin_with_a_mark_of_utf8(stream: DecisionStream, tmp_path: Path) -> None:
    (tmp_path / "groups.json").write_text('{"@rater 0": "all", "@rater 1": "all"}', encoding="utf-8-sig")
    store, groups = f"sqlite:///{tmp_path}/t.db", f"{tmp_path}/groups.json"
    words = ["audit", stream.name, "--groups", groups, "--store", store]
    found = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert [one["group"] for one in found["groups"]] == ["all"]


def test_that_first_votes_count_less_is_no_alarm(tmp_path: Path) -> None:
    """The default recipe weighs the first hundred by their rank, whoever gave them."""
    settings = StreamSettings(context_dim=1)
    with DecisionStream.create(f"sqlite:///{tmp_path}/t.db", "shop", settings) as opened:
        for n in range(160):
            duel = opened.ask([[0.0], [1.0]])
            opened.tell(duel.ticket, "left" if n % 2 else "right", source="early" if n < 60 else "late")
        found = opened.audit()
        assert found.alarms == ()
        assert found.full_weight == (1.0,) * 10
        assert found.ledger["weight"][:2] == [0.01, 0.02]
        votes = opened.votes()
        weight = votes.weight.copy()
        weight[130:] /= 2
        held_back = audit(replace(votes, weight=weight), np.ones(1), ids=[], items=np.empty((0, 1)))
    assert held_back.weights_moved
    assert held_back.groups[0].check.held_back_low > 0


@pytest.mark.parametrize("estimate", ["one-pass", "full-mle"])
@pytest.mark.parametrize("recipe", ["live", "steady"])
def test_no_ramp_is_an_alarm_whichever_duels_it_counts(tmp_path: Path, recipe: str, estimate: str) -> None:
    """Where votes are kept, one on equals has no place on the ramp of `live`; it has on that of `steady`."""
    rng = np.random.default_rng(1)
    settings = StreamSettings(context_dim=2, recipe=recipe, options={"estimate": estimate})
    with DecisionStream.create(f"sqlite:///{tmp_path}/t.db", "shop", settings) as opened:
        for n in range(300):
            left, right = rng.normal(size=(2, 2)).tolist()
            winner = "left" if rng.random() < 1 / (1 + np.exp(right[0] - left[0])) else "right"
            opened.run([Import(left, left if n % 10 == 5 else right, winner)])
            if n % 7 == 0:
                opened.ask([left, right])  # which takes a rank, and nobody answers
        found = opened.audit()
        assert found.full_weight == (1.0,) * 10
        assert not found.weights_moved
        votes = opened.votes()
    weight = votes.weight.copy()
    weight[270:] /= 2
    held_back = audit(replace(votes, weight=weight), np.ones(2), ids=[], items=np.empty((0, 2)))
    assert held_back.full_weight == (*(1.0,) * 9, 0.0)
    assert held_back.weights_moved


def test_a_duel_whose_record_was_cut_keeps_its_rank() -> None:
    settings = StreamSettings(context_dim=1, recipe="steady")
    known = Asked(1, "tag", np.array([0, 1]), np.eye(2)[:, :1], np.empty((2, 0)), False, 0, np.empty((2, 0)))
    events = [Recorded(n, 1.0, one) for n, one in enumerate([Cut(0), known, Cut(), Told(1, 1.0)], start=1)]
    votes = table_of(settings, events, StreamState(settings))
    assert votes.rank.tolist() == [2]
    assert votes.weight.tolist() == [(2 / 100) ** 3]


@pytest.mark.parametrize("usual", [1.0, 0.2])
def test_the_alarm_for_weights_knows_chance(stream: DecisionStream, usual: float) -> None:
    """One vote of another weight among three is a change after 27 alike, and none after three."""

    def moved(*others: int) -> bool:
        weight = np.full(30, usual)
        weight[list(others)] = 1.2 - usual
        settings = StreamSettings(context_dim=1, recipe="rcdb")  # whose weights no ramp makes small
        votes = replace(stream.votes(), settings=settings, weight=weight)
        found = audit(votes, np.ones(1), ids=[], items=np.empty((0, 1)))
        assert len(found.full_weight) == 10
        assert found.weights_moved == ("The share of votes that count in full has moved." in found.alarms)
        return found.weights_moved

    assert moved(29)
    assert moved(27)
    assert not moved()
    assert not moved(4)
    assert not moved(0, 29)

"""Export, backup, restore, a new stream from an old log, and warm starts."""

import json
from dataclasses import replace

import numpy as np
import pytest
from living import SETTINGS, candidates, live, vote

from duelwise.errors import Conflict, InvalidInput
from duelwise.storage import open_store
from duelwise.stream import DecisionStream
from duelwise.stream.importing import import_duels
from duelwise.stream.transfer import backup, derive, export_lines, read_backup, read_lines, restore


def test_a_restored_stream_goes_on_where_it_was(stream, store, clock, rng, tmp_path):
    tickets = live(stream, rng, 60)
    stream.retract(vote(stream, rng))
    stream.wait_for_background()
    offered = candidates(rng)
    named = stream.ask(offered, event_id="order 7")
    backup(store, "meals", tmp_path / "meals.jsonl")
    other = open_store(f"sqlite:///{tmp_path}/other.db")
    restore(other, read_backup(tmp_path / "meals.jsonl"))
    with DecisionStream.open(other, "meals", clock=clock) as again:
        assert again.snapshot_state() == stream.snapshot_state()
        assert [again.ticket(ticket) for ticket in tickets] == [stream.ticket(ticket) for ticket in tickets]
        assert again.ask(offered, event_id="order 7").ticket == named.ticket
        again.tell(named.ticket, "left")
    with pytest.raises(Conflict, match="already a stream 'meals'"):
        restore(other, read_backup(tmp_path / "meals.jsonl"))
    other.close()


def test_a_torn_or_changed_export_is_noticed(stream, store, rng):
    live(stream, rng, 20)
    lines = list(export_lines(store, "meals"))
    assert read_lines(lines).log.head == stream.model_version
    for wrong in (
        lines[:-1],
        lines[:3] + lines[4:],
        [*lines[:2], lines[2].replace("0", "1", 1), *lines[3:]],
        [],
    ):
        with pytest.raises(InvalidInput, match="torn or was changed"):
            read_lines(wrong)
    with pytest.raises(InvalidInput, match="Line 3"):
        read_lines([*lines[:2], lines[2][:20], *lines[3:]])
    with pytest.raises(InvalidInput, match="expected 'duelwise log 1'"):
        read_lines(['{"format": "other"}', *lines[1:]])


def test_a_new_stream_lives_through_an_old_log(stream, store, clock, rng):
    tickets = live(stream, rng, 60)
    retracted = vote(stream, rng)
    stream.retract(retracted)
    stream.wait_for_background()
    old = read_lines(export_lines(store, "meals"))
    new = replace(SETTINGS, context_dim=2, feature_names=("price", "stars"), recipe="rcdb")
    derive(store, "meals 2", new, old, features=lambda x: x[:, :2])
    with DecisionStream.open(store, "meals 2", clock=clock) as again:
        again.wait_for_background()
        assert again.counts() == stream.counts()
        assert again.report().coefficients[1].feature == "stars"
        assert not again.report().rebuild_is_due
        assert [again.ticket(ticket).state for ticket in tickets] == [stream.ticket(t).state for t in tickets]
        vote(again, rng)


def test_a_derived_stream_with_the_same_features_learns_the_same(stream, store, rng):
    for _ in range(10):
        vote(stream, rng)
    derive(store, "twin", SETTINGS, read_lines(export_lines(store, "meals")))
    with DecisionStream.open(store, "twin") as twin:
        assert np.array_equal(twin._replica.folded.learner.theta, stream._replica.folded.learner.theta)


JSONL = [
    {"left": [1, 0, 0], "right": [0, 1, 0], "left_context": [1, 2],
     "right_context": [3, 4], "winner": "left"},
    {"left": {"price": 1, "stars": 2, "way": 3}, "right": [0, 1, 0], "left_context": [1, 2],
     "right_context": [3, 4], "winner": "tie", "source": "old system", "event_id": "past 2"},
]  # fmt: skip


def test_past_duels_warm_a_stream_up(stream, tmp_path):
    path = tmp_path / "past.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in JSONL) + "\n")
    assert import_duels(stream, path) == 2
    assert stream.counts()["told"] == 2
    assert np.any(stream._replica.folded.learner.theta)
    assert import_duels(stream, path) == 1  # the one without an event_id
    assert stream.ticket(stream.report().down_weighted_votes[0].ticket).state == "told"


def test_csv_and_jsonl_say_the_same(store, tmp_path):
    names = [f"{side}.{name}" for side in ("left", "right") for name in ("price", "stars", "way", "y0", "y1")]
    rows = ["1,0,0,1,2,0,1,0,3,4,left,,", "1,2,3,1,2,0,1,0,3,4,tie,old system,past 2"]
    (tmp_path / "past.csv").write_text("\n".join([",".join([*names, "winner", "source", "event_id"]), *rows]))
    (tmp_path / "past.jsonl").write_text("\n".join(json.dumps(line) for line in JSONL))
    states = []
    for name in ("past.csv", "past.jsonl"):
        with DecisionStream.create(store, name, SETTINGS, clock=lambda: 5.0) as stream:
            import_duels(stream, tmp_path / name)
            states.append(stream.snapshot_state())
    assert states[0] == states[1]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("past.txt", "", "expected .csv or .jsonl"),
        ("past.csv", "left.price,winner\n1,left\n", "lacks the column 'left.stars'"),
        ("past.jsonl", json.dumps(JSONL[0]) + "\n{", "line 2 is no duel"),
        ("past.jsonl", json.dumps(JSONL[0] | {"colour": 1}), "line 1 is no duel.*colour"),
        ("past.jsonl", json.dumps(JSONL[0] | {"winner": "skip"}), "line 1: the winner is 'skip'"),
        (
            "past.jsonl",
            json.dumps(JSONL[0]) + "\n" + json.dumps(JSONL[0] | {"left": [1, 2]}),
            "line 2: .* 2 numbers",
        ),
        (
            "past.jsonl",
            json.dumps(JSONL[0] | {"right": [1, "x", 2]}),
            "'stars' of the right candidate is 'x'",
        ),
    ],
)
def test_a_bad_file_is_refused_whole(stream, tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=says):
        import_duels(stream, tmp_path / name)
    assert stream.model_version == 0

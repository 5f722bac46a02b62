"""Export, backup, restore, a new stream from an old log, and warm starts."""

import json
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from living import SETTINGS, Clock, candidates, live, vote
from numpy.random import Generator

from duelwise.errors import Conflict, InvalidInput, UnknownStream
from duelwise.storage import Store, open_store
from duelwise.stream import DecisionStream, transfer
from duelwise.stream.importing import import_duels
from duelwise.stream.repair import verify
from duelwise.stream.transfer import (
    backup,
    derive,
    derive_columns,
    export_lines,
    read_backup,
    read_lines,
    restore,
)


def test_a_restored_stream_goes_on_where_it_was(
    stream: DecisionStream, store: Store, clock: Clock, rng: Generator, tmp_path: Path
) -> None:
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


def test_backups_to_one_file_do_not_meet(
    stream: DecisionStream, store: Store, rng: Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(stream, rng, 5)
    target = tmp_path / "meals.jsonl"
    lines = list(export_lines(store, "meals"))

    def interleaved(_store: Store, name: str) -> Iterator[str]:
        yield lines[0]
        if name == "first":
            backup(store, "second", target)
        yield from lines[1:]

    monkeypatch.setattr(transfer, "export_lines", interleaved)
    backup(store, "first", target)
    assert target.read_text().splitlines() == lines
    assert list(tmp_path.glob("meals.jsonl*")) == [target]


def test_a_backup_goes_into_a_pipe(
    stream: DecisionStream, store: Store, rng: Generator, tmp_path: Path
) -> None:
    """As /dev/stdout is; it was replaced by a file, and who read it heard nothing."""
    live(stream, rng, 5)
    pipe, heard = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: heard.extend(pipe.read_text().splitlines()), daemon=True)
    reader.start()
    backup(store, "meals", pipe)
    reader.join(10)
    assert heard == list(export_lines(store, "meals"))


def test_a_backup_that_fails_leaves_what_was_there(
    stream: DecisionStream, store: Store, rng: Generator, tmp_path: Path
) -> None:
    target, leftover = tmp_path / "meals.jsonl", tmp_path / "meals.jsonl.partial"
    leftover.mkdir()  # of that name nothing can be written
    live(stream, rng, 5)
    backup(store, "meals", target)
    before = target.read_text()
    with pytest.raises(UnknownStream):
        backup(store, "nothing", target)
    assert target.read_text() == before
    assert sorted(tmp_path.glob("meals.jsonl*")) == [target, leftover]


def test_a_torn_or_changed_export_is_noticed(stream: DecisionStream, store: Store, rng: Generator) -> None:
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
    with pytest.raises(InvalidInput, match="expected 'duelwise log 2', or 'duelwise log 1'"):
        read_lines(['{"format": "other"}', *lines[1:]])


def test_every_line_of_a_duel_names_its_ticket(stream: DecisionStream, store: Store, rng: Generator) -> None:
    tickets = live(stream, rng, 60)
    stream.retract(tickets[0])
    stream.hold_source("user 1")
    stream.wait_for_background()
    lines = [json.loads(line) for line in export_lines(store, "meals")]
    assert lines[0]["format"] == "duelwise log 2"
    seen: dict[int, str] = {}
    for line in lines[1:-1]:
        if line["round"] < 0:
            assert "ticket" not in line, line["kind"]
        else:
            assert seen.setdefault(line["round"], line["ticket"]) == line["ticket"]
    assert list(seen.values()) == tickets
    assert {"asked", "observed", "told", "retracted", "source_held"} <= {line.get("kind") for line in lines}


def test_a_log_of_format_1_is_read_and_means_the_same(
    stream: DecisionStream, store: Store, rng: Generator
) -> None:
    """The same lines without tickets; tests/golden has logs that 0.1 itself wrote."""
    live(stream, rng, 60)

    def as_of_then(records: list[dict[str, object]]) -> None:
        records[0]["format"] = "duelwise log 1"
        for record in records[1:]:
            record.pop("ticket", None)

    lines = list(export_lines(store, "meals"))
    old = _forged(lines, as_of_then)
    assert old != lines
    assert read_lines(old).fold().snapshot().payload == read_lines(lines).fold().snapshot().payload
    with pytest.raises(InvalidInput, match="no line of an exported log"):
        read_lines(_forged(old, _set(1, ticket="0-0123456789")))


def test_items_and_holds_are_in_a_backup_and_forged_ones_are_refused(
    store: Store, clock: Clock, rng: Generator, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, encodings={"words": {"length": 6, "dim": 2}}, context_dim=3,
                       feature_names=("price", "words[0]", "words[1]"), ranges={})  # fmt: skip
    items: list[dict[str, object]] = [
        {"id": f"dish {k}", "features": {"price": k, "words": rng.normal(size=6).tolist()}} for k in range(5)
    ]
    items[1] |= {"post": [0.5, -0.5], "group": "noon", "content": {"text": "soup"}}
    with DecisionStream.create(store, "menu", settings, clock=clock) as menu:
        menu.put_items(items)
        menu.withdraw_items(["dish 4"])
        menu.hold_source("liar")
        for _ in range(5):
            menu.tell(menu.ask().ticket, "left", source="liar")
        menu.wait_for_background()  # who is held is taken out there
        state = menu.snapshot_state()
        page = menu.catalogue.page(group=None, after=None, limit=9)
    backup(store, "menu", tmp_path / "menu.jsonl")
    restore(store, read_backup(tmp_path / "menu.jsonl"), name="copy")
    assert verify(store, "copy") == ()
    with DecisionStream.open(store, "copy", clock=clock) as copy:
        assert copy.snapshot_state() == state
        assert repr(copy.catalogue.page(group=None, after=None, limit=9)) == repr(page)
        assert copy.report().held_sources == ("liar",)
        assert copy.put_items(items[:4]) == (0, 0, 4)  # the projection is the same too
    lines = (tmp_path / "menu.jsonl").read_text().splitlines()
    with pytest.raises(InvalidInput, match="withdraws the item 'dish 9', which is not there"):
        read_lines(_forged(lines, _set(2, ids=["dish 9"])))
    with pytest.raises(InvalidInput, match="x of shape"):
        read_lines(_forged(lines, _set(1, x=[[1.0]])))


def test_items_are_carried_into_a_derived_stream(store: Store, clock: Clock) -> None:
    settings = replace(SETTINGS, context_dim=2, feature_names=("price", "stars"), post_dim=1, ranges={})
    with DecisionStream.create(store, "menu", settings, clock=clock) as menu:
        menu.put_items([{"id": f"dish {k}", "features": [k, -k], "post": [k / 2]} for k in range(3)])
        asked = menu.ask(event_id="lunch")
    old = read_lines(export_lines(store, "menu"))
    new = replace(settings, context_dim=1, feature_names=("stars",))
    derive(store, "menu 2", new, old, features=lambda x: x[:, 1:])
    with DecisionStream.open(store, "menu 2", clock=clock) as again:
        assert [again.catalogue.item(f"dish {k}").x.tolist() for k in range(3)] == [[0], [-1], [-2]]
        assert again.catalogue.item("dish 2").y == [1.0]
        assert again.ask().left.id
        assert again.ask(event_id="lunch").ticket == asked.ticket


def test_a_new_stream_lives_through_an_old_log(
    stream: DecisionStream, store: Store, clock: Clock, rng: Generator
) -> None:
    tickets = live(stream, rng, 60)
    retracted = vote(stream, rng)
    stream.retract(retracted)
    stream.wait_for_background()
    old = read_lines(export_lines(store, "meals"))
    new = replace(SETTINGS, context_dim=2, feature_names=("price", "stars"), recipe="rcdb", ranges={})
    derive(store, "meals 2", new, old, features=lambda x: x[:, :2])
    with DecisionStream.open(store, "meals 2", clock=clock) as again:
        again.wait_for_background()
        assert again.counts() == stream.counts()
        assert again.report().coefficients[1].feature == "stars"
        assert not again.report().rebuild_is_due
        assert [again.ticket(ticket).state for ticket in tickets] == [stream.ticket(t).state for t in tickets]
        vote(again, rng)


def test_late_contexts_are_derived_with_the_features_of_their_pairs(
    stream: DecisionStream, store: Store, rng: Generator
) -> None:
    for _ in range(20):
        duel = stream.ask(candidates(rng))
        stream.tell(duel.ticket, "skip")
        stream.observe(duel.ticket, *rng.normal(size=(2, 2)).tolist())
    old = read_lines(export_lines(store, "meals"))
    names = {name: name for name in ("way", "stars", "price", "y1", "y0")}
    derive_columns(store, "turned", old, names)
    derive_columns(store, "fewer", old, {"stars": "stars", "y1": "y1"})
    seen = rng.uniform(-1, 1, (1, 5, 3))
    with DecisionStream.open(store, "turned") as turned, DecisionStream.open(store, "fewer") as fewer:
        expected = turned._replica.folded.predict(seen[:, :, ::-1])[:, :, ::-1]
        np.testing.assert_allclose(stream._replica.folded.predict(seen), expected, atol=1e-12)
        assert fewer._replica.folded.predict(seen[:, :, 1:2]).any()


def test_what_a_derived_stream_does_not_wait_for_is_left_out(
    store: Store, clock: Clock, rng: Generator
) -> None:
    waiting = replace(SETTINGS, context_ttl_seconds=100.0)
    with DecisionStream.create(store, "meals", waiting, clock=clock) as stream:
        parted, imputed, late = (stream.ask(candidates(rng)).ticket for _ in range(3))
        stream.observe(parted, {"y0": 0.1}, {"y0": 0.4})
        stream.observe(parted, {"y1": 0.2}, {"y1": 0.3})
        stream.observe(imputed, {"y0": 0.1}, {"y0": 0.4})
        clock.now += 200
        stream.tell(imputed, "right")
        stream.observe(imputed, {"y1": 0.1}, {"y1": 0.4})
        stream.expire(0)
        assert [stream.ticket(ticket).state for ticket in (parted, imputed, late)] == [
            "expired", "told", "expired",
        ]  # fmt: skip
    old = read_lines(export_lines(store, "meals"))
    derive_columns(store, "first", old, {"price": "price", "y0": "y0"})
    sum_of_both = replace(waiting, post_dim=1, feature_names=("price", "stars", "way", "sum"), ranges={})
    derive(store, "sum", sum_of_both, old, context=lambda y: y.sum(axis=1, keepdims=True))
    for name in ("first", "sum"):
        assert verify(store, name) == ()
        with DecisionStream.open(store, name, clock=clock) as derived:
            assert derived.counts() == stream.counts()
            assert derived.report().coefficients[0].estimate != 0


def test_a_vote_that_expired_without_its_context_counts_where_none_is_waited_for(
    store: Store, clock: Clock, rng: Generator
) -> None:
    endless = replace(SETTINGS, context_ttl_seconds=0.0)
    with DecisionStream.create(store, "meals", endless, clock=clock) as stream:
        stream.tell(stream.ask(candidates(rng)).ticket, "left")
        clock.now += 200
        assert stream.expire(100) == 1
    derive_columns(store, "known", read_lines(export_lines(store, "meals")), {"price": "price"})
    with DecisionStream.open(store, "known", clock=clock) as known:
        assert known.counts()["told"] == 1


def test_a_derived_stream_with_the_same_features_learns_the_same(
    stream: DecisionStream, store: Store, rng: Generator
) -> None:
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


def test_past_duels_warm_a_stream_up(stream: DecisionStream, tmp_path: Path) -> None:
    path = tmp_path / "past.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in JSONL) + "\n")
    assert import_duels(stream, path) == 2
    assert stream.counts()["told"] == 2
    assert np.any(stream._replica.folded.learner.theta)
    assert import_duels(stream, path) == 1  # the one without an event_id
    assert stream.ticket(stream.report().down_weighted_votes[0].ticket).state == "told"


@pytest.mark.parametrize("before", [0, 1], ids=["in the file", "in the stream"])
def test_an_event_id_of_another_duel_changes_nothing(
    stream: DecisionStream, tmp_path: Path, before: int
) -> None:
    path = tmp_path / "past.jsonl"
    path.write_text(json.dumps(JSONL[1]) + "\n")
    for _ in range(before):
        assert import_duels(stream, path) == 1
    others = [JSONL[0]] * 250 + ([] if before else [JSONL[1]])
    again = [JSONL[1] | {"winner": "left"}]
    path.write_text("\n".join(json.dumps(line) for line in [*others, *again]))
    with pytest.raises(Conflict, match=rf"line {len(others) + 1}: .*'past 2'.* Nothing was imported"):
        import_duels(stream, path)
    assert stream.counts()["told"] == before


@pytest.mark.parametrize("wrong", [{"source": "Zoë"}, {"event_id": 5}, {"source": ["a"]}], ids=str)
def test_a_file_with_a_wrong_name_changes_nothing(
    stream: DecisionStream, tmp_path: Path, wrong: dict[str, object]
) -> None:
    path = tmp_path / "past.jsonl"
    lines = [*[JSONL[0]] * 250, JSONL[0] | wrong]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    with pytest.raises(InvalidInput, match=rf"line 251: The {next(iter(wrong))} is .* Nothing was imported"):
        import_duels(stream, path)
    assert stream.counts()["told"] == 0


def test_files_of_spreadsheets_are_read_or_named(stream: DecisionStream, tmp_path: Path) -> None:
    names = [f"{side}.{name}" for side in ("left", "right") for name in ("price", "stars", "way", "y0", "y1")]
    text = "\n".join([",".join([*names, "winner"]), "1,0,0,1,2,0,1,0,3,4,left"])
    path = tmp_path / "past.csv"
    path.write_text(text, encoding="utf-8-sig")
    assert import_duels(stream, path) == 1
    path.write_text(text.replace("left\n", "left,source\n") + ",Zoë", encoding="latin-1")
    with pytest.raises(InvalidInput, match=r"past\.csv is not in UTF-8"):
        import_duels(stream, path)
    path.write_text(text + ",more")
    with pytest.raises(InvalidInput, match="line 2 has more cells"):
        import_duels(stream, path)
    path.write_text(text.replace("winner", "winner,winner"))
    with pytest.raises(InvalidInput, match="two columns of one name"):
        import_duels(stream, path)
    other = tmp_path / "past.jsonl"
    other.write_text("[1]\n")
    with pytest.raises(InvalidInput, match="line 1 is no duel: it is another kind of JSON"):
        import_duels(stream, other)


def test_csv_and_jsonl_say_the_same(store: Store, tmp_path: Path) -> None:
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
def test_a_bad_file_is_refused_whole(
    stream: DecisionStream, tmp_path: Path, name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=says):
        import_duels(stream, tmp_path / name)
    assert stream.model_version == 0


Change = Callable[[list[dict[str, object]]], None]


def _forged(lines: list[str], change: Change) -> list[str]:
    """The export with something changed, and a checksum that fits."""
    records = [json.loads(line) for line in lines[:-1]]
    change(records)
    texts = [json.dumps(record) for record in records]
    checksum = zlib.crc32("".join(texts).encode())
    return [*texts, json.dumps({"end": len(texts) - 1, "checksum": checksum})]


def _set(number: int, **values: object) -> Change:
    def change(records: list[dict[str, object]]) -> None:
        records[number] |= values

    return change


def _without(number: int, name: str) -> Change:
    def change(records: list[dict[str, object]]) -> None:
        del records[number][name]

    return change


def _then_rebuilt(upto: int) -> Change:
    """As the tenth event, so that 9 is the last it may name."""

    def change(records: list[dict[str, object]]) -> None:
        kept = {name: records[3][name] for name in ("at", "event_id") if name in records[3]}
        records.append(kept | {"seq": 10, "kind": "rebuilt", "upto": upto, "round": -1})

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_without(0, "settings"), "gives the settings None"),
        (_without(0, "name"), "gives the name None"),
        (_set(0, settings=[]), r"gives the settings \[\]"),
        (_set(0, settings={}), "'context_dim' is missing"),
        (_set(0, settings={"context_dim": -1}), "context_dim is -1"),
        (_set(0, settings={"context_dim": 3, "size": 1}), "no setting called 'size'"),
        (_set(0, settings=SETTINGS.to_dict() | {"edition": 9}), "editions up to"),
        (
            _set(0, settings=SETTINGS.to_dict() | {"context_dim": 4, "feature_names": [], "ranges": {}}),
            "x of shape",
        ),
        (_set(0, created_at=float("nan")), "NaN is no number"),
        (_set(0, uid="\x00"), "The uid is"),
        (_set(1, x=[[float("nan")] * 3] * 2), "NaN is no number"),
        (_set(1, x=[[1e300] * 3] * 2), "beyond"),
        (_set(1, x=[[1.0]]), "x of shape"),
        (_set(1, x="wide"), "no line of an exported log"),
        (_set(1, arms=[1, 1]), "arms"),
        (_set(1, round=5), "serves duel 5 where duel 0 is the next"),
        (_set(1, at="noon"), "has the time 'noon'"),
        (_set(1, tag="../x\n"), "has the tag"),
        (_set(1, swapped="no"), "swapped 'no'"),
        (_set(1, model_version=7), "was chosen after event 7"),
        (_set(1, ids=["a"]), "has the ids"),
        (_set(1, event_id="\x00"), "has the event_id"),
        (_set(1, probability=7), "probability"),
        (_set(1, kind="sung"), "no line of an exported log"),
        (_set(2, y=[[0.0, 1e9]] * 2), "beyond"),
        (_set(2, seq=7), "stands at number 2"),
        (_set(2, kind="expired", extra=1), "no line of an exported log"),
        (_set(2, ticket="0-0123456789"), "names the ticket '0-0123456789'; its duel has '0-"),
        (_without(3, "ticket"), "names the ticket None"),
        (_set(3, outcome=0.7), "outcome 0.7"),
        (_set(3, source=7), "source 7"),
        (_set(3, round=2), "which was never asked"),
        (lambda records: records.append(records[3] | {"seq": 10}), "duel 0 was told, which was told"),
        (_then_rebuilt(10), "rebuilds up to event 10"),
        (_then_rebuilt(-1), "rebuilds up to event -1"),
    ],
)
def test_a_forged_backup_is_refused_in_words(
    stream: DecisionStream, store: Store, rng: Generator, change: Change, says: str
) -> None:
    for _ in range(3):
        vote(stream, rng, source="app")
    lines = list(export_lines(store, "meals"))
    assert read_lines(_forged(lines, lambda records: None)).log.head == 9
    assert read_lines(_forged(lines, _then_rebuilt(9))).log.head == 10
    with pytest.raises(InvalidInput, match=says):
        restore(store, read_lines(_forged(lines, change)), name="forged")
    assert [row.name for row in store.streams()] == ["meals"]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a/b", "..", ".hidden", "", "a\\b", "é", "x" * 300, "a\nb"]
)
def test_a_name_that_leads_elsewhere_is_refused(
    stream: DecisionStream, store: Store, rng: Generator, name: str
) -> None:
    vote(stream, rng)
    lines = list(export_lines(store, "meals"))
    forged = read_lines(_forged(lines, _set(0, name=name)))
    with pytest.raises(InvalidInput, match="name of the stream"):
        restore(store, forged)
    with pytest.raises(InvalidInput, match="name of the stream"):
        DecisionStream.create(store, name, SETTINGS)
    restore(store, forged, name="meals again")
    assert [row.name for row in store.streams()] == ["meals", "meals again"]


def test_features_that_are_derived_wrongly_leave_no_stream(
    stream: DecisionStream, store: Store, rng: Generator
) -> None:
    vote(stream, rng)
    old = read_lines(export_lines(store, "meals"))
    with pytest.raises(InvalidInput, match="finite"):
        derive(store, "wrong", SETTINGS, old, features=lambda x: x * np.inf)
    assert [row.name for row in store.streams()] == ["meals"]


def test_an_import_tells_how_far_it_is(stream: DecisionStream, tmp_path: Path) -> None:
    path = tmp_path / "past.jsonl"
    path.write_text("\n".join(json.dumps(JSONL[0]) for _ in range(450)))
    heard: list[tuple[int, int]] = []
    assert import_duels(stream, path, on_progress=lambda done, total: heard.append((done, total))) == 450
    assert heard == [(200, 450), (400, 450), (450, 450)]

"""Items, ranking, the goal `settle` and sources that are held back, in a living stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from duelwise.errors import Conflict, DuelwiseError, InvalidInput, UnknownItem, UnknownName
from duelwise.storage import open_store
from duelwise.stream import DecisionStream, FromCatalogue, StreamSettings
from duelwise.stream.gold import read_gold
from duelwise.stream.importing import import_duels
from duelwise.stream.items import CHUNK
from duelwise.stream.operations import Ask, Decision, Import
from duelwise.stream.transfer import backup, read_backup, restore

NAMES = ("price", "stars")
ITEMS = [{"id": f"item {k}", "features": [k / 5, (k * 3 % 7) / 7], "group": f"g{k % 2}"} for k in range(8)]
TASTE = np.array([-2.0, 3.0])


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[DecisionStream]:
    settings = StreamSettings(context_dim=2, feature_names=NAMES, goal="settle")
    with DecisionStream.create(f"sqlite:///{tmp_path}/a.db", "meals", settings) as opened:
        opened.put_items(ITEMS)
        yield opened


def vote(stream: DecisionStream, count: int, *, seed: int = 0, source: str | None = None) -> None:
    rng = np.random.default_rng(seed)
    for n in range(count):
        duel = stream.ask()
        left, right = (stream.catalogue.item(side.id or "").x for side in (duel.left, duel.right))
        wins = rng.random() < 1 / (1 + np.exp(-(left - right) @ TASTE))
        stream.tell(duel.ticket, "left" if wins else "right", source=source or f"rater {n % 4}")


def test_the_best_is_found_and_settled(stream: DecisionStream) -> None:
    vote(stream, 250)
    ranking = stream.rank()
    truth = max(ITEMS, key=lambda item: np.array(item["features"]) @ TASTE)["id"]
    assert ranking.items[0].id == truth == ranking.settled.leader == stream.best().id
    assert ranking.settled.settled
    assert ranking.settled.votes_needed == 0
    assert [one.rank for one in ranking.items] == list(range(1, 9))
    assert stream.win_probability(truth, ranking.items[-1].id) > 0.5
    assert len(stream.rank(limit=3).items) == 3


def test_answers_survive_a_restart_and_a_backup(stream: DecisionStream, tmp_path: Path) -> None:
    vote(stream, 60)
    stream.withdraw_items(["item 7"])
    stream.hold_source("rater 2")
    stream.wait_for_background()
    before = stream.rank()
    stream.close()
    store = open_store(f"sqlite:///{tmp_path}/a.db")
    with DecisionStream.open(store, "meals") as again:
        assert again.rank() == before
        assert again.report().held_sources == ("rater 2",)
    backup(store, "meals", tmp_path / "meals.jsonl")
    restore(store, read_backup(tmp_path / "meals.jsonl"), name="copy")
    with DecisionStream.open(store, "copy") as copy:
        assert copy.rank() == before
        assert "item 7" not in copy.catalogue
    store.close()


def test_a_source_is_held_back_and_taken_back(stream: DecisionStream) -> None:
    vote(stream, 40)
    before = stream.rank()
    assert stream.hold_source("rater 1")
    assert not stream.hold_source("rater 1")
    stream.wait_for_background()
    assert stream._replica.folded.learner.votes[0] == 30
    vote(stream, 5, seed=3, source="rater 1")
    assert stream._replica.folded.learner.votes[0] == 30
    assert stream._replica.folded.learner.pending.out[0] == 0
    assert stream.rank() != before
    assert stream.release_source("rater 1")
    stream.wait_for_background()
    assert stream._replica.folded.learner.votes[0] == 45


def test_a_held_vote_before_its_context_leaves_nothing_waiting(tmp_path: Path) -> None:
    settings = StreamSettings(context_dim=2, post_dim=1)
    with DecisionStream.create(f"sqlite:///{tmp_path}/b.db", "late", settings) as late:
        late.hold_source("liar")
        duel = late.ask(np.eye(2))
        late.tell(duel.ticket, "left", source="liar")
        late.observe(duel.ticket, [0.1], [0.2])
        assert late.counts()["told"] == 1
        assert late._replica.folded.learner.votes[0] == 0
        late.wait_for_background()
        late.retract(duel.ticket)
        late.wait_for_background()
        assert late.counts()["retracted"] == 1


def test_items_are_put_changed_and_refused(stream: DecisionStream) -> None:
    assert stream.put_items(ITEMS) == (0, 0, 8)
    assert stream.put_items([{"id": "item 0", "features": [1, 1], "group": "g0"}]) == (0, 1, 0)
    for wrong, says in [
        ([{"id": "new", "features": [1]}], "expected 2"),
        ([{"id": "new", "features": [1, float("nan")]}], "finite"),
        ([{"id": "new", "features": [1, 2], "colour": "red"}], "colour"),
        ([{"features": [1, 2]}], "id"),
        ([{"id": "new", "features": [1, 2]}] * 2, "share the id"),
        ([{"id": "new", "features": {"price": 1, "colour": 2}}], "colour"),
    ]:
        with pytest.raises(InvalidInput, match=says):
            stream.put_items(wrong)
    assert "new" not in stream.catalogue
    with pytest.raises(UnknownItem, match="no item 'absent'"):
        stream.withdraw_items(["item 1", "absent"])
    assert "item 1" in stream.catalogue
    with pytest.raises(UnknownItem):
        stream.ask(FromCatalogue(group="absent"))
    with pytest.raises(UnknownName, match="colour"):
        stream.rank(adjust=["colour"])


def test_items_of_many_events_are_checked_as_one_list(stream: DecisionStream) -> None:
    many = [{"id": f"new {k}", "features": [k / 5000, 0.0]} for k in range(CHUNK + 5)]
    with pytest.raises(InvalidInput, match="share the id 'new 1'"):
        stream.put_items([*many, {"id": "new 1", "features": [1, 1]}])
    with pytest.raises(InvalidInput, match=f"Item {len(many)} has the id None"):
        stream.put_items([*many, {"features": [1, 1]}])
    assert "new 1" not in stream.catalogue
    assert stream.put_items(many) == (len(many), 0, 0)


def test_ask_takes_ids_and_groups(stream: DecisionStream) -> None:
    duel = stream.ask(FromCatalogue(group="g1"))
    assert {duel.left.id, duel.right.id} <= {item["id"] for item in ITEMS if item["group"] == "g1"}
    duel = stream.ask(FromCatalogue(ids=("item 3", "item 6")), event_id="one")
    assert {duel.left.id, duel.right.id} == {"item 3", "item 6"}
    assert stream.ask(FromCatalogue(ids=("item 3", "item 6")), event_id="one").repeated
    with pytest.raises(InvalidInput, match="named twice"):
        stream.ask(FromCatalogue(ids=("item 3", "item 3")))


def test_what_an_ask_names_is_checked_when_it_comes_again(stream: DecisionStream) -> None:
    named: Any = np.array(["item 3", "item 6"])
    first = stream.ask(FromCatalogue(ids=named), event_id="one")
    again = stream.ask(FromCatalogue(ids=("item 3", "item 6")), event_id="one")
    assert (again.ticket, again.repeated) == (first.ticket, True)
    assert stream.ask(FromCatalogue(ids=named), event_id="one").repeated
    wrong: Any
    for wrong, says in [((1, 2), "id of an item is 1"), (("item 3", "item 3"), "'item 3' is named twice")]:
        with pytest.raises(InvalidInput, match=says):
            stream.ask(FromCatalogue(ids=wrong), event_id="one")
    with pytest.raises(InvalidInput, match="group is"):
        stream.ask(FromCatalogue(group="\ud800"), event_id="one")
    with pytest.raises(InvalidInput, match="votes_wanted is -3"):
        stream.ask(FromCatalogue(ids=("item 3", "item 6")), event_id="one", votes_wanted=-3)


@pytest.mark.parametrize("name", [5, ["a"], b"x"])
def test_a_name_that_is_no_text_is_refused_and_stops_nobody_else(stream: DecisionStream, name: Any) -> None:
    x, fine = np.eye(2), Ask(np.eye(2))
    wrong: list[Any] = [
        Ask(x, event_id=name), Import(x[0], x[1], "left", event_id=name), Ask(FromCatalogue(group=name)),
        Ask(FromCatalogue(ids=name)),
    ]  # fmt: skip
    for one in wrong:
        answers = stream.commit([fine, one, fine])
        assert [isinstance(answer, Decision) for answer in answers] == [True, False, True]
        assert isinstance(answers[1], DuelwiseError)


def test_values_that_are_known_are_observed_by_serving(tmp_path: Path) -> None:
    settings = StreamSettings(context_dim=1, post_dim=1, feature_names=("price", "minutes"))
    with DecisionStream.create(f"sqlite:///{tmp_path}/c.db", "known", settings) as known:
        known.put_items([{"id": name, "features": [k], "post": [k / 2]} for k, name in enumerate("ab")])
        duel = known.ask()
        assert known.tell(duel.ticket, "left").state == "told"
        known.put_items([{"id": "c", "features": [2.0]}])
        duel = known.ask(FromCatalogue(ids=("a", "c")))
        assert known.tell(duel.ticket, "left").state == "voted"


def test_categories_become_indicators_and_vectors_are_projected(tmp_path: Path) -> None:
    encodings = {"model": ["a", "b", "c"], "text": {"length": 50, "dim": 2}}
    settings = StreamSettings(context_dim=6, encodings=encodings)
    assert settings.context_names == ("x0", "model=a", "model=b", "model=c", "text[0]", "text[1]")
    with DecisionStream.create(f"sqlite:///{tmp_path}/d.db", "coded", settings) as coded:
        vector = np.linspace(0, 1, 50).tolist()
        coded.put_items([{"id": m, "features": {"x0": 1, "model": m, "text": vector}} for m in ("a", "b")])
        assert coded.catalogue.item("b").x[:4].tolist() == [1, 0, 1, 0]
        with pytest.raises(UnknownName, match="level of 'model'"):
            coded.put_items([{"id": "d", "features": {"x0": 1, "model": "d", "text": vector}}])
        with pytest.raises(InvalidInput, match="vector of 50"):
            coded.put_items([{"id": "d", "features": {"x0": 1, "model": "a", "text": vector[:9]}}])
    with pytest.raises(InvalidInput, match="context_dim"):
        StreamSettings(context_dim=2, encodings=encodings)


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("i.csv", "id,price,stars,content\na,1,2," + "x" * 200_000 + "\n", r"i\.csv is no CSV.*limit"),
        ("i.csv", "id,price,price,stars\na,1,2,3\n", "two columns of one name"),
        ("i.csv", "id,price,stars\na,1,2\nb,1,2,3\n", r"i\.csv, line 3 has more cells"),
        ("i.jsonl", DEEP, "Line 1 is no JSON"),
        (
            "i.jsonl",
            '{"id": "a", "features": [1, 2], "content": "\\ud800"}',
            "content of item 'a' is no JSON",
        ),
        ("i.parquet", "PAR1", r"i\.parquet is no Parquet"),
    ],
)
def test_a_file_of_items_that_is_none_is_refused(
    stream: DecisionStream, tmp_path: Path, name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=says):
        stream.put_items(tmp_path / name)
    assert len(stream.catalogue) == 8


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "v.csv",
            "left.price,left.stars,right.price,right.stars,winner,source\n1,2,3,4,left," + "x" * 200_000,
        ),
        ("v.jsonl", '{"left": [1, 1' + "0" * 5000 + '], "right": [1, 2], "winner": "left"}'),
    ],
)
def test_a_file_of_votes_that_is_none_is_refused(
    stream: DecisionStream, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=name):
        import_duels(stream, tmp_path / name)


@pytest.mark.parametrize(("name", "text"), [("g.csv", "better,worse\na," + "x" * 200_000), ("g.jsonl", DEEP)])
def test_a_file_of_gold_pairs_that_is_none_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=name):
        read_gold(tmp_path / name)


@pytest.mark.parametrize("suffix", ["csv", "frame"])
def test_levels_in_tables_may_look_like_numbers(tmp_path: Path, suffix: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": ["a", "b"], "x0": [0.5, 0.25], "size": [38, 40]})
    path = tmp_path / "shoes.csv"
    frame.to_csv(path, index=False)
    settings = StreamSettings(context_dim=3, encodings={"size": ["38", "40"]})
    with DecisionStream.create(f"sqlite:///{tmp_path}/s.db", "shoes", settings) as shoes:
        assert shoes.put_items(path if suffix == "csv" else frame).added == 2
        assert shoes.catalogue.item("b").x.tolist() == [0.25, 0, 1]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "frame"])
def test_items_are_read_from_tables(stream: DecisionStream, tmp_path: Path, suffix: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"id": ["p", "q"], "price": [0.1, 0.2], "stars": [1.0, 0.5], "group": ["n", float("nan")]}
    )
    path = tmp_path / f"items.{suffix}"
    if suffix == "csv":
        frame.to_csv(path, index=False)
    elif suffix == "parquet":
        frame.to_parquet(path)
    elif suffix == "jsonl":
        path.write_text(
            '{"id": "p", "features": [0.1, 1.0], "group": "n", "content": "one\u2028two"}\n'
            '{"id": "q", "features": [0.2, 0.5]}\n',
            encoding="utf-8",
        )
    items = frame if suffix == "frame" else path
    assert stream.put_items(items).added == 2
    assert stream.catalogue.item("p").x.tolist() == [0.1, 1.0]
    assert stream.catalogue.item("p").group == "n"
    assert stream.catalogue.item("q").group is None


def test_the_report_opens_with_a_plain_sentence(stream: DecisionStream) -> None:
    assert stream.report().summary == "No vote has been learned from yet."
    vote(stream, 120, seed=1)
    report = stream.report()
    assert "120 votes from 4 sources" in report.summary
    assert report.foresight is not None
    assert report.foresight.log_loss < report.foresight.log_loss_of_a_coin
    stars = report.coefficients[1]
    assert abs(stars.estimate - TASTE[1]) < 3 * stars.standard_error  # a 95 % interval misses one in twenty
    assert stars.low < stars.estimate < stars.high


def test_a_report_allows_for_sources_whose_votes_are_alike(stream: DecisionStream) -> None:
    """Half of the raters like it dear, half cheap: what they share widens the interval of the price."""
    rng = np.random.default_rng(0)
    for n in range(240):  # of any pairs: by one pair alone a price is not told from other merits
        first, second = rng.choice(len(ITEMS), size=2, replace=False)
        duel = stream.ask(FromCatalogue(ids=(str(ITEMS[first]["id"]), str(ITEMS[second]["id"]))))
        left, right = (stream.catalogue.item(side.id or "").x[0] for side in (duel.left, duel.right))
        dear = n % 12 < 6
        stream.tell(duel.ticket, "left" if (left > right) == dear else "right", source=f"rater {n % 12}")
    plain, wider = (stream.report(clustered=how).coefficients[0] for how in (False, True))
    assert plain.feature == "price"
    assert wider.estimate == plain.estimate
    assert wider.standard_error > 1.5 * plain.standard_error
    assert wider.high - wider.low > 1.5 * (plain.high - plain.low)


def test_a_request_sent_again_is_answered_though_its_items_are_gone(stream: DecisionStream) -> None:
    asks: list[FromCatalogue] = [
        FromCatalogue(), FromCatalogue(group="g1"), FromCatalogue(ids=("item 1", "item 3"))
    ]  # fmt: skip
    duels = [stream.ask(one, event_id=str(n)) for n, one in enumerate(asks)]
    stream.withdraw_items([str(item["id"]) for item in ITEMS])
    for n, (one, duel) in enumerate(zip(asks, duels, strict=True)):
        assert stream.ask(one, event_id=str(n)) == duel._replace(repeated=True, clamped=())
        with pytest.raises(Conflict, match=f"'{n}' was used before"):
            stream.ask(FromCatalogue(group="g0"), event_id=str(n))


def test_items_are_withdrawn_once_and_a_repeat_changes_nothing(stream: DecisionStream) -> None:
    assert stream.withdraw_items(["item 1", "item 2"]) == 2
    head = stream.model_version
    assert stream.withdraw_items(["item 2", "item 1"]) == 0
    assert stream.model_version == head
    assert stream.withdraw_items(["item 2", "item 3"]) == 1
    assert stream.put_items(ITEMS[2:3]) == (1, 0, 0)
    assert stream.withdraw_items(["item 2"]) == 1


def test_items_that_another_process_put_are_seen(stream: DecisionStream, tmp_path: Path) -> None:
    with DecisionStream.open(f"sqlite:///{tmp_path}/a.db", "meals") as other:
        other.put_items([{"id": "new", "features": [1, 1]}])
        assert "new" in stream.catalogue


def test_more_of_the_best_than_there_are_items_may_be_wanted(tmp_path: Path) -> None:
    settings = StreamSettings(context_dim=2, goal="settle", top=10**30)
    with DecisionStream.create(f"sqlite:///{tmp_path}/top.db", "meals", settings) as opened:
        opened.put_items([{"id": name, "features": [k, 1]} for k, name in enumerate("abc")])
        assert opened.ask().left.id

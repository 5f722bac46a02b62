"""Events folded many at a time leave what they leave one by one, to the last bit."""

from __future__ import annotations

import zlib
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import numpy as np
import pytest

from duelwise.answers import foresight
from duelwise.errors import StorageFailure
from duelwise.storage import open_store, pack, unpack
from duelwise.storage.codec import MANY, MOST_LAYOUTS, unpack_together
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.columns import ODD, columns_of
from duelwise.stream.events import REWRITING
from duelwise.stream.folding import fold, rebuild
from duelwise.stream.leaving_out import left_out
from duelwise.stream.ledger import WEIGHTS_KEPT, Ledger
from duelwise.stream.log_time import DAY, HOUR, LogTime
from duelwise.stream.logs import RecordedLog, StoredLog
from duelwise.stream.operations import Ask, Decision, Tell
from duelwise.stream.stream_state import StreamState

SETTINGS: dict[str, dict[str, Any]] = {
    "without contexts": {"post_dim": 0},
    "with contexts": {"post_dim": 2},
    "that knows sides": {"post_dim": 1, "position_bias": True},
    "of two votes a duel": {"post_dim": 1, "votes_wanted": 2},
    "of 0.1": {"post_dim": 1, "edition": 1, "recipe": "rcdp-ucb"},
    "that keeps its votes": {"post_dim": 1, "options": {"estimate": "full-mle"}},
    "with pairs drawn at random": {"post_dim": 0, "random_share": 0.5},
}


def lived(url: str, settings: StreamSettings, *, odd: float = 0.04) -> None:
    """A log in which most of what happens is plain, and a share of it odd."""
    rng = np.random.default_rng(5)
    sides: tuple[Literal["left", "right", "tie"], ...] = ("left", "right", "tie")
    with DecisionStream.create(url, "log", settings) as stream:
        left: list[str] = []
        for turn in range(12):
            asked = [stream.ask(x).ticket for x in rng.normal(size=(30, 4, 3))]
            for ticket in [*left, *asked[:-3]]:
                y: list[list[float | None]] = rng.normal(size=(2, settings.post_dim)).tolist()
                winner, source = sides[int(rng.integers(3))], f"r{int(rng.integers(5))}"
                votes_first, in_parts, skipped, retracted = rng.random(4) < odd
                if skipped:
                    stream.tell(ticket, "skip")
                    continue
                if votes_first:
                    stream.tell(ticket, winner, source=source)
                if settings.post_dim and in_parts:
                    stream.observe(ticket, y[0])
                    stream.observe(ticket, None, y[1])
                elif settings.post_dim:
                    stream.observe(ticket, *y)
                if not votes_first:
                    stream.tell(ticket, winner, source=source if turn % 2 else None)
                if settings.votes_wanted > 1:
                    stream.tell(ticket, winner, source="another")
                if retracted:
                    stream.retract(ticket)
            left = asked[-3:]
            if turn == 5:
                stream.hold_source("r3")


@pytest.mark.parametrize("kind", SETTINGS)
def test_a_stored_log_folds_to_what_its_events_fold_to_one_by_one(kind: str, tmp_path: Path) -> None:
    settings = StreamSettings(context_dim=3, **SETTINGS[kind])
    lived(f"sqlite:///{tmp_path}/duels.db", settings)
    with closing(open_store(f"sqlite:///{tmp_path}/duels.db")) as store:
        head, stored = store.stream("log").head, StoredLog(store, 1)
        together = RecordedLog(stored.events(after=0, upto=head))
        for upto in (head // 3, head - 1, head):
            state = fold(settings, stored, upto=upto).snapshot().payload
            assert state == fold(settings, together, upto=upto).snapshot().payload
        state = rebuild(settings, stored, upto=head).snapshot().payload
        assert state == rebuild(settings, together, upto=head).snapshot().payload
        singly = StreamState(settings, leaving_out=left_out(stored.of_kinds(REWRITING, upto=head)))
        for recorded in together.events(after=0, upto=head):
            singly.apply(recorded)
        assert state == singly.snapshot().payload


def test_a_log_of_many_duels_that_want_several_votes_is_folded(tmp_path: Path) -> None:
    settings, x = StreamSettings(context_dim=2, votes_wanted=2), np.random.default_rng(0).random((400, 3, 2))
    with DecisionStream.create(f"sqlite:///{tmp_path}/many.db", "log", settings) as stream:
        asked = [cast("Decision", duel) for duel in stream.run([Ask(each) for each in x])]
        for source in ("ann", "bob"):
            stream.run([Tell(duel.ticket, "left", source) for duel in asked])
        state = stream.report().counts
    with closing(open_store(f"sqlite:///{tmp_path}/many.db")) as store:
        folded = fold(settings, StoredLog(store, 1), upto=store.stream("log").head)
    assert folded.ledger.counts == dict(state)
    assert folded.learner.votes.tolist() == [800]


def test_most_events_are_plain_and_those_that_cannot_be_read_are_odd(tmp_path: Path) -> None:
    settings = StreamSettings(context_dim=3, post_dim=2)
    lived(f"sqlite:///{tmp_path}/duels.db", settings, odd=0.0)
    with closing(open_store(f"sqlite:///{tmp_path}/duels.db")) as store:
        (rows,) = store.event_columns(1, after=0, upto=store.stream("log").head)
    events = columns_of(rows, settings)
    kinds = [kind for kind, code in zip(rows.kind, events.kind.tolist(), strict=True) if code == ODD]
    assert set(kinds) <= {"ranged", "source_held", "rebuilt"}
    assert events.part(10, 60).part(5, 20).round.tolist() == events.round[15:30].tolist()
    spoiled = rows._replace(payload=[*rows.payload[:-1], b"DX" + rows.payload[-1][2:]])
    assert (columns_of(spoiled, settings).kind == ODD).all()
    other = columns_of(rows, StreamSettings(context_dim=3, post_dim=1)).kind[np.array(rows.kind) == "asked"]
    assert (other == ODD).all()  # of another shape


def test_events_of_columns_follow_each_other(tmp_path: Path) -> None:
    settings = StreamSettings(context_dim=3, post_dim=0)
    lived(f"sqlite:///{tmp_path}/duels.db", settings, odd=0.0)
    with (
        closing(open_store(f"sqlite:///{tmp_path}/duels.db")) as store,
        pytest.raises(StorageFailure, match="Event 2 follows event 0; events are folded in order"),
    ):
        StreamState(settings).apply_all(store.event_columns(1, after=1, upto=50))


def test_many_values_are_unpacked_as_each_by_itself() -> None:
    decoder = msgspec.json.Decoder(list[dict[str, Any]])
    rng = np.random.default_rng(0)
    data = [pack({"n": n, "s": '},["'}, {"x": rng.normal(size=n % 3), "k": np.arange(2)}) for n in range(7)]
    data.append(pack({"n": 7}, {}))
    seen: dict[int, tuple[Any, Any]] = {}
    for alike in unpack_together(data, decoder):
        for row, place in enumerate(alike.places):
            seen[place] = alike.fields[row], {name: array[row] for name, array in alike.arrays.items()}
    assert sorted(seen) == list(range(8))
    for place, (fields, arrays) in seen.items():
        expected, held = unpack(data[place])
        assert fields == expected
        assert all(np.array_equal(arrays[name], held[name]) for name in arrays.keys() | held.keys())
    many = [pack({}, {"x": np.zeros(n)}) for n in range(MOST_LAYOUTS + 2)]
    assert sum(len(alike.places) for alike in unpack_together(many, decoder)) == MOST_LAYOUTS
    for wrong in (b"", data[0][:-1], data[0] + b"0", b"DW\2" + data[0][3:], data[7][:-1]):
        with pytest.raises(ValueError, match=r"Some stored bytes|JSON|truncated|trailing"):
            list(unpack_together([*data[:1], wrong], decoder))


def test_values_of_one_length_are_unpacked_as_each_by_itself() -> None:
    """Many of them are read as a table; those of which one holds other arrays are not."""
    decoder = msgspec.json.Decoder(list[dict[str, Any]])
    rng = np.random.default_rng(0)

    def values(name: str, shape: tuple[int, ...]) -> list[bytes]:
        return [pack({"n": n}, {name: rng.normal(size=shape)}) for n in range(1000, 1000 + MANY)]

    shorter = [pack({"n": n}, {"x": rng.normal(size=3)}) for n in range(7)]
    several = [*values("x", (3,)), *shorter, *values("y", (2, 3)), *values("z", (3, 2))]
    places = rng.permutation(len(several)).tolist()
    data = [several[place] for place in places]
    seen: dict[int, tuple[Any, Any]] = {}
    for alike in unpack_together(data, decoder):
        assert (np.diff(alike.places) > 0).all()
        for row, place in enumerate(alike.places.tolist()):
            seen[place] = alike.fields[row], {name: array[row] for name, array in alike.arrays.items()}
    assert sorted(seen) == list(range(len(data)))
    for place, (fields, arrays) in seen.items():
        expected, held = unpack(data[place])
        assert fields == expected
        assert arrays.keys() == held.keys()
        assert all(np.array_equal(arrays[name], held[name]) for name in held)
    alone = values("x", (3,))
    assert [len(alike.places) for alike in unpack_together(alone, decoder)] == [MANY]
    assert [len(alike.places) for alike in unpack_together([pack({}, {})] * MANY, decoder)] == [MANY]
    for spoiled in (
        [one[:-1] for one in alone],
        [b"DX" + one[2:] for one in alone],
        [b"DW\1"] * MANY,
        [b""] * MANY,
    ):
        with pytest.raises(ValueError, match="Some stored bytes"):
            list(unpack_together(spoiled, decoder))
    beyond = [one[:4] + (10_000).to_bytes(4, "little") + one[8:] for one in alone]
    without = [one.replace(b"},[", b"};[") for one in alone]
    for spoiled in (beyond, without):
        with pytest.raises(ValueError, match=r"Some stored bytes|Expect"):
            list(unpack_together(spoiled, decoder))


def test_the_time_of_many_events_is_that_of_each_in_turn() -> None:
    jumps = np.cumsum(np.random.default_rng(1).choice([1.0, HOUR, -HOUR, 2 * DAY, -3 * DAY], size=200))
    for start in range(0, 200, 5):
        one, other = LogTime(5.0, 9 * DAY), LogTime(5.0, 9 * DAY)
        for at in jumps[start : start + 9].tolist():
            one.take(at)
        other.take_all(jumps[start : start + 9].tolist())
        assert (one.believed, one.doubted) == (other.believed, other.doubted)


def test_many_votes_are_judged_as_each_by_itself() -> None:
    rng = np.random.default_rng(zlib.crc32(b"votes"))
    chance, outcome = rng.random(500), rng.choice([0.0, 0.5, 1.0], size=500)
    chance[:3] = 0.0, 1.0, 0.5
    one, other = foresight.foresight(), foresight.foresight()
    foresight.take(one, chance, outcome)
    for k in range(500):
        foresight.take(other, chance[k : k + 1], outcome[k : k + 1])
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("together", [170, WEIGHTS_KEPT + 200])
def test_many_weights_are_kept_as_each_by_itself(together: int) -> None:
    rng = np.random.default_rng(2)
    rounds = [*range(WEIGHTS_KEPT + 300), *rng.integers(300, 2 * WEIGHTS_KEPT, size=400).tolist()]
    weights: list[float] = rng.random(len(rounds)).round(2).tolist()
    one, other = Ledger(), Ledger()
    sources = [("ann", "bob", None)[k] for k in rng.integers(3, size=len(rounds)).tolist()]
    for begin in range(0, len(rounds), together):
        some = slice(begin, begin + together)
        one.learned_all(rounds[some], weights[some], sources[some])
    for vote in zip(rounds, weights, sources, strict=True):
        other.learned(*vote)
    assert list(one.weights_of.items()) == list(other.weights_of.items())
    assert one.lowest == other.lowest
    assert one.sources == other.sources
    assert one.weights.tolist() == other.weights.tolist()


def test_a_vote_that_is_retracted_soon_stays_in_the_counts_of_its_source(tmp_path: Path) -> None:
    settings = StreamSettings(context_dim=3, post_dim=0)
    with DecisionStream.create(f"sqlite:///{tmp_path}/duels.db", "log", settings) as stream:
        ticket = stream.ask(np.eye(3)).ticket
        stream.tell(ticket, "left", source="one")
        stream.retract(ticket)
    with closing(open_store(f"sqlite:///{tmp_path}/duels.db")) as store:
        events = RecordedLog(StoredLog(store, 1).events(after=0, upto=store.stream("log").head))
    upto = next(one.seq for one in events.of_kinds(("retracted",), upto=events.head))
    state = fold(settings, events, upto=upto)
    assert state.ledger.sources.keys() == {"one"}
    each = StreamState(settings)
    for recorded in events.events(after=0, upto=upto):
        each.apply(recorded)
    assert state.snapshot().payload == each.snapshot().payload


@pytest.mark.parametrize("meanwhile", ["anonymous", "skipped", "held back", "retracted"])
@pytest.mark.parametrize("post_dim", [0, 1])
def test_of_several_votes_on_a_duel_each_is_its_own_sources(
    tmp_path: Path, meanwhile: str, post_dim: int
) -> None:
    settings = StreamSettings(context_dim=3, post_dim=post_dim, votes_wanted=3)
    with DecisionStream.create(f"sqlite:///{tmp_path}/duels.db", "log", settings) as stream:
        if meanwhile == "held back":
            stream.hold_source("dan")
        ticket = stream.ask(np.eye(3)).ticket
        stream.tell(ticket, "left", source="dan")
        if meanwhile == "retracted":
            stream.tell(ticket, "left", source="cat")
            stream.retract(ticket, source="dan")
        else:
            stream.tell(ticket, "skip" if meanwhile == "skipped" else "right")
        stream.tell(ticket, "right", source="ann")
        if post_dim:
            stream.observe(ticket, [0.1], [0.2])
        stream.wait_for_background()
        told = {"anonymous": {"dan", "ann"}, "skipped": {"dan", "ann"}, "held back": {"ann"}}
        credited = {one.source: one.votes for one in stream.report().down_weighted_sources}
        assert credited == dict.fromkeys(told.get(meanwhile, {"cat", "ann"}), 1)
        assert {name for name in stream.votes().source if name is not None} == credited.keys()

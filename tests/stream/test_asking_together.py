"""Asks that are decided together get the pairs they would get one by one, and leave the same state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from duelwise.errors import Conflict, DuelwiseError, InvalidInput
from duelwise.learning.ask_batch import NUMBERS, ROOM
from duelwise.receipts import Receipt
from duelwise.storage import unpack
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.choosing import Chooser
from duelwise.stream.operations import Answer, Ask, Decision, Observe, Operation, Tell
from duelwise.stream.stream_state import KEPT_FROM, StreamState
from duelwise.types import Array

RANGES = {"a": (-2.0, 2.0), "b": (-1.0, 1.0), "c": (0.0, 3.0), "late": (-1.0, 1.0)}
SETTINGS: dict[str, dict[str, Any]] = {
    "without contexts": {"post_dim": 0},
    "with contexts": {"post_dim": 1},
    "that knows sides": {"post_dim": 1, "position_bias": True},
    "that knows sides, without contexts": {"post_dim": 0, "position_bias": True},
    "of two votes a duel": {"post_dim": 1, "votes_wanted": 2},
    "of 0.1": {"post_dim": 1, "edition": 1, "recipe": "rcdp-ucb"},
    "that keeps its votes": {"post_dim": 0, "options": {"estimate": "full-mle"}},
    "with another φ̂": {"post_dim": 1, "options": {"post_serving": "ridge"}},
}


def settings_of(given: dict[str, Any]) -> StreamSettings:
    names = tuple(RANGES)[: 3 + given["post_dim"]]
    ranges: dict[str, Any] = {} if "edition" in given else {name: RANGES[name] for name in names}
    return StreamSettings(context_dim=3, feature_names=names, ranges=ranges, **given)


def asks(rng: np.random.Generator, count: int, **given: Any) -> list[Operation]:
    """Of two to nine candidates each, some of them beyond the ranges."""
    return [Ask(rng.normal(size=(int(rng.integers(2, 10)), 3)), **given) for _ in range(count)]


def lived(url: str, settings: StreamSettings, *, turns: int = 8) -> tuple[list[object], dict[str, Any]]:
    """What was answered to groups of votes and asks, and the state they left."""
    rng, answers = np.random.default_rng(3), list[object]()
    with DecisionStream.create(url, "groups", settings, clock=lambda: 1000.0) as stream:
        for _ in range(turns):
            duels = stream.commit(asks(rng, 12))
            votes: list[Operation] = []
            for duel in duels[:-3]:
                assert isinstance(duel, Decision)
                if settings.post_dim:
                    votes.append(Observe(duel.ticket, *rng.normal(size=(2, 1))))
                votes.append(Tell(duel.ticket, ("left", "right", "tie")[int(rng.integers(3))]))
            more = stream.commit(
                [*votes, *asks(rng, 5), *votes[:1], *asks(rng, 1), *votes[:1], *asks(rng, 3)]
            )
            answers += [*duels, *more]
        fields, arrays = unpack(stream.replica.folded.snapshot().payload)
    return list(map(without_tag, answers)), fields | {name: one.tolist() for name, one in arrays.items()}


def without_tag(answer: object) -> object:
    """Two streams tell their tickets apart by a tag."""
    if isinstance(answer, Decision | Receipt):
        return answer._replace(ticket=answer.ticket.partition("-")[0])
    return repr(answer)


@pytest.mark.parametrize("name", SETTINGS)
def test_together_is_as_one_by_one(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, served = settings_of(SETTINGS[name]), list[int]()
    choose_and_serve = StreamState.choose_and_serve

    def counted(folded: StreamState, offered: Any, *given: Any) -> Any:
        found = choose_and_serve(folded, offered, *given)
        served.append(len(found[0]))
        return found

    monkeypatch.setattr(StreamState, "choose_and_serve", counted)
    together, state = lived(f"sqlite:///{tmp_path}/together.db", settings)
    assert sum(served) == 8 * 21  # the ask that stands alone too
    monkeypatch.setattr(Chooser, "can_choose_together", lambda *_: False)
    one_by_one, other_state = lived(f"sqlite:///{tmp_path}/single.db", settings)
    assert sum(served) == 8 * 21
    assert together == one_by_one
    clamped = any(isinstance(answer, Decision) and answer.clamped for answer in together)
    assert clamped == bool(settings.ranges)
    assert state.keys() == other_state.keys()
    for key in state:
        np.testing.assert_equal(state[key], other_state[key], err_msg=key)


def test_while_ranges_are_learned_and_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = StreamSettings(context_dim=3, post_dim=0)
    together, state = lived(f"sqlite:///{tmp_path}/together.db", settings, turns=35)
    assert state["learner.scaling.counts"][2] == 1  # settled
    monkeypatch.setattr(Chooser, "can_choose_together", lambda *_: False)
    one_by_one, other_state = lived(f"sqlite:///{tmp_path}/single.db", settings, turns=35)
    assert together == one_by_one
    np.testing.assert_equal(state, other_state)


def test_what_is_refused_or_repeated_is_answered_in_its_place(tmp_path: Path) -> None:
    rng, settings = np.random.default_rng(0), settings_of({"post_dim": 0})
    one, other = rng.normal(size=(2, 4, 3))
    with DecisionStream.create(f"sqlite:///{tmp_path}/odd.db", "odd", settings) as stream:
        (before,) = stream.commit([Ask(one, event_id="earlier")])
        answers = stream.commit(
            [
                Ask(one, event_id="first"),
                Ask(one, event_id="earlier"),
                Ask(one[:1]),
                Ask(other, event_id="second"),
                Ask(one, event_id="first"),
                Ask(other, event_id="first"),
                Ask(other, votes_wanted=0),
                Ask(one),
                Ask(other),
            ]
        )
        duels = [answer for answer in answers if isinstance(answer, Decision)]
        assert [kind_of(answer) for answer in answers] == [
            Decision, "repeated", InvalidInput, Decision, "repeated", Conflict, InvalidInput,
            Decision, Decision,
        ]  # fmt: skip
        assert isinstance(before, Decision)
        assert duels[1].ticket == before.ticket
        assert duels[3].ticket == duels[0].ticket
        # The choice knew of every event before it.
        numbers = [stream.ticket(duel.ticket).history[0].seq for duel in (duels[0], *duels[2:3], *duels[4:])]
        versions = [duel.model_version for duel in (duels[0], *duels[2:3], *duels[4:])]
        assert versions == [number - 1 for number in numbers]
        assert stream.report().counts["observed"] == 5


def kind_of(answer: Answer | DuelwiseError) -> object:
    return "repeated" if isinstance(answer, Decision) and answer.repeated else type(answer)


def test_more_asks_than_fit_and_large_ones(tmp_path: Path) -> None:
    rng, settings = np.random.default_rng(0), settings_of({"post_dim": 0})
    with DecisionStream.create(f"sqlite:///{tmp_path}/many.db", "many", settings) as stream:
        many: list[Operation] = [*asks(rng, 2 * ROOM + 7), Ask(rng.normal(size=(KEPT_FROM, 3)))]
        answers = stream.commit([*many, *asks(rng, 3)])
        rounds = [int(answer.ticket.partition("-")[0]) for answer in answers if isinstance(answer, Decision)]
        assert rounds == list(range(len(many) + 3))


def test_a_learner_without_numbers_draws_the_pair(tmp_path: Path) -> None:
    """Where Θ̂ is none, every ask of a group falls back, and is served all the same."""
    rng, settings = np.random.default_rng(0), settings_of({"post_dim": 0})
    with DecisionStream.create(f"sqlite:///{tmp_path}/lost.db", "lost", settings) as stream:
        stream.replica.folded.learner.theta[...] = np.nan
        answers = stream.commit(asks(rng, 4))
        assert [isinstance(answer, Decision) and answer.fallback for answer in answers] == [True] * 4


def test_a_group_that_fails_half_way_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, settings = np.random.default_rng(0), settings_of({"post_dim": 0})
    with DecisionStream.create(f"sqlite:///{tmp_path}/failed.db", "failed", settings) as stream:
        stream.commit(asks(rng, 4))
        before = unpack(stream.replica.folded.snapshot().payload)[1]

        def fail(_self: StreamState, _events: object) -> None:
            raise OSError("no more")

        with monkeypatch.context() as patched:
            patched.setattr(StreamState, "take_served", fail)
            with pytest.raises(OSError, match="no more"):
                stream.commit(asks(rng, 4))
        stream.report()
        after = unpack(stream.replica.folded.snapshot().payload)[1]
        np.testing.assert_equal(after, before)
        assert stream.report().counts["observed"] == 4


def test_an_ask_knows_of_those_before_it_in_its_group(tmp_path: Path) -> None:
    """The same candidates again and again: not the same pair again and again."""
    settings = settings_of({"post_dim": 0})
    x: Array = np.random.default_rng(1).uniform(-1, 1, size=(6, 3))
    with DecisionStream.create(f"sqlite:///{tmp_path}/same.db", "same", settings) as stream:
        duels = [one for one in stream.commit([Ask(x)] * 12) if isinstance(one, Decision)]
        assert len({frozenset((duel.left.index, duel.right.index)) for duel in duels}) > 1


def test_offers_that_do_not_fit_into_one_call(tmp_path: Path) -> None:
    rng, settings, count = np.random.default_rng(0), settings_of({"post_dim": 0}), KEPT_FROM - 1
    assert 4 * count * 3 > NUMBERS
    with DecisionStream.create(f"sqlite:///{tmp_path}/wide.db", "wide", settings) as stream:
        answers = stream.commit([Ask(x) for x in rng.normal(size=(9, count, 3))])
        rounds = [int(answer.ticket.partition("-")[0]) for answer in answers if isinstance(answer, Decision)]
        assert rounds == list(range(9))

"""What being shown on the left is worth: estimated, taken out of every answer, the same in every replay."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from duelwise.cli.app import app
from duelwise.learning.core.state import Core
from duelwise.learning.learner import DuelingLearner
from duelwise.storage import Store, open_store
from duelwise.stream import DecisionStream, FromCatalogue, StreamSettings
from duelwise.stream.evaluating import evaluate
from duelwise.stream.operations import Ask, Decision, Import, Tell
from duelwise.stream.repair import verify
from duelwise.stream.stressing import stress
from duelwise.stream.transfer import backup, derive, read_backup, restore

ITEMS = [f"dish {k}" for k in range(4)]
UTILITY = np.array([0.0, 0.6, 0.2, -0.8])
BIAS = 1.0
PLAIN = StreamSettings(context_dim=4, feature_names=tuple(f"is {id}" for id in ITEMS))
SIDED = replace(PLAIN, position_bias=True)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path}/duels.db")


def one_dish_stands_left(count: int) -> list[Import]:
    """Past duels with votes: the first dish, whenever it was shown, stood left nine times in ten."""
    rng, past = np.random.default_rng(3), list[Import]()
    for n in range(count):
        left, right = rng.choice(4, size=2, replace=False).tolist()
        if right == 0 and rng.random() < 0.9:
            left, right = right, left
        won = rng.random() < 1 / (1 + np.exp(UTILITY[right] - UTILITY[left] - BIAS))
        rows = np.eye(4)[[left, right]].tolist()
        past.append(Import(*rows, winner="left" if won else "right", source=f"rater {n % 7}"))
    return past


def filled(store: Store, name: str, settings: StreamSettings, past: list[Import]) -> DecisionStream:
    stream = DecisionStream.create(store, name, settings, clock=lambda: 5.0)
    stream.put_items([{"id": id, "features": row} for id, row in zip(ITEMS, np.eye(4).tolist(), strict=True)])
    for start in range(0, len(past), 200):
        stream.run(past[start : start + 200])
    return stream


def test_a_planted_bias_is_covered_and_out_of_the_ranking(store: Store) -> None:
    past = one_dish_stands_left(3000)
    with filled(store, "sided", SIDED, past) as sided, filled(store, "plain", PLAIN, past) as plain:
        found = sided.rank()
        assert found.position_bias is not None
        assert found.position_bias.low < BIAS < found.position_bias.high
        assert 0.1 < found.position_bias.high - found.position_bias.low < 0.5
        truth = dict(zip(ITEMS, (UTILITY - UTILITY.mean()).tolist(), strict=True))
        assert [one.id for one in found.items] == sorted(ITEMS, key=lambda id: -truth[id])
        assert all(one.low < truth[one.id] < one.high for one in found.items)
        assert sided.best().id == "dish 1"
        chance = sided.win_probability("dish 1", "dish 0")
        assert chance == pytest.approx(1 / (1 + np.exp(-0.6)), abs=0.05)
        assert chance + sided.win_probability("dish 0", "dish 1") == pytest.approx(1)
        misled = plain.rank()
        assert misled.position_bias is None
        assert misled.items[0].id == "dish 0"  # it only stood on the left
        assert plain.report().positions.bias is None
        own = sided._replica.folded.learner
        assert own.theta[0, 0] == pytest.approx(BIAS, abs=0.35)  # the learner that chooses knows it too
        assert own.theta[0, 1] < own.theta[0, 2]


def test_sides_are_drawn_whoever_leads_and_the_estimate_needs_no_imports(store: Store) -> None:
    rng = np.random.default_rng(8)
    for goal in ("serve", "settle"):
        with filled(store, goal, replace(SIDED, goal=goal), []) as stream:
            for _ in range(40):
                duels = stream.run([Ask(FromCatalogue())] * 25)
                stream.run([_vote(duel, rng) for duel in duels if isinstance(duel, Decision)])
            positions = stream.report().positions
            assert positions.first_on_left is not None
            assert 0.4 < positions.first_on_left < 0.6
            assert positions.bias is not None
            assert abs(positions.bias.estimate - BIAS) < 3 * positions.bias.standard_error < 0.3
            assert positions.left_wins > 1.5 * positions.right_wins
            assert [one.feature for one in stream.report().coefficients] == list(PLAIN.feature_names)
            assert [one.feature for one in stream.report().ranges] == list(PLAIN.feature_names)


def _vote(duel: Decision, rng: np.random.Generator) -> Tell:
    apart = UTILITY[duel.left.index] - UTILITY[duel.right.index] + BIAS
    return Tell(duel.ticket, "left" if rng.random() < 1 / (1 + np.exp(-apart)) else "right", "app")


def test_a_choice_does_not_depend_on_the_bias(store: Store) -> None:
    """All are on no side while a pair is chosen: another bias, the same order of candidates."""
    past = one_dish_stands_left(400)
    with filled(store, "sided", SIDED, past) as stream:
        folded = stream._replica.folded
        x = np.eye(4)
        before = folded.inputs.choose(folded.settings.sides.unshown(x[None])).arms
        folded.learner.theta[0, 0] += 5.0
        assert np.array_equal(folded.inputs.choose(folded.settings.sides.unshown(x[None])).arms, before)


def test_replays_restores_and_derived_streams_say_the_same(store: Store, tmp_path: Path) -> None:
    settings = replace(SIDED, post_dim=1, context_ttl_seconds=0.0)
    rng = np.random.default_rng(2)
    stream = DecisionStream.create(store, "sided", settings, clock=lambda: 5.0)
    for n in range(80):
        duel = stream.ask(rng.normal(size=(5, 4)))
        stream.observe(duel.ticket, rng.normal(size=1).tolist(), rng.normal(size=1).tolist())
        if n % 3:
            stream.tell(duel.ticket, "left" if rng.random() < 0.7 else "right", source=f"rater {n % 4}")
    stream.hold_source("rater 2")
    stream.wait_for_background()
    candidates = rng.normal(size=(6, 4))
    state, ranked = stream.snapshot_state(), stream.rank(candidates)
    stream.close()
    with DecisionStream.open(store, "sided", clock=lambda: 5.0) as again:
        assert again.snapshot_state() == state
        assert again.rank(candidates) == ranked
        assert len(again.raters()) == 4
        assert again.audit().votes == len(again.votes())
        assert len(again.ask(1e3 * candidates).clamped) == 4
    backup(store, "sided", tmp_path / "sided.jsonl")
    log = read_backup(tmp_path / "sided.jsonl")
    restore(store, log, name="copy")
    assert verify(store, "copy") == ()
    with DecisionStream.open(store, "copy", clock=lambda: 5.0) as copy:
        assert copy.rank(candidates) == ranked
    derive(store, "plain", replace(settings, position_bias=False), log)
    derive(store, "sided again", settings, log)
    with DecisionStream.open(store, "plain") as plain, DecisionStream.open(store, "sided again") as other:
        other.wait_for_background()  # the votes of the source that is held back are taken out
        assert plain.rank(candidates).position_bias is None
        assert other.rank(candidates).position_bias == ranked.position_bias


def test_what_if_commands_and_tables_know_sides(store: Store) -> None:
    past = one_dish_stands_left(600)
    with filled(store, "sided", SIDED, past) as sided, filled(store, "plain", PLAIN, past) as plain:
        log, upto = sided.replica.log, sided.model_version
        losses = [_log_loss(one) for one in (sided, plain)]
        assert losses[0] < losses[1] - 0.01  # who stands left is foreseen
        moved = stress(SIDED, log, upto=upto, attack="random", lies=(0.3,)).lines[0]
        assert moved.leader in ITEMS


def _log_loss(stream: DecisionStream) -> float:
    score = evaluate(stream.settings, stream.replica.log, upto=stream.model_version).lines[0].prequential
    assert score is not None
    return score.log_loss.mean


def test_the_command_line_tells_the_bias(store: Store, tmp_path: Path) -> None:
    filled(store, "sided", SIDED, one_dish_stands_left(100)).close()
    address = ["--store", f"sqlite:///{tmp_path}/duels.db"]
    text = CliRunner().invoke(app, ["rank", "sided", *address]).stdout
    assert "Being shown on the left adds +" in text
    told = json.loads(CliRunner().invoke(app, ["rank", "sided", "--json", *address]).stdout)
    assert told["position_bias"]["low"] < told["position_bias"]["estimate"]
    report = json.loads(CliRunner().invoke(app, ["stream-report", "sided", *address]).stdout)
    assert report["positions"]["bias"]["estimate"] == told["position_bias"]["estimate"]
    assert report["foresight"]["votes"] == 100


@pytest.mark.parametrize("in_python", [False, True])
def test_a_pair_that_is_out_is_known_on_whichever_side_it_was_shown(
    in_python: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While no vote comes, the same candidates are not the same pair again and again."""
    set_core = DuelingLearner._set

    def chooses(learner: DuelingLearner, core: Core) -> None:
        set_core(learner, core)
        learner._chooses_in_python = in_python

    monkeypatch.setattr(DuelingLearner, "_set", chooses)
    rng, truth = np.random.default_rng(1), np.array([1.0, -1.0, 0.5])
    settings = StreamSettings(
        context_dim=3, post_dim=0, position_bias=True, feature_names=("a", "b", "c"),
        ranges={"a": [-2.0, 2.0], "b": [-2.0, 2.0], "c": [-2.0, 2.0]},
    )  # fmt: skip
    with DecisionStream.create(f"sqlite:///{tmp_path}/duels.db", "sides", settings) as stream:
        for x in rng.uniform(-1, 1, size=(60, 6, 3)):
            duel = stream.ask(x)
            edge = 3 * (x[duel.left.index] - x[duel.right.index]) @ truth
            stream.tell(duel.ticket, "left" if rng.random() < 1 / (1 + np.exp(-edge)) else "right")
        x = rng.uniform(-1, 1, size=(6, 3))
        duels = [stream.ask(x) for _ in range(10)]
        assert len({frozenset((duel.left.index, duel.right.index)) for duel in duels}) > 1

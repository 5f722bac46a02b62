"""sources="weighted": who lies is left out, past votes too, and a replay agrees to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from duelwise.answers.trust import distrusted
from duelwise.cli import app
from duelwise.errors import UnknownName
from duelwise.storage import open_store
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.erasing import erase_source
from duelwise.stream.evaluating import evaluate
from duelwise.stream.events import SourcesWeighed
from duelwise.stream.folding import fold
from duelwise.stream.stressing import stress
from duelwise.stream.transfer import backup, derive, read_backup, restore
from duelwise.stream.weighted_sources import next_judgement

SETTINGS = StreamSettings(
    context_dim=2,
    feature_names=("price", "stars"),
    ranges={"price": [-1, 1], "stars": [-1, 1]},
    sources="weighted",
)
TASTE = np.array([-8.0, 12.0])
LIARS = {"rater 0", "rater 1"}


@pytest.fixture
def stream(url: str) -> Iterator[DecisionStream]:
    with DecisionStream.create(url, "meals", SETTINGS) as opened:
        live(opened, 150)
        yield opened


def live(stream: DecisionStream, votes: int, *, seed: int = 0, liars: set[str] = LIARS) -> None:
    rng = np.random.default_rng(seed)
    for n in range(votes):
        x = rng.uniform(-1, 1, size=(4, 2))
        duel = stream.ask(x)
        left, right = x[duel.left.index], x[duel.right.index]
        wins = rng.random() < 1 / (1 + np.exp(-(left - right) @ TASTE))
        source = f"rater {n % 12}"
        stream.tell(duel.ticket, "left" if wins != (source in liars) else "right", source=source)
        stream.wait_for_background()


def weighed(stream: DecisionStream) -> list[SourcesWeighed]:
    replica = stream.replica
    found = replica.log.of_kinds(["sources_weighed"], upto=replica.folded.seq)
    return [one.event for one in found if isinstance(one.event, SourcesWeighed)]


def test_liars_are_left_out_and_shown(stream: DecisionStream) -> None:
    assert stream.replica.folded.left_out.distrusted == LIARS
    raters = {one.source: one for one in stream.raters()}
    assert {name for name, one in raters.items() if one.distrusted} == LIARS
    assert not any(one.held for one in raters.values())
    assert LIARS.isdisjoint(stream.votes().source)
    judgements = weighed(stream)
    assert [one.votes for one in judgements][:3] == [20, 21, 22]
    assert judgements[-1].votes <= 150 < next_judgement(judgements[-1].votes)
    assert sum(one.changed for one in judgements) < len(judgements)


def test_a_replay_and_a_restart_give_the_same_state(stream: DecisionStream, url: str) -> None:
    before = stream.snapshot_state()
    replica = stream.replica
    assert fold(SETTINGS, replica.log, upto=replica.folded.seq).snapshot().payload == before
    stream.close()
    with DecisionStream.open(url, "meals") as again:
        assert again.snapshot_state() == before
        live(again, 5, seed=9)
        assert LIARS.isdisjoint(again.votes().source)


def test_the_estimate_is_that_of_a_stream_which_never_heard_them(
    stream: DecisionStream, url: str, tmp_path: Path
) -> None:
    store = open_store(url)
    backup(store, "meals", tmp_path / "log.jsonl")
    old = read_backup(tmp_path / "log.jsonl")
    plain = StreamSettings.from_dict(SETTINGS.to_dict() | {"sources": "equal"})
    derive(store, "equal", plain, old)
    with DecisionStream.open(store, "equal") as equal:
        assert weighed(equal) == []
        assert set(equal.votes().source) >= LIARS
        for name in LIARS:
            equal.hold_source(name)
        equal.wait_for_background()
        assert equal.replica.folded.learner.theta.tolist() == stream.replica.folded.learner.theta.tolist()
    restore(store, old, name="copy")
    with DecisionStream.open(store, "copy") as copy:
        assert copy.snapshot_state() == stream.snapshot_state()
    store.close()
    found = evaluate(SETTINGS, old.log, upto=old.log.head)
    assert found.votes == 150  # votes of the distrusted are foreseen, though nothing is learned from them


def test_a_source_that_mends_its_ways_comes_back(url: str) -> None:
    with DecisionStream.create(url, "mending", SETTINGS) as stream:
        live(stream, 48)
        assert stream.replica.folded.left_out.distrusted >= LIARS
        live(stream, 460, seed=5, liars=set())
        assert stream.replica.folded.left_out.distrusted == set()
        assert set(stream.votes().source) >= LIARS


def test_an_erased_name_is_erased_from_judgements(stream: DecisionStream, url: str) -> None:
    stream.close()
    store = open_store(url)
    pseudonym = erase_source(store, "meals", "rater 0")
    with DecisionStream.open(store, "meals") as again:
        assert again.replica.folded.left_out.distrusted == {pseudonym, "rater 1"}
        assert all("rater 0" not in one.sources for one in weighed(again))
    store.close()


def test_equal_is_the_default_and_other_words_are_refused(url: str) -> None:
    assert StreamSettings(context_dim=1).sources == "equal"
    with pytest.raises(UnknownName, match="weighted"):
        StreamSettings(context_dim=1, sources="weigted")
    shown = CliRunner().invoke(app, ["create", "shop", "--context-dim", "2", "--sources", "weighted"])
    assert shown.exit_code == 0
    with DecisionStream.open(url, "shop") as opened:
        assert opened.settings.sources == "weighted"


def test_nobody_is_distrusted_where_votes_cannot_tell() -> None:
    rng = np.random.default_rng(0)
    dz, source = rng.normal(size=(400, 3)), rng.integers(20, size=400)
    weak = (rng.random(400) < 1 / (1 + np.exp(-0.05 * dz[:, 0]))).astype(float)
    assert distrusted(dz, weak, source, 20).sum() <= 1
    clear = (dz[:, 0] > 0).astype(float)
    lied = np.where(source < 3, 1 - clear, clear)
    assert np.flatnonzero(distrusted(dz, lied, source, 20)).tolist() == [0, 1, 2]
    assert not distrusted(dz, clear, source, 20).any()
    coins = np.where(source < 3, rng.random(400) < 0.5, clear).astype(float)
    assert np.flatnonzero(distrusted(dz, coins, source, 20)).tolist() == [0, 1, 2]
    assert distrusted(dz[:0], clear[:0], source[:0], 0).tolist() == []
    assert not distrusted(dz, lied, np.full(400, -1), 0).any()


@pytest.mark.parametrize("attack", ["random", "strategic", "source"])
def test_lies_are_among_the_votes_that_count(stream: DecisionStream, attack: str) -> None:
    count = len(stream.votes())
    log, upto = stream.replica.log, stream.replica.folded.seq
    found = stress(SETTINGS, log, upto=upto, attack=attack, lies=[0.1, 1.0])
    assert found.votes == count < 150
    assert max(line.turned for line in found.lines) <= count
    everything = stress(SETTINGS, log, upto=upto, attack="random", lies=[1.0]).lines[1]
    assert everything.turned == count
    assert everything.cosine == pytest.approx(-1, abs=0.02)  # no vote of a liar was turned in their place

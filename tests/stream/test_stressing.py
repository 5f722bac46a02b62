"""A log with lies and late votes: what is turned round, and how far that moves the ranking."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from living import Clock, outcome_in
from typer.testing import CliRunner

from duelwise.cli import app
from duelwise.errors import InvalidInput, UnknownName
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.attacks import Target, delayed, random_votes, some_sources, strategic_votes, turned
from duelwise.stream.evaluating import POSTERIOR
from duelwise.stream.events import Asked, Told
from duelwise.stream.stressing import Stressed, stress
from known import known

SETTINGS = StreamSettings(context_dim=2, feature_names=("price", "stars"), random_share=1.0)
TASTE = np.array([-2.0, 3.0])
ITEMS = [{"id": f"item {k}", "features": [k / 5, (k * 3 % 7) / 7]} for k in range(8)]


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DecisionStream]:
    url = f"sqlite:///{tmp_path}/duels.db"
    monkeypatch.setenv("DUELWISE_STORE", url)
    rng = np.random.default_rng(0)
    with DecisionStream.create(url, "meals", SETTINGS) as opened:
        opened.put_items(ITEMS)
        for n in range(200):
            duel = opened.ask()
            left, right = (opened.catalogue.item(side.id or "").x for side in (duel.left, duel.right))
            wins = rng.random() < 1 / (1 + np.exp(-(left - right) @ TASTE))
            winner = "tie" if n % 20 == 19 else "left" if wins else "right"
            opened.tell(duel.ticket, winner, source=f"rater {n % 10}")
        yield opened


def stressed(
    stream: DecisionStream, *, attack: str, lies: Sequence[float] = (0.05,), late: int = 0,
    recipes: Sequence[str] = (),
) -> Stressed:  # fmt: skip
    log, upto = stream.replica.log, stream.replica.folded.seq
    return stress(SETTINGS, log, upto=upto, attack=attack, lies=lies, late=late, recipes=recipes)


def test_no_lies_change_nothing_and_all_lies_turn_the_ranking_round(stream: DecisionStream) -> None:
    nothing, everything = (stressed(stream, attack="random", lies=[share]).lines for share in (0.0, 1.0))
    for line in nothing:
        assert (line.turned, line.leader_changed, line.rank_correlation) == (0, False, pytest.approx(1))
        assert line.cosine == pytest.approx(1)
        assert line.relative_change == 0
    assert everything[0].turned == 190  # a tie cannot be turned round
    for line in everything:
        assert line.leader_changed
        assert known(line.rank_correlation) < -0.9
        assert line.cosine == pytest.approx(-1, abs=1e-3)
        assert line.relative_change == pytest.approx(2, abs=0.05)


def test_a_strategic_attack_needs_fewer_lies(stream: DecisionStream) -> None:
    found = {
        attack: {
            line.name: line for line in stressed(stream, attack=attack, lies=[0.1], recipes=["live"]).lines
        }
        for attack in ("strategic", "random")
    }
    for name in ("live", POSTERIOR):
        strategic, random = (known(found[attack][name].lead_kept) for attack in ("strategic", "random"))
        assert strategic < random - 0.05
    assert stressed(stream, attack="strategic", lies=[0.4]).lines[1].leader_changed
    assert not stressed(stream, attack="random", lies=[0.4]).lines[1].leader_changed


def target(votes: int = 60) -> Target:
    rng = np.random.default_rng(3)
    dz = rng.normal(size=(votes, 2))
    outcome = (rng.random(votes) < 1 / (1 + np.exp(-dz @ TASTE))).astype(float)
    outcome[::10] = 0.5
    return Target(dz, outcome, [f"r{k % 6}" for k in range(votes)], rng.normal(size=(5, 2)), 0)


def test_attacks_choose_as_they_say() -> None:
    known = target()
    few, more = random_votes(known, 5), random_votes(known, 20)
    assert more[:5].tolist() == few.tolist()
    assert not set(more.tolist()) & set(range(0, 60, 10))
    liars = some_sources(known, 12)
    assert len(liars) == 12
    assert len({known.source[k] for k in liars.tolist()}) <= 2
    chosen = strategic_votes(known, 10)
    assert len(set(chosen.tolist())) == 10
    with pytest.raises(InvalidInput, match="No vote names its source"):
        some_sources(known._replace(source=[None] * 60), 3)


def test_late_votes_come_after_that_many_duels(stream: DecisionStream) -> None:
    replica = stream.replica
    old = list(replica.log.events(after=0, upto=replica.folded.seq))
    votes = frozenset(one.seq for one in old if isinstance(one.event, Told))
    new = delayed(old, votes, 3, 0)
    assert sorted(one.seq for one in new) == [one.seq for one in old]
    asked, late = 0, []
    for one in new:
        if isinstance(one.event, Asked):
            asked += 1
        elif isinstance(one.event, Told) and one.event.round < 190:
            late.append(asked - one.event.round - 1)
    assert set(late) == set(range(7))
    assert np.mean(late) == pytest.approx(3, abs=0.6)
    assert delayed(old, votes, 0, 0) == old
    assert [one.at for one in new] == sorted(one.at for one in new)
    some = frozenset(list(votes)[:2])
    flipped = [outcome_in(one) for one in turned(old, some) if one.seq in some]
    assert flipped == [1 - outcome_in(one) for one in old if one.seq in some]
    lines = stressed(stream, attack="random", lies=[], late=15).lines
    assert {line.lies for line in lines} == {0.0}
    assert all(line.turned == 0 and 0 < line.relative_change < 1 for line in lines if line.name == "live")


def test_a_late_vote_is_not_later_than_the_end_of_its_duel(tmp_path: Path) -> None:
    """Votes on duels that closed with fewer votes than they wanted, or before their context came."""
    clock = Clock()
    settings = StreamSettings(
        context_dim=2, post_dim=1, feature_names=("price", "stars"), votes_wanted=2, vote_ttl_seconds=1000.0
    )
    rng = np.random.default_rng(2)
    with DecisionStream.create(f"sqlite:///{tmp_path}/late.db", "meals", settings, clock=clock) as opened:
        for n in range(40):
            duel = opened.ask(rng.uniform(0, 1, size=(3, 2)))
            if n % 2:
                opened.observe(duel.ticket, [0.5], [0.2])
            opened.tell(duel.ticket, "left" if n % 3 else "right", source="anna")
            clock.now += 300
        opened.expire()
        assert opened.counts()["expired"] > 10
        log, upto = opened.replica.log, opened.replica.folded.seq
        found = stress(settings, log, upto=upto, attack="random", lies=[0.1], late=20)
    assert found.votes == 40


def test_what_is_not_said_is_on_time_and_of_seed_0(stream: DecisionStream) -> None:
    log, upto = stream.replica.log, stream.replica.folded.seq
    plain = stress(SETTINGS, log, upto=upto, attack="random", lies=[0.2])
    told = {
        seed: stress(
            SETTINGS, log, upto=upto, attack="random", lies=[0.2], late=0, recipes=["live"], seed=seed
        )
        for seed in (0, 1)
    }
    assert plain == told[0] != told[1]
    assert plain == stress(SETTINGS, log, upto=upto, attack="random", lies=[0.2, 0.2])
    assert stress(SETTINGS, log, upto=upto, attack="random").lines[0].lies == 0.05


def test_retracted_votes_and_streams_without_a_catalogue(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    with DecisionStream.create(f"sqlite:///{tmp_path}/bare.db", "bare", SETTINGS) as opened:
        for _ in range(60):
            duel = opened.ask(rng.uniform(0, 1, size=(3, 2)))
            opened.tell(duel.ticket, "left")
        opened.retract(opened.votes().ticket[0])
        opened.wait_for_background()
        found = stressed(opened, attack="strategic", lies=[0.05], recipes=["rcdp-ucb"])
    assert found.votes == 59
    assert found.items > 50
    assert found.lines[0].turned == 3
    assert "price=" in found.lines[0].leader


def test_the_command_writes_table_json_picture_and_page(stream: DecisionStream, tmp_path: Path) -> None:
    words = ["stress", "meals", "--lies", "0.05,0.2", "--attack", "source", "--late", "5", "--json", "-"]
    files = ["--plot", str(tmp_path / "s.png"), "--html", str(tmp_path / "s.html")]
    shown = CliRunner().invoke(app, [*words, *files])
    assert shown.exit_code == 0, shown.output
    content = json.loads(shown.output)
    assert [line["lies"] for line in content["lines"] if line["name"] == "live"] == [0.0, 0.05, 0.2]
    assert (tmp_path / "s.png").stat().st_size > 5000
    assert "meals under attack" in (tmp_path / "s.html").read_text()
    table = CliRunner().invoke(app, ["stress", "meals", "--recipes", "live"]).output
    assert "5 %" in table
    assert "strategic" in table


def test_what_cannot_be_is_refused(stream: DecisionStream) -> None:
    with pytest.raises(UnknownName, match="strategic"):
        stressed(stream, attack="strategc")
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        stressed(stream, attack="random", lies=[5.0])
    result = CliRunner().invoke(app, ["stress", "meals", "--lies", "many"])
    assert isinstance(result.exception, InvalidInput)


def test_ranks_of_equal_items_are_alike(tmp_path: Path) -> None:
    """A ranking that is turned round has correlation -1, also where items are equal; none where all are."""
    with DecisionStream.create(f"sqlite:///{tmp_path}/equal.db", "equal", SETTINGS) as opened:
        size = [0.0, 1.0, 1.0, 1.0, 2.0]
        opened.put_items([{"id": f"item {k}", "features": [one, 0.0]} for k, one in enumerate(size)])
        for _ in range(40):
            duel = opened.ask()
            larger = (duel.left.id or "") > (duel.right.id or "")
            opened.tell(duel.ticket, "left" if larger else "right")
        line = stressed(opened, attack="random", lies=[1.0]).lines[1]
        assert line.name == POSTERIOR
        assert line.rank_correlation == pytest.approx(-1)
    with DecisionStream.create(f"sqlite:///{tmp_path}/equal.db", "alike", SETTINGS) as opened:
        opened.put_items([{"id": f"item {k}", "features": [1.0, 2.0]} for k in range(3)])
        for _ in range(10):
            opened.tell(opened.ask().ticket, "left")
        assert {line.rank_correlation for line in stressed(opened, attack="random").lines} == {None}

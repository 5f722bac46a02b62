"""Sources judged by others on the very same questions, and the offline fit."""

from __future__ import annotations

import numpy as np
import pytest

from duelwise.answers.coins import coins
from duelwise.answers.consensus import consensus
from duelwise.answers.offline import offline_fit
from duelwise.answers.raters import Judged, judge
from duelwise.answers.scoring import mean_of, score

ITEMS, SOURCES = 12, 60


def crowd(rng: np.random.Generator, *, coins: int, votes: int = 9000) -> Judged:
    """Noisy votes between items that no feature describes; the first sources toss a coin."""
    utility = np.random.default_rng(1).normal(size=ITEMS)
    first = rng.integers(ITEMS, size=votes)
    second = (first + 1 + rng.integers(ITEMS - 1, size=votes)) % ITEMS
    source = rng.integers(SOURCES, size=votes)
    chance = 1 / (1 + np.exp(-(utility[first] - utility[second])))
    outcome = (rng.random(votes) < np.where(source < coins, 0.5, chance)).astype(np.float64)
    dz = np.eye(ITEMS)[first] - np.eye(ITEMS)[second]
    return Judged(dz, outcome, source, (rng.random(votes) < 0.5).astype(np.float64))


def flagged(seed: int, coins: int) -> np.ndarray:
    judged = crowd(np.random.default_rng(seed), coins=coins)
    found = judge(judged, sources=SOURCES, prior_variance=np.ones(ITEMS))
    return np.array([flag in ("at chance", "against") for flag in found.flag])


def test_those_who_toss_coins_are_found_and_others_are_not() -> None:
    found = np.array([flagged(seed, coins=6) for seed in range(8)])
    assert found[:, :6].mean() > 0.7
    assert found[:, 6:].mean() < 0.02
    nobody = np.array([flagged(seed, coins=0) for seed in range(8)])
    assert nobody.mean() < 0.02


def clear_votes(seed: int, *, coins: int, slips: float) -> Judged:
    """Nearly certain votes, some twenty a source, of which a few slip; the first sources toss a coin."""
    rng = np.random.default_rng(seed)
    dz, source = rng.normal(size=(2000, 5)), rng.integers(100, size=2000)
    honest = (dz @ np.full(5, 8.0) > 0) ^ (rng.random(2000) < slips)
    outcome = np.where(source < coins, rng.random(2000) < 0.5, honest).astype(np.float64)
    return Judged(dz, outcome, source, (rng.random(2000) < 0.5).astype(np.float64))


def test_coins_are_found_where_honest_raters_slip() -> None:
    found: list[list[bool]] = []
    for seed in range(6):
        judged = clear_votes(seed, coins=10, slips=0.04)
        flags = judge(judged, sources=100, prior_variance=np.full(5, 25.0)).flag
        found.append([flag in ("at chance", "against") for flag in flags])
    share = np.array(found)
    assert share[:, :10].mean() >= 0.95
    assert share[:, 10:].mean() <= 0.01


def test_a_slip_on_the_clearest_pair_accuses_nobody() -> None:
    """All others slip now and then, so that one vote against a sure thing costs only what slips cost."""
    rng = np.random.default_rng(0)
    margin = np.full(1010, 30.0)
    outcome, source = (rng.random(1010) > 0.04).astype(np.float64), np.repeat(np.arange(101), 10)
    outcome[-10:] = [0.0] + 9 * [1.0]
    found = coins(margin, outcome, source, np.ones(101))
    assert not found.coin[100]
    outcome[-10:] = 5 * [0.0] + 5 * [1.0]
    assert coins(margin, outcome, source, np.ones(101)).coin[100]


def test_agreement_is_counted_against_the_majority_of_others() -> None:
    dz = np.array([[1.0], [1.0], [-1.0], [2.0], [1.0]])
    outcome = np.array([1.0, 1.0, 0.0, 1.0, 0.0])  # the third says the same, seen from the other side
    source = np.array([0, 1, 2, 0, 3])
    found = consensus(dz, outcome, source, 4, np.ones(5))
    assert found.compared.tolist() == [1, 1, 1, 1]  # nobody else was asked about the fourth pair
    assert found.agreement.tolist() == [1.0, 1.0, 1.0, 0.0]


def test_an_easy_question_and_a_hard_one_expect_different_agreement() -> None:
    """Who is shown only close pairs agrees less, and is not accused of it."""
    rng = np.random.default_rng(0)
    hard = rng.random(6000) < 0.5
    source = np.where(hard, rng.integers(10, size=6000), 10 + rng.integers(10, size=6000))
    dz = np.where(hard, 1.0, 2.0)[:, None]
    outcome = (rng.random(6000) < np.where(hard, 0.55, 0.95)).astype(np.float64)
    found = consensus(dz, outcome, source, 20, dz[:, 0])
    assert found.expected[:10].mean() < 0.6
    assert found.expected[10:].mean() > 0.9
    assert not found.at_chance.any()


def test_the_offline_fit_finds_the_truth_in_any_unit() -> None:
    rng = np.random.default_rng(2)
    theta, dz = np.array([1.0, -0.5, 0.0]), rng.normal(size=(6000, 3))
    outcome = (rng.random(6000) < 1 / (1 + np.exp(-dz @ theta))).astype(np.float64)
    np.testing.assert_allclose(offline_fit(dz, outcome), theta, atol=0.12)
    unit = np.array([1000.0, 1.0, 0.01])
    np.testing.assert_allclose(offline_fit(dz * unit, outcome) * unit, offline_fit(dz, outcome), rtol=1e-6)
    assert offline_fit(dz[:0], outcome[:0]).tolist() == [0.0, 0.0, 0.0]


def test_a_score_counts_what_it_says() -> None:
    found = score(np.array([0.8, 0.2, 0.6, 0.5]), np.array([1.0, 1.0, 0.5, 1.0]), ["a", "a", None, "b"])
    assert found is not None
    assert (found.votes, found.winners) == (4, 3)
    assert found.accuracy == pytest.approx(0.5)  # a hit, a miss, and a coin
    expected = [np.log(1 / 0.8), np.log(5), -0.5 * np.log(0.6 * 0.4), np.log(2)]
    assert found.log_loss.mean == pytest.approx(np.mean(expected))
    assert score(np.empty(0), np.empty(0), []) is None


def test_votes_of_one_source_are_not_independent() -> None:
    values = np.array([1.0, 1.0, -1.0, -1.0])
    assert mean_of(values, [None] * 4).standard_error == pytest.approx(0.5)
    assert mean_of(values, ["a", "a", "b", "b"]).standard_error == pytest.approx(np.sqrt(0.5))

"""Rank, rank ranges, P(best) and the verdict, on posteriors that are known exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from duelwise.answers.belief import Posterior, belief, learn, posterior
from duelwise.answers.best_item_search import settling_pairs
from duelwise.answers.ranking import PAIRWISE, rank, win_probability
from duelwise.answers.settled import settled
from duelwise.errors import InvalidInput


def known(mean: list[float], deviation: float, votes: int = 100) -> Posterior:
    dim = len(mean)
    return Posterior(np.array(mean), deviation**2 * np.eye(dim), np.ones(dim), votes)


def test_items_are_in_order_and_ranges_hold_their_rank() -> None:
    z = np.random.default_rng(0).normal(size=(30, 4))
    ranked = rank(known([1.0, -0.5, 0.2, 0.0], 0.3), z)
    assert (np.diff(ranked.utility) <= 0).all()
    assert (ranked.rank_low <= ranked.rank).all()
    assert (ranked.rank <= ranked.rank_high).all()
    assert ranked.probability_best.sum() == pytest.approx(1.0)
    assert (ranked.probability_best[ranked.rank_low > 1] == 0).all()
    np.testing.assert_array_equal(np.sort(ranked.position), np.arange(30))


def test_a_tie_is_a_coin_and_a_sure_thing_is_sure() -> None:
    z = np.eye(2)
    assert rank(known([0.0, 0.0], 1.0), z).probability_best == pytest.approx([0.5, 0.5], abs=0.03)
    sure = rank(known([5.0, -5.0], 0.1), z)
    assert sure.probability_best.tolist() == [1.0, 0.0]
    assert sure.rank_high.tolist() == [1, 2]
    assert win_probability(known([5.0, -5.0], 0.01), z[0], z[1]) == pytest.approx(
        1 / (1 + np.exp(-10)), rel=0.01
    )


def test_what_is_held_equal_does_not_count() -> None:
    z = np.array([[1.0, 0.0], [0.0, 1.0]])
    answer = known([1.0, 3.0], 0.01)
    assert rank(answer, z).position.tolist() == [1, 0]
    assert rank(answer, z, adjust=[1]).position.tolist() == [0, 1]


def test_many_items_are_ranked_by_their_own_intervals() -> None:
    z = np.random.default_rng(1).normal(size=(PAIRWISE + 50, 3))
    ranked = rank(known([1.0, 1.0, 1.0], 0.2), z)
    assert (ranked.rank_low <= ranked.rank).all()
    assert (ranked.rank <= ranked.rank_high).all()
    assert ranked.rank_low[-1] > 1


def test_a_ranking_of_one_and_a_wrong_level_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least two"):
        rank(known([1.0], 1.0), np.ones((1, 1)))
    with pytest.raises(InvalidInput, match="level"):
        rank(known([1.0], 1.0), np.ones((2, 1)), level=2.0)


def test_the_verdict_waits_for_evidence_and_foresees_votes() -> None:
    z = np.eye(3)
    near = settled(known([0.3, 0.0, -1.0], 0.2), z)
    assert not near.settled
    assert 0 < near.votes_low <= near.votes_needed <= near.votes_high
    assert settled(known([3.0, 0.0, -1.0], 0.2), z).settled
    assert settled(known([0.3, 0.0, -5.0], 0.2), z, top=2).leaders.tolist() == [0, 1]
    assert settled(known([0.3, 0.0, -5.0], 0.2), z, top=2).settled
    with pytest.raises(InvalidInput, match="top is 3"):
        settled(known([1.0, 0.0, 0.0], 1.0), z, top=3)


def test_equal_items_are_never_settled() -> None:
    z = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    verdict = settled(known([9.0, 0.0], 0.01), z)
    assert not verdict.settled
    assert verdict.votes_needed == verdict.votes_low == verdict.votes_high == math.inf


def test_equal_items_share_the_chance_to_be_the_best() -> None:
    z = np.array([[0.3, 1.0], [0.9, 1.0], [0.3, 1.0], [0.3, -1.0]])
    apart = rank(known([0.0, 5.0], 0.1), z)
    chances = dict(zip(apart.position.tolist(), apart.probability_best.tolist(), strict=True))
    assert chances[0] == chances[2]
    assert sum(chances.values()) == pytest.approx(1.0)
    held = rank(known([0.0, 5.0], 0.1), z, adjust=[0])  # the first three are alike in all else
    assert held.probability_best == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0])


def test_settling_asks_about_the_pair_in_question_and_not_again_while_it_is_out() -> None:
    held = belief(runs=1, dim=6)
    z = np.eye(6)
    rng = np.random.default_rng(2)
    utility = np.array([1.0, 0.9, 0.9, -1.0, -2.0, -2.0])
    for _ in range(300):
        a, b = rng.choice(6, 2, replace=False)
        won = float(rng.random() < 1 / (1 + np.exp(utility[b] - utility[a])))
        learn(held, np.zeros(1, dtype=np.int64), (z[a] - z[b])[None], np.array([won]))
    nothing_out = np.zeros((1, 0, 6))
    assert set(settling_pairs(held, z[None], nothing_out)[0].tolist()) < {0, 1, 2}
    asked, out = [], []
    for _ in range(60):
        pair = settling_pairs(held, z[None], np.array([out]).reshape(1, -1, 6))[0]
        asked.append(tuple(sorted(pair.tolist())))
        out.append(z[pair[0]] - z[pair[1]])
    assert len(set(asked)) > 1
    assert posterior(held, 0).votes == 300


def test_settling_goes_on_where_the_leader_has_an_equal() -> None:
    held = belief(runs=1, dim=2)
    z = np.array([[0.1, 0.1], [0.9, 0.9], [0.7, 0.2], [0.5, 0.9], [0.5, 0.9]])  # the last two lead
    rng = np.random.default_rng(0)
    asked: list[frozenset[int]] = []
    for _ in range(200):
        first, second = settling_pairs(held, z[None], np.zeros((1, 0, 2)))[0]
        asked.append(frozenset((int(first), int(second))))
        dz = z[first] - z[second]
        won = float(rng.random() < 1 / (1 + np.exp(-dz @ [-4.0, 6.0])))
        learn(held, np.zeros(1, dtype=np.int64), dz[None], np.array([won]))
    assert frozenset((3, 4)) not in asked
    late = {k for pair in asked[100:] for k in pair}
    assert late >= {1, 2}, "the pairs that tell how far the leaders are ahead were not asked"
    utility = z @ posterior(held, 0).mean
    assert utility.argmax() == 3
    assert utility[3] - utility[1] == pytest.approx(1.6, abs=0.8)

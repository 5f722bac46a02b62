"""What the published program does and no equation of the paper says."""

from __future__ import annotations

import numpy as np
import pytest

from duelwise.learning.recipes import recipe
from duelwise.learning.selection import LeaderChallenger, Noise, PerturbedLeader, View
from duelwise.randomness import generator
from duelwise.types import Contexts, Votes

BASELINES = ("rcdb", "colstim", "max-inp", "max-pair-ucb")


@pytest.mark.parametrize("name", ["rcdp-ucb", *BASELINES])
def test_baselines_learn_from_predicted_features_and_rcdp_ucb_from_observed_ones(name: str) -> None:
    learner = recipe(name)(context_dim=1, post_dim=1, post_serving="ridge", distinct_pair=True)
    duel = learner.choose(np.array([[[1.0], [-1.0]]]))
    assert duel.predicted.tolist() == [[[0.0], [0.0]]]  # nothing is learned yet
    learner.serve(duel)
    learner.observe(Contexts(np.array([0]), np.array([0]), np.array([[[5.0], [2.0]]])))
    learner.tell(Votes(np.array([0]), np.array([0]), np.array([1.0])))
    from_y = learner.theta[0, 1]
    assert from_y > 0 if name == "rcdp-ucb" else from_y == 0.0


def perturbation(rule: PerturbedLeader, round: int) -> np.ndarray:
    return rule.perturbation(Noise(5, (0, 3)), round, 4)


def test_colstim_adds_a_gumbel_draw_of_its_own_to_every_arm() -> None:
    drawn = np.stack([generator(5, "selection/gumbel/4", run, 0).gumbel(size=(256, 4)) for run in (0, 3)])
    for round in (0, 7, 255):
        expected = np.clip(drawn[:, round], -5.0, 5.0)
        np.testing.assert_array_equal(perturbation(PerturbedLeader(), round), expected)


def test_colstim_clips_its_noise_at_five() -> None:
    drawn = np.concatenate([perturbation(PerturbedLeader(), round).ravel() for round in range(3000)])
    assert drawn.max() == 5.0  # P(Gumbel > 5) = 0.7 %
    assert np.mean(drawn == 5.0) == pytest.approx(1 - np.exp(-np.exp(-5.0)), rel=0.2)
    loose = np.concatenate([perturbation(PerturbedLeader(clip=9.0), round).ravel() for round in range(3000)])
    assert loose.max() > 5.0


def test_colstim_as_first_defined_shares_one_draw_by_a_coin() -> None:
    rule = PerturbedLeader(share_rate=2.0)
    coins = np.stack([generator(5, "selection/coin/1", run, 0).random((256, 1))[:, 0] for run in (0, 3)])
    for round in (0, 20, 200):
        alone = perturbation(PerturbedLeader(), round)
        independent = coins[:, round] < min(1.0, 2.0 / np.sqrt(round + 1))
        expected = np.where(independent[:, None], alone, alone[:, :1])
        np.testing.assert_array_equal(perturbation(rule, round), expected)


def test_the_noise_moves_the_leader() -> None:
    z = np.tile(np.eye(4), (2, 1, 1))
    inverse = np.tile(np.eye(4), (2, 1, 1))
    noise = Noise(5, (0, 3))
    view = View(3, z, np.zeros((2, 4)), inverse, np.ones(2), True, noise, np.zeros(2, int), np.zeros(2, int))
    chosen = PerturbedLeader().pairs(view)[:, 0]
    np.testing.assert_array_equal(chosen, perturbation(PerturbedLeader(), 3).argmax(axis=1))
    assert LeaderChallenger().pairs(view)[:, 0].tolist() == [0, 0]

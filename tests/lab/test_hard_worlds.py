"""The hard instances keep the contract of a world and are as hard as the proofs say."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from duelwise.errors import InvalidInput
from duelwise.lab.cells.problem import WORLDS, Problem
from duelwise.lab.play.delays import BlindPhase, ConstantDelay
from duelwise.lab.play.simulation import simulate
from duelwise.lab.play.world import World
from duelwise.lab.worlds.hard import BasisArms, Hypercube, UnitBall, sign_vectors
from duelwise.learning.recipes import rcdp_ucb
from duelwise.testing.worlds import WorldConformance


class TestHypercube(WorldConformance):
    def make(self, runs: Sequence[int]) -> World:
        return Hypercube(dim=3).start(runs=runs, seed=1)


class TestUnitBall(WorldConformance):
    def make(self, runs: Sequence[int]) -> World:
        return UnitBall(dim=3).start(runs=runs, seed=1)


class TestBasisArms(WorldConformance):
    def make(self, runs: Sequence[int]) -> World:
        return BasisArms(dim=4).start(runs=runs, seed=1)


def test_the_best_arm_is_where_the_proofs_have_it() -> None:
    cube, ball = Hypercube(dim=5).start(runs=range(9), seed=0), UnitBall(dim=5).start(runs=range(9), seed=0)
    np.testing.assert_allclose(cube.utility.max(axis=1), 5 * 0.25)
    np.testing.assert_allclose(ball.utility.max(axis=1), math.sqrt(5) / 8)
    assert ball.points.shape == (64, 5)
    assert np.linalg.norm(ball.points, axis=1).max() <= 1 + 1e-12
    corners = sign_vectors(5) / math.sqrt(5)
    assert all(np.any(np.all(np.isclose(ball.points, corner), axis=1)) for corner in corners)
    basis = BasisArms(dim=4, gap=0.3).start(runs=range(9), seed=0)
    np.testing.assert_allclose(np.sort(basis.utility, axis=1), [[0.0, 0.0, 0.0, 0.3]] * 9)


def test_votes_follow_the_scaled_link() -> None:
    world = Hypercube(dim=1, gap=0.25, link_slope=0.5).start(runs=range(400), seed=2)
    best = world.utility.argmax(axis=1)
    pair = np.stack([best, 1 - best], axis=1)
    truth = world.reveal(0, world.contexts(0))
    won = np.mean([world.vote(t, truth, pair) for t in range(50)])
    assert won == pytest.approx(0.5 + 0.5 * 0.5, abs=0.02)


@pytest.mark.parametrize("delay", [ConstantDelay(rounds=20), BlindPhase(budget=210)])
def test_nothing_is_learned_while_every_vote_is_out(delay: ConstantDelay | BlindPhase) -> None:
    scenario = Problem(world=Hypercube(dim=3), delay=delay).scenario(range(300))
    learner = rcdp_ucb(runs=300, context_dim=3, curvature=1.0, link="clipped-linear")
    played = simulate(learner, scenario, horizon=60)
    assert played.regret[:, :20].mean() == pytest.approx(3 * 0.25, abs=0.05)
    assert played.regret[:, 40:].mean() < 0.4


def test_hard_worlds_are_kinds_of_an_experiment_and_refuse_what_they_cannot_be() -> None:
    assert {"hypercube", "unit-ball", "basis"} <= WORLDS.keys()
    with pytest.raises(InvalidInput, match="at most 8"):
        Hypercube(dim=9)
    with pytest.raises(InvalidInput, match="sign vectors"):
        UnitBall(dim=7)
    with pytest.raises(InvalidInput, match="fair coin"):
        Hypercube(link_slope=0.0).start(runs=[0], seed=0)

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import pytest
from random_pairs import RandomPairs

from duelwise.errors import InvalidInput
from duelwise.lab.play.corruptions import RandomCorruption, StrategicCorruption
from duelwise.lab.play.delays import ConstantDelay, GaussianDelay, StrategicDelay
from duelwise.lab.play.regret import regrets
from duelwise.lab.play.scenario import Chainable, Scenario
from duelwise.lab.play.simulation import Trajectory, simulate
from duelwise.lab.play.world import Truth
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.learner_protocol import Learner
from duelwise.types import Array, IntArray


def small(*, runs: int | Sequence[int], mapping: str = "none", noise: float = 0.0) -> LinearWorld:
    return LinearWorld(runs=runs, context_dim=3, arms=4, mapping=mapping, noise=noise, seed=1)


def simulated(
    learner: RandomPairs, scenario: Scenario, *, horizon: int, progress: Callable[[int], None] | None = None
) -> Trajectory:
    """RandomPairs has what the plain loop needs where contexts come at once."""
    return simulate(cast("Learner", learner), scenario, horizon=horizon, progress=progress)


def play(
    scenario: Scenario, *, post_dim: int = 0, pairs: int = 0, horizon: int = 60
) -> tuple[RandomPairs, Trajectory]:
    world = scenario.world
    learner = RandomPairs(runs=world.runs, context_dim=world.context_dim, post_dim=post_dim, seed=pairs)
    return learner, simulated(learner, scenario, horizon=horizon)


def test_regret_is_the_literal_sum() -> None:
    u = np.array([[3.0, 1.0, 2.0, -1.0], [0.5, 0.5, 0.0, 0.25]])
    arms = np.array([[1, 3], [1, 1]])
    twice, distinct = regrets(u, arms)
    np.testing.assert_allclose(twice, [((3 - 1) + (3 + 1)) / 2, 0.0])
    np.testing.assert_allclose(distinct, [(3 + 2 - 1 + 1) / 2, 0.0])
    np.testing.assert_allclose(regrets(u, np.array([[2, 0], [2, 3]]))[1], [0.0, (0.5 + 0.5 - 0.25) / 2])


def test_a_trajectory_is_what_the_world_says_of_the_served_arms() -> None:
    world = small(runs=2, mapping="abs", noise=0.5)
    learner, trajectory = play(Scenario(world), post_dim=3)
    for t in range(60):
        x = world.contexts(t)
        truth, arms = world.reveal(t, x), trajectory.arms[:, t].astype(np.int64)
        for r in range(2):
            a, b = arms[r]
            cost = truth.expected[r].max() - 0.5 * (truth.expected[r, a] + truth.expected[r, b])
            assert trajectory.regret[r, t] == pytest.approx(cost, abs=1e-12)
            np.testing.assert_array_equal(learner.observed[t].y[r], truth.y[r, [a, b]])
        np.testing.assert_array_equal(learner.votes[t].outcome, world.vote(t, truth, arms))
        np.testing.assert_array_equal(trajectory.distinct_regret[:, t], regrets(truth.expected, arms)[1])
    np.testing.assert_allclose(trajectory.cumulative[:, -1], trajectory.final)
    same = trajectory.arms[..., 0] == trajectory.arms[..., 1]
    np.testing.assert_allclose(trajectory.self_duels, same.sum(axis=1) / 60)


def test_a_learner_that_ignores_y_gets_none_of_it() -> None:
    world = small(runs=2, mapping="abs")
    for post_dim in (0, 2):
        learner, _ = play(Scenario(world), post_dim=post_dim, horizon=3)
        assert learner.observed[2].y.shape == (2, 2, post_dim)


def test_what_a_world_draws_does_not_depend_on_the_learner() -> None:
    """Two learners that choose differently meet the same contexts, vote noise, delays and random lies."""
    scenario = (
        small(runs=3, mapping="cosine")
        .with_delay(GaussianDelay(mean=4, std=3))
        .with_corruption(RandomCorruption(budget=100, probability=0.3))
    )
    (one, first), (two, second) = play(scenario, pairs=0), play(scenario, pairs=1)
    assert np.any(first.arms != second.arms)
    for a, b in zip(one.votes, two.votes, strict=True):
        np.testing.assert_array_equal(a.run, b.run)
        np.testing.assert_array_equal(a.round, b.round)
    np.testing.assert_array_equal(first.delay_spent, second.delay_spent)
    same = np.all(first.arms == second.arms, axis=2)
    assert np.any(same)
    np.testing.assert_array_equal(first.regret[same], second.regret[same])


def test_playing_again_gives_the_same_floats() -> None:
    scenario = small(runs=2).with_corruption(StrategicCorruption(budget=3))
    scenario = scenario.with_delay(StrategicDelay(budget=50))
    (one, first), (two, second) = play(scenario), play(scenario)
    np.testing.assert_array_equal(first.regret, second.regret)
    np.testing.assert_array_equal(first.delay_spent, 50)
    np.testing.assert_array_equal(first.flips_spent, 3)
    for a, b in zip(one.votes, two.votes, strict=True):
        np.testing.assert_array_equal(a.outcome, b.outcome)


def test_votes_due_after_the_horizon_are_never_told() -> None:
    learner, trajectory = play(small(runs=2).with_delay(ConstantDelay(rounds=7)), horizon=20)
    np.testing.assert_array_equal(trajectory.told, 13)
    assert [len(votes.run) for votes in learner.votes] == [0] * 7 + [2] * 13


def test_runs_in_a_batch_are_the_runs_alone() -> None:
    def scenario(runs: list[int]) -> Scenario:
        world = small(runs=runs, mapping="abs")
        return world.with_delay(GaussianDelay(mean=5, std=5)).with_corruption(StrategicCorruption(budget=4))

    _, batch = play(scenario([0, 1, 0]))
    _, alone = play(scenario([0]))
    np.testing.assert_array_equal(batch.regret[0], alone.regret[0])
    np.testing.assert_array_equal(batch.told[0], alone.told[0])
    np.testing.assert_array_equal(batch.delay_spent[0], alone.delay_spent[0])


def test_progress_hears_every_round() -> None:
    heard: list[int] = []
    world = small(runs=1)
    simulated(RandomPairs(runs=1, context_dim=3), Scenario(world), horizon=4, progress=heard.append)
    assert heard == [1, 2, 3, 4]


class Coins(Chainable):
    """A user's own world: two arms, no seed, no run numbers."""

    runs, context_dim, post_dim, arms = 2, 1, 0, 2

    def contexts(self, t: int) -> Array:
        return np.ones((2, 2, 1))

    def reveal(self, t: int, x: Array) -> Truth:
        utility = np.array([[0.0, 1.0], [1.0, 0.0]])
        return Truth(np.empty((2, 2, 0)), utility, utility)

    def vote(self, t: int, truth: Truth, arms: IntArray) -> Array:
        return np.full(2, 0.5)


def test_a_users_own_world_needs_no_more_than_the_protocol() -> None:
    scenario = Scenario(Coins()).with_delay(GaussianDelay(mean=1, std=1))
    _, trajectory = play(scenario.with_corruption(RandomCorruption(budget=9, probability=1.0)))
    np.testing.assert_array_equal(trajectory.flips_spent, 0)  # a tie cannot be flipped
    assert set(np.unique(trajectory.regret)) <= {0.0, 0.5, 1.0}


def test_a_users_own_world_chains_like_ours() -> None:
    delay, corruption = ConstantDelay(rounds=1), StrategicCorruption(budget=2)
    chained = Coins().with_corruption(corruption).with_delay(delay)
    assert (chained.delay, chained.corruption) == (delay, corruption)
    again = Coins().with_delay(delay).with_corruption(corruption)
    assert (again.delay, again.corruption) == (delay, corruption)


class Crooked(Coins):
    def reveal(self, t: int, x: Array) -> Truth:
        truth = super().reveal(t, x)
        return truth._replace(y=np.zeros((2, 2, 3)))


def test_what_does_not_fit_is_refused_before_the_first_round() -> None:
    world = small(runs=2, mapping="abs")
    fresh = RandomPairs(runs=2, context_dim=3)
    for learner in (
        RandomPairs(runs=1, context_dim=3),
        RandomPairs(runs=2, context_dim=4),
        RandomPairs(runs=2, context_dim=3, post_dim=4),
    ):
        with pytest.raises(InvalidInput, match="learner"):
            simulated(learner, Scenario(world), horizon=5)
    with pytest.raises(InvalidInput, match="horizon"):
        simulated(fresh, Scenario(world), horizon=0)
    with pytest.raises(InvalidInput, match=r"Expected \(2, 2, 0\)"):
        simulated(RandomPairs(runs=2, context_dim=1), Scenario(Crooked()), horizon=5)
    simulated(fresh, Scenario(world), horizon=2)
    with pytest.raises(InvalidInput, match="make a new one"):
        simulated(fresh, Scenario(world), horizon=2)

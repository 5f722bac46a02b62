"""What every world must do. Inherit, and let `make` build yours for given run numbers.

class TestMine(WorldConformance):
    def make(self, runs):
        return MyWorld(runs=runs, seed=3)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from duelwise.lab.play.world import Truth, World
from duelwise.randomness import RoundDraws
from duelwise.types import Array, IntArray


class WorldConformance:
    """A round's draws are a function of (run number, round): never of what was asked before."""

    rounds: int = 20

    def make(self, runs: Sequence[int]) -> World:
        raise NotImplementedError("Override make: it builds the world under test, the same one each time.")

    def test_shapes_are_as_announced_and_values_finite(self) -> None:
        world = self.make([0, 1])
        assert world.runs == 2
        assert world.arms >= 2, "a duel needs two arms"
        for t in range(self.rounds):
            x = world.contexts(t)
            truth = world.reveal(t, x)
            _assert_shape("contexts", x, (2, world.arms, world.context_dim))
            _assert_shape("y", truth.y, (2, world.arms, world.post_dim))
            _assert_shape("utility", truth.utility, (2, world.arms))
            _assert_shape("expected utility", truth.expected, (2, world.arms))

    def test_votes_are_zero_a_half_or_one(self) -> None:
        world = self.make([0, 1])
        for t in range(self.rounds):
            truth = world.reveal(t, world.contexts(t))
            outcome = world.vote(t, truth, _arms(world, t))
            _assert_shape("votes", outcome, (2,))
            assert np.isin(outcome, [0.0, 0.5, 1.0]).all(), f"round {t} voted {outcome}"

    def test_the_same_world_says_the_same(self) -> None:
        one, other = self.make([0, 1]), self.make([0, 1])
        for t in range(self.rounds):
            _assert_same_round(one, other, t, _arms(one, t))

    def test_nothing_depends_on_what_was_asked_before(self) -> None:
        """Another learner serves other pairs, and asks in another order: the draws stay."""
        straight, crooked = self.make([0, 1]), self.make([0, 1])
        for t in reversed(range(self.rounds)):
            truth = crooked.reveal(t, crooked.contexts(t))
            for _ in range(2):
                crooked.vote(t, truth, _arms(crooked, t)[:, ::-1].copy())
        for t in range(self.rounds):
            _assert_same_round(straight, crooked, t, _arms(straight, t))

    def test_nobody_can_change_the_world(self) -> None:
        world, untouched = self.make([0, 1]), self.make([0, 1])
        for t in range(self.rounds):
            x = world.contexts(t)
            world.reveal(t, x).y[...] = 0.0
            x[...] = 0.0
            _assert_same_round(world, untouched, t, _arms(world, t))

    def test_runs_of_one_number_are_the_same_run(self) -> None:
        world, alone = self.make([3, 0, 3]), self.make([3])
        for t in range(self.rounds):
            arms = np.repeat(_arms(alone, t), 3, axis=0)
            x, only = world.contexts(t), alone.contexts(t)
            truth, truth_alone = world.reveal(t, x), alone.reveal(t, only)
            outcome, vote = world.vote(t, truth, arms), alone.vote(t, truth_alone, arms[:1])
            for row in (0, 2):
                np.testing.assert_array_equal(x[row], only[0], err_msg=f"contexts of round {t}")
                np.testing.assert_array_equal(truth.y[row], truth_alone.y[0], err_msg=f"y of round {t}")
                np.testing.assert_array_equal(truth.utility[row], truth_alone.utility[0])
                np.testing.assert_array_equal(outcome[row], vote[0], err_msg=f"votes of round {t}")


def _arms(world: World, t: int) -> IntArray:
    """(R, 2) pairs that have nothing to do with the world."""
    draws = RoundDraws(
        11, "conformance/pairs", range(world.runs), lambda rng, rounds: rng.random((rounds, 2))
    )
    return (draws.at(t) * world.arms).astype(np.int64)


def _assert_shape(what: str, values: Array, shape: tuple[int, ...]) -> None:
    assert values.shape == shape, f"{what} have shape {values.shape}; expected {shape}"
    assert np.isfinite(values).all(), f"{what} hold NaN or infinity"


def _assert_same_round(one: World, other: World, t: int, arms: IntArray) -> None:
    x, again = one.contexts(t), other.contexts(t)
    np.testing.assert_array_equal(x, again, err_msg=f"contexts of round {t}")
    truth, truth_again = one.reveal(t, x), other.reveal(t, again)
    for name in Truth._fields:
        np.testing.assert_array_equal(
            getattr(truth, name), getattr(truth_again, name), err_msg=f"{name} of round {t}"
        )
    np.testing.assert_array_equal(
        one.vote(t, truth, arms), other.vote(t, truth_again, arms), err_msg=f"votes of round {t}"
    )

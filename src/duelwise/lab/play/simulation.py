"""The loop to read: contexts → choose → serve → reveal → observe → vote → channel → tell → regret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from duelwise.errors import InvalidInput
from duelwise.lab.play.checks import check_whole
from duelwise.lab.play.contexts import prepare
from duelwise.lab.play.regret import regrets
from duelwise.lab.play.scenario import Scenario, as_scenario
from duelwise.lab.play.world import World
from duelwise.learning.core.jit import compiled
from duelwise.learning.learner_protocol import Learner
from duelwise.types import AnyArray, Array, IntArray


@dataclass(frozen=True)
class Trajectory:
    """What happened, for R runs of T rounds."""

    regret: Array  # (R, T) each round's regret, from the best arm served twice
    distinct_regret: Array  # (R, T) the same from the best two different arms
    arms: NDArray[np.int32]  # (R, T, 2) half the memory of int64: horizons may be long
    told: IntArray  # (R,) votes that arrived within the horizon
    flips_spent: IntArray  # (R,) votes that were lies
    delay_spent: IntArray  # (R,) sum of all delays

    @property
    def cumulative(self) -> Array:
        """(R, T) regret up to and including each round."""
        return np.cumsum(self.regret, axis=1)

    @property
    def final(self) -> Array:
        """(R,) regret over the whole horizon."""
        return self.regret.sum(axis=1)

    @property
    def self_duels(self) -> Array:
        """(R,) share of rounds in which an arm met itself."""
        return np.mean(self.arms[:, :, 0] == self.arms[:, :, 1], axis=1)


def simulate(
    learner: Learner,
    scenario: Scenario | World,
    *,
    horizon: int,
    progress: Callable[[int], None] | None = None,
) -> Trajectory:
    """Play a fresh learner for `horizon` rounds; `progress` hears how many rounds are done.

    A vote with delay τ is told at the end of round t + τ, before the next choice; votes due
    after the horizon are never told. The learner sees the first learner.post_dim coordinates of y.
    """
    scenario = as_scenario(scenario)
    world, channel = scenario.world, scenario.channel()
    contexts = scenario.contexts_at_work(learner.post_dim)
    check_fit(learner, world, horizon)
    prepare(contexts, learner)
    trajectory = empty_trajectory(world.runs, horizon)
    for t in range(horizon):
        x = world.contexts(t)
        duel = learner.choose(x)
        learner.serve(duel)
        truth = world.reveal(t, x)
        y = _of_pair(truth.y, duel.arms, learner.post_dim)
        contexts.bring(t, learner, duel.x, y)
        outcome = world.vote(t, truth, duel.arms)
        channel.send(t, learner.served(t), outcome, truth.utility)
        votes = channel.arrivals(t)
        learner.tell(votes)
        trajectory.regret[:, t], trajectory.distinct_regret[:, t] = regrets(truth.expected, duel.arms)
        trajectory.arms[:, t] = duel.arms
        trajectory.told[:] += np.bincount(votes.run, minlength=world.runs)
        if progress is not None:
            progress(t + 1)
    trajectory.flips_spent[:], trajectory.delay_spent[:] = channel.flips_spent, channel.delay_spent
    return trajectory


@compiled
def _of_pair(y: Array, arms: IntArray, post_dim: int) -> Array:
    """y (R, K, dy), arms (R, 2) → (R, 2, post_dim) what the learner may see of the served pair"""
    pair = np.empty((len(arms), 2, post_dim))
    for r in range(len(arms)):
        for side in range(2):
            pair[r, side] = y[r, arms[r, side], :post_dim]
    return pair


def empty_trajectory(runs: int, horizon: int) -> Trajectory:
    """A trajectory to be filled."""
    return Trajectory(
        regret=np.zeros((runs, horizon)),
        distinct_regret=np.zeros((runs, horizon)),
        arms=np.zeros((runs, horizon, 2), np.int32),
        told=np.zeros(runs, np.int64),
        flips_spent=np.zeros(runs, np.int64),
        delay_spent=np.zeros(runs, np.int64),
    )


def check_fit(learner: Learner, world: World, horizon: int) -> None:
    """Refuse a learner that does not fit the world, and a world that does not keep its own shapes."""
    check_whole("horizon", horizon, least=1)
    if learner.round != 0:
        raise InvalidInput(
            f"The learner has already served {learner.round} rounds. Expected one that has served "
            "nothing yet: make a new one for each simulation."
        )
    if (learner.runs, learner.context_dim) != (world.runs, world.context_dim):
        raise InvalidInput(
            f"The learner is for {learner.runs} runs and {learner.context_dim} context coordinates; "
            f"the world has {world.runs} and {world.context_dim}. Make both with the same sizes."
        )
    if learner.post_dim > world.post_dim:
        raise InvalidInput(
            f"The learner expects {learner.post_dim} post-serving coordinates; the world reveals "
            f"{world.post_dim}. Give the learner post_dim={world.post_dim} or less."
        )
    x = world.contexts(0)
    truth = world.reveal(0, x)
    outer = (world.runs, world.arms)
    _check_shape("contexts", x, (*outer, world.context_dim))
    _check_shape("post-serving contexts", truth.y, (*outer, world.post_dim))
    _check_shape("utilities", truth.utility, outer)
    _check_shape("expected utilities", truth.expected, outer)


def _check_shape(what: str, values: AnyArray, shape: tuple[int, ...]) -> None:
    if values.shape != shape or not np.isfinite(values).all():
        raise InvalidInput(
            f"The world's {what} of round 0 have shape {values.shape}. Expected {shape}, all finite."
        )

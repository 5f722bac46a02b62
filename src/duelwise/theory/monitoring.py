"""Monitors of the theory's assumptions: a learner's own, and what only the laboratory can see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.world import World
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.monitoring import FIRST_WINDOW, Watched, power_law, watched
from duelwise.theory.links import logistic_slope
from duelwise.theory.walking import walk
from duelwise.types import Array


@dataclass(frozen=True, kw_only=True)
class Monitored:
    """What a run says of the assumptions, one value for each run."""

    flat_share: Array  # (R,) share of duels with ġ(⟨Θ̂, Δz⟩) < κ at the estimate that chose them
    largest_estimate: Array  # (R,) the largest ‖Θ̂‖
    largest_feature: Array  # (R,) the largest ‖ẑ‖
    learning_rate: Array  # (R,) a of φ̂'s error on arms it had not seen; NaN without y
    served_error: Array  # (R,) mean ‖φ̂ - φ‖ on served arms, second half; NaN without y
    error: Array  # (R,) the same on all arms

    def summary(self) -> dict[str, float]:
        """Means over runs."""
        values: dict[str, Array] = vars(self)
        return {name: float(np.mean(value)) for name, value in values.items()}


def monitor(learner: DuelingLearner, scenario: Scenario, *, horizon: int, curvature: float) -> Monitored:
    """Play a fresh learner with the logistic link and look at every round."""
    runs = scenario.world.runs
    run, late = np.arange(runs), horizon // 2
    flat, estimate, feature = np.zeros(runs), np.zeros(runs), np.zeros(runs)
    served, every = np.full((runs, horizon), np.nan), np.full((runs, horizon), np.nan)
    for state, step, _ in walk(learner, scenario, horizon=horizon):
        flat += logistic_slope(np.sum(state.theta * step.dz, axis=1)) < curvature
        estimate = np.maximum(estimate, np.linalg.norm(state.theta, axis=1))
        feature = np.maximum(feature, np.linalg.norm(step.predicted, axis=2).max(axis=1))
        if learner.post_dim:
            error = np.linalg.norm(step.predicted - step.latent, axis=2)
            served[:, step.round] = error[run[:, None], step.arms].mean(axis=1)
            every[:, step.round] = error.mean(axis=1)
    return Monitored(
        flat_share=flat / horizon,
        largest_estimate=estimate,
        largest_feature=feature,
        learning_rate=np.array([learning_exponent(each) for each in every]),
        served_error=served[:, late:].mean(axis=1),
        error=every[:, late:].mean(axis=1),
    )


LAST = 200  # rounds in which φ̂ is asked about every arm: enough for a mean, a few per cent of a run


@dataclass(frozen=True, kw_only=True)
class Lookback(Watched):
    """What the learner's monitors saw, and φ̂'s error on served arms beside all, which it cannot see."""

    late_served_error: Array  # (R,) mean ‖φ̂ - y‖ on served arms in the last rounds; NaN without y
    late_error: Array  # (R,) the same on all arms

    def summary(self) -> dict[str, float]:
        """Means over runs."""
        values: dict[str, Array] = vars(self)
        return {name: float(np.mean(value)) for name, value in values.items()}


def look_back(learner: DuelingLearner, world: World, arms: NDArray[np.int32]) -> Lookback:
    """A watched learner that has played: arms (R, T, 2)."""
    horizon = arms.shape[1]
    rounds = range(max(0, horizon - LAST), horizon)
    run, errors = np.arange(world.runs)[:, None], np.full((2, world.runs), np.nan)
    if learner.post_dim:
        errors[...] = 0.0
        for t in rounds:
            x = world.contexts(t)
            y = world.reveal(t, x).y[..., : learner.post_dim]
            apart = np.linalg.norm(learner.post_serving.predict(x) - y, axis=2)
            errors += np.stack([apart[run, arms[:, t]].mean(axis=1), apart.mean(axis=1)])
    late = errors / len(rounds)
    return Lookback(**vars(watched(learner.monitors)), late_served_error=late[0], late_error=late[1])


def learning_exponent(errors: Array) -> float:
    """a in error ∝ t^-a, from mean errors (n,) in windows that double in length; NaN if there are too few."""
    middles: list[float] = []
    means: list[float] = []
    start = 2**FIRST_WINDOW
    while 2 * start <= len(errors):
        middles.append(1.5 * start)
        means.append(float(np.mean(errors[start : 2 * start])))
        start *= 2
    return power_law(np.array(middles), np.array(means))

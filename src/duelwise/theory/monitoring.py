"""Monitors of the theory's assumptions: read from outside a learner, nothing in it changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelwise.lab.play.scenario import Scenario
from duelwise.learning.learner import DuelingLearner
from duelwise.theory.links import logistic_slope
from duelwise.theory.walking import walk
from duelwise.types import Array

LEAST_WINDOWS = 3  # of doubling length: fewer give no exponent
FIRST_WINDOW = 16


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


def learning_exponent(errors: Array) -> float:
    """a in error ∝ t^-a, from mean errors (n,) in windows that double in length; NaN if there are too few."""
    middles: list[float] = []
    means: list[float] = []
    start = FIRST_WINDOW
    while 2 * start <= len(errors):
        window = errors[start : 2 * start]
        middles.append(1.5 * start)
        means.append(float(np.mean(window)))
        start *= 2
    if len(means) < LEAST_WINDOWS or not min(means) > 0.0:
        return float("nan")
    x = np.log(middles) - np.log(middles).mean()
    return float(-(np.log(means) @ x) / (x @ x))

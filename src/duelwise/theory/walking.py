"""A walk along a simulation: what the analysis speaks of at every round, seen from outside the learner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.world import World
from duelwise.learning.learner import DuelingLearner
from duelwise.types import Array, Contexts, IntArray


@runtime_checkable
class MappedWorld(Protocol):
    """A world that tells the mean of y given x."""

    def phi(self, x: Array) -> Array: ...


class State(NamedTuple):
    """What a learner chose with, before the round changed it. Arrays are its own: read, do not keep."""

    theta: Array  # (R, d) Θ_{t-1}
    V: Array  # (R, d, d)
    V_inverse: Array  # (R, d, d)
    W: Array  # (R, d, d)
    log_det: Array  # (R,) of V


class Step(NamedTuple):
    """One round: the arms, what was chosen of them, and what the vote was."""

    round: int  # from 0
    predicted: Array  # (R, K, d) ẑ = (x, φ̂(x))
    latent: Array  # (R, K, d) z* = (x, φ(x)); without noise in y this is z
    expected: Array  # (R, K) ⟨Θ*, z*⟩
    arms: IntArray  # (R, 2)
    dz: Array  # (R, d) as the learner sees it
    weight: Array  # (R,) ω
    leverage: Array  # (R,) ‖Δz‖_{V⁻¹} with V before the round
    pending: IntArray  # (R,) votes out when the round began


@dataclass
class History:
    """Every duel so far: what a sum over s < t runs over."""

    dz: Array  # (R, T, d)
    weight: Array  # (R, T)
    margin: Array  # (R, T) ⟨Θ*, z_a - z_b⟩: what the vote was drawn from
    honest: Array  # (R, T) l
    told: Array  # (R, T) o; NaN while the vote is out
    length: int = 0


def walk(
    learner: DuelingLearner, scenario: Scenario, *, horizon: int
) -> Iterator[tuple[State, Step, History]]:
    """The rounds of `simulate`, each with the state it was chosen in and the history before it."""
    world, channel = scenario.world, scenario.channel()
    run, dim = np.arange(world.runs), learner.theta.shape[1]
    empty = np.full((world.runs, horizon), np.nan)
    history = History(
        np.zeros((world.runs, horizon, dim)), empty.copy(), empty.copy(), empty.copy(), empty.copy()
    )
    for t in range(horizon):
        V, W = learner.served_geometry, learner.arrived_geometry
        state = State(
            learner.theta.copy(), V.matrix.copy(), V.inverse.copy(), W.matrix.copy(), V.log_det.copy()
        )
        x = world.contexts(t)
        predicted = np.concatenate([x, learner.post_serving.predict(x)], axis=2)
        duel = learner.choose(x)
        learner.serve(duel)
        truth = world.reveal(t, x)
        y = truth.y[run[:, None], duel.arms][..., : learner.post_dim]
        learner.observe(Contexts(run, np.full(world.runs, t), y))
        outcome = world.vote(t, truth, duel.arms)
        served = learner.served(t)
        step = Step(
            t, predicted, _latent(world, x, learner.post_dim), truth.expected, duel.arms, served.dz.copy(),
            served.weight.copy(), served.leverage.copy(), served.pending - 1,
        )  # fmt: skip
        channel.send(t, served, outcome, truth.utility)
        yield state, step, history
        votes = channel.arrivals(t)
        learner.tell(votes)
        _remember(history, step, outcome, truth.utility)
        history.told[votes.run, votes.round] = votes.outcome


def _latent(world: World, x: Array, post_dim: int) -> Array:
    """(R, K, d) x with the mean of y; a world without y has none to add."""
    if not isinstance(world, MappedWorld):
        return x
    return np.concatenate([x, world.phi(x)[..., :post_dim]], axis=2)


def _remember(history: History, step: Step, outcome: Array, utility: Array) -> None:
    t, run = step.round, np.arange(len(step.arms))
    history.dz[:, t], history.weight[:, t], history.honest[:, t] = step.dz, step.weight, outcome
    history.margin[:, t] = utility[run, step.arms[:, 0]] - utility[run, step.arms[:, 1]]
    history.length = t + 1


def norm(vector: Array, matrix: Array) -> Array:
    """(R,) √(vᵀ A v): vector (R, d), matrix (R, d, d)."""
    return np.sqrt(np.maximum(np.einsum("ri,rij,rj->r", vector, matrix, vector), 0.0))

"""What a weighting is, and the state of those that follow from a duel's leverage and rank: clips and ramps.

Each of the four can be absent: a clip of ∞, a ramp of no length. Learners that differ in them share a loop.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.equations import adaptive_weight, leverage
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.pending import Pending
from duelwise.learning.core.roles import weigh_arrived, weigh_observed
from duelwise.learning.core.state import Fit
from duelwise.types import Array


class Weighting(Protocol):
    """How much votes count: the frozen configuration."""

    def start(self, runs: int) -> Any:
        """Its state, with a kernel for `weigh_observed`, and for the other roles it minds.

        What it remembers of a run, beyond its settings, stands in a tuple of arrays named `memory`.
        """
        ...


def per_run(name: str, value: float | Array, runs: int, *, infinite: bool = False) -> Array:
    """(R,) a setting given once for all runs or once for each, checked to be positive and finite."""
    values = np.asarray(value, dtype=np.float64)
    if values.shape not in ((), (runs,)):
        raise InvalidInput(
            f"{name} has shape {values.shape}; expected one number, or ({runs},): one for each run."
        )
    if not np.all(values > 0) or not (infinite or np.all(np.isfinite(values))):
        raise InvalidInput(f"{name} is {value}; it must be positive{'' if infinite else ' and finite'}.")
    return np.array(np.broadcast_to(values, (runs,)))


class Weights(NamedTuple):
    """What a vote's weight follows from, at serving and on arrival."""

    served_clip: Array  # (R,) α
    arrived_clip: Array  # (R,) α
    serving_ramp: float = 0.0  # n
    arrival_ramp: float = 0.0  # n
    power: float = 0.0  # p of either ramp


def unclipped(runs: int) -> tuple[Array, Array]:
    """The clips of weights that mind no leverage."""
    return np.full(runs, np.inf), np.full(runs, np.inf)


@compiled
def ramp_weight(rank: float, length: float, power: float) -> float:
    """w = min(1, rank/length)^power."""
    return math.pow(min(1.0, rank / length), power)


@kernel(weigh_observed, Weights)
def weight_when_observed(weights: Weights, pending: Pending, r: int, slot: int) -> float:
    """(4) in V before the duel; the rank of serving."""
    weight = adaptive_weight(pending.leverage[r, slot], weights.served_clip[r])
    if weights.serving_ramp > 0.0:
        return weight * ramp_weight(pending.rank[r, slot], weights.serving_ramp, weights.power)
    return weight


@kernel(weigh_arrived, Weights)
def weight_on_arrival(weights: Weights, fit: Fit, r: int, dz: Array, weight: float) -> float:
    """RCDB's weight, (4) in W before the vote; the rank of arrival."""
    if weights.arrived_clip[r] < np.inf:
        weight = weight * adaptive_weight(leverage(dz, fit.arrived.inverse[r]), weights.arrived_clip[r])
    if weights.arrival_ramp > 0.0:
        return weight * ramp_weight(fit.admitted[r] + 1.0, weights.arrival_ramp, weights.power)
    return weight

"""How much a vote counts: always 1, or clipped by the leverage of its duel.

The weight ω = min(1, α/‖Δz‖) is fixed either when the duel's y is seen, in the
geometry V of all served duels (RCDP-UCB: no delay can change it), or when its vote
arrives, in the geometry W of the arrived ones (RCDB). A weighting is therefore two
clips α, at serving and on arrival; ∞ leaves the vote as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.types import Array


class Weighting(Protocol):
    def clips(self, runs: int) -> tuple[Array, Array]:
        """(R,) α at serving, (R,) α on arrival."""
        ...


def per_run(name: str, value: float | Array, runs: int) -> Array:
    """(R,) a setting given once for all runs or once for each, checked to be positive."""
    values = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (runs,)))
    if not np.all(values > 0):
        raise InvalidInput(f"{name} is {value}; it must be positive.")
    return values


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """ω = 1."""

    def clips(self, runs: int) -> tuple[Array, Array]:
        return np.full(runs, np.inf), np.full(runs, np.inf)


@dataclass(frozen=True, kw_only=True)
class ServedLeverage:
    """(4): ω = min(1, α/‖Δz‖_{V⁻¹}), fixed before the vote can be delayed or forged."""

    clip: float | Array  # α

    def clips(self, runs: int) -> tuple[Array, Array]:
        return per_run("clip", self.clip, runs), np.full(runs, np.inf)


@dataclass(frozen=True, kw_only=True)
class ArrivedLeverage:
    """RCDB: ω = min(1, α/‖Δz‖_{W⁻¹}) from W just before the vote is added."""

    clip: float | Array  # α

    def clips(self, runs: int) -> tuple[Array, Array]:
        return np.full(runs, np.inf), per_run("clip", self.clip, runs)

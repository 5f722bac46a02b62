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
    """How much a vote counts: where its weight is clipped, at serving and on arrival."""

    def clips(self, runs: int) -> tuple[Array, Array]:
        """(R,) α at serving, (R,) α on arrival."""
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
        return per_run("clip", self.clip, runs, infinite=True), np.full(runs, np.inf)


@dataclass(frozen=True, kw_only=True)
class ArrivedLeverage:
    """RCDB: ω = min(1, α/‖Δz‖_{W⁻¹}) from W just before the vote is added."""

    clip: float | Array  # α

    def clips(self, runs: int) -> tuple[Array, Array]:
        return np.full(runs, np.inf), per_run("clip", self.clip, runs, infinite=True)

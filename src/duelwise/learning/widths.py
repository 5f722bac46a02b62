"""How far to explore: the width c_t of the upper bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning import radii
from duelwise.learning.geometry import Geometry
from duelwise.learning.pending import Pending
from duelwise.types import Array


class Known(NamedTuple):
    """What a width may depend on."""

    round: int
    served: Geometry
    pending: Pending
    regularisation: Array  # (R,)
    curvature: Array  # (R,)


class Width(Protocol):
    def at(self, known: Known) -> Array: ...  # (R,)


@dataclass(frozen=True, kw_only=True)
class ConstantWidth:
    """c_t = c."""

    value: float | Array

    def at(self, known: Known) -> Array:
        return np.full(known.regularisation.shape, self.value, dtype=np.float64)

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.value) >= 0):
            raise InvalidInput(f"exploration_width is {self.value}; it must not be negative.")


@dataclass(frozen=True, kw_only=True)
class TheoryWidth:
    """c_t = 2β_t of (7), from budgets that are known."""

    corruption_budget: float
    delay: float  # D
    clip: float  # α
    norm_bound: float = 1.0  # M
    confidence: float = 0.05  # δ

    def at(self, known: Known) -> Array:
        dim = known.served.inverse.shape[1]
        return np.array(
            [
                2.0
                * radii.radius(
                    known.round + 1, dim=dim, regularisation=float(ridge), confidence=self.confidence,
                    norm_bound=self.norm_bound, alpha=self.clip,
                    corruption_budget=self.corruption_budget, delay=self.delay,
                )
                for ridge in known.regularisation
            ]
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ObservedWidth:
    """c_t = 2β_t from what the learner sees: log det V and the pull of the votes still out."""

    corruption_budget: float
    clip: float | Array  # α
    norm_bound: float = 1.0  # M
    confidence: float = 0.05  # δ

    def at(self, known: Known) -> Array:
        dim = known.served.inverse.shape[1]
        return 2.0 * radii.observed_radius(
            log_det_growth=known.served.log_det - dim * np.log(known.regularisation),
            pending_pull=known.pending.pull(known.served.inverse),
            curvature=known.curvature, regularisation=known.regularisation,
            confidence=self.confidence, norm_bound=self.norm_bound,
            alpha=np.asarray(self.clip), corruption_budget=self.corruption_budget,
        )  # fmt: skip

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
    """How far a rule explores in a round: c_t of every run."""

    def at(self, known: Known) -> Array: ...  # (R,)


@dataclass(frozen=True, kw_only=True)
class ConstantWidth:
    """c_t = c."""

    value: float | Array

    def at(self, known: Known) -> Array:
        return np.full(known.regularisation.shape, self.value, dtype=np.float64)

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.value)) or not np.all(np.asarray(self.value) >= 0):
            raise InvalidInput(f"exploration_width is {self.value}; it must be finite and not negative.")


@dataclass(frozen=True, kw_only=True)
class TheoryWidth:
    """c_t = 2β_t of (7), from budgets that are known."""

    corruption_budget: float
    delay: float  # D
    clip: float | Array  # α
    norm_bound: float = 1.0  # M
    confidence: float = 0.05  # δ

    def __post_init__(self) -> None:
        _check(self.corruption_budget, self.delay, self.clip, self.norm_bound, self.confidence)

    def at(self, known: Known) -> Array:
        dim = known.served.inverse.shape[1]
        return 2.0 * radii.radius(
            known.round + 1, dim=dim, regularisation=known.regularisation, confidence=self.confidence,
            norm_bound=self.norm_bound, alpha=self.clip,
            corruption_budget=self.corruption_budget, delay=self.delay,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ObservedWidth:
    """c_t = 2β_t from what the learner sees: log det V and the pull of the votes still out."""

    corruption_budget: float
    clip: float | Array  # α
    norm_bound: float = 1.0  # M
    confidence: float = 0.05  # δ

    def __post_init__(self) -> None:
        _check(self.corruption_budget, 0.0, self.clip, self.norm_bound, self.confidence)

    def at(self, known: Known) -> Array:
        dim = known.served.inverse.shape[1]
        return 2.0 * radii.observed_radius(
            log_det_growth=known.served.log_det - dim * np.log(known.regularisation),
            pending_pull=known.pending.pull(known.served.inverse),
            curvature=known.curvature, regularisation=known.regularisation,
            confidence=self.confidence, norm_bound=self.norm_bound,
            alpha=np.asarray(self.clip), corruption_budget=self.corruption_budget,
        )  # fmt: skip


def _check(
    corruption_budget: float, delay: float, clip: float | Array, norm_bound: float, confidence: float
) -> None:
    """A radius follows from budgets that are given and a clip that bounds the pull of one vote."""
    given = {"corruption_budget": corruption_budget, "delay": delay, "norm_bound": norm_bound}
    for name, value in given.items():
        if not 0 <= value < np.inf:
            raise InvalidInput(f"{name} is {value}; expected a finite number of at least 0.")
    if not 0 < confidence < 1:
        raise InvalidInput(f"confidence is {confidence}; expected the chance δ of failing, between 0 and 1.")
    if not np.all(np.isfinite(clip)):
        raise InvalidInput(
            f"clip is {clip}, so one vote may pull the estimate without bound and no radius follows. "
            "Give a finite clip, or a number as exploration_width."
        )

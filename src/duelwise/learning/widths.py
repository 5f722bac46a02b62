"""How far to explore: the width c_t of the upper bounds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.pending import pull
from duelwise.learning.core.roles import width_at
from duelwise.learning.core.state import Core
from duelwise.learning.core.state_pointer import handle
from duelwise.learning.radii import bias_terms, noise_term, seen_noise_term
from duelwise.types import Array


class Width(Protocol):
    """One that is compiled too has a method `compiled(runs)`, which gives its state to a kernel."""

    def at(self, core: Core) -> Array: ...  # (R,)


CONSTANT, THEORY, OBSERVED = range(3)


class WidthState(NamedTuple):
    """Which of the three, and what it follows from: learners that differ in it share a loop."""

    rule: int
    value: Array  # (R,) c, or a radius's α
    wrong: float = 0.0  # C + D, or C
    norm_bound: float = 0.0  # M
    confidence: float = 0.0  # δ
    feature_bound: float = 0.0  # L


@kernel(width_at, WidthState)
def width_by_rule(width: WidthState, core: Core, r: int) -> float:
    """c, or 2β_t."""
    if width.rule == CONSTANT:
        return width.value[r]
    return theory_width(width, core, r) if width.rule == THEORY else observed_width(width, core, r)


@compiled
def theory_width(width: WidthState, core: Core, r: int) -> float:
    """2β_t by (7)."""
    ridge, dim = core.fit.rules.regularisation[r], core.fit.theta.shape[1]
    growth = (core.pending.next_round[r] + 1.0) * width.feature_bound * width.feature_bound
    bias = bias_terms(ridge, width.norm_bound, width.value[r], width.wrong)
    return 2.0 * (noise_term(growth, dim, ridge, width.confidence) + bias)


@compiled
def observed_width(width: WidthState, core: Core, r: int) -> float:
    """2β_t by what is seen: log det V and the votes that are out."""
    ridge, dim = core.fit.rules.regularisation[r], core.fit.theta.shape[1]
    growth = core.served.log_det[r] - dim * math.log(ridge)
    noise = seen_noise_term(growth, core.fit.rules.curvature[r], width.confidence)
    bias = bias_terms(ridge, width.norm_bound, width.value[r], width.wrong)
    return 2.0 * (noise + bias + pull(core.pending, r, core.served.inverse[r]))


@compiled
def _at(width: Any, core: Core) -> Array:
    out = np.empty(core.fit.theta.shape[0])
    for r in range(out.shape[0]):
        out[r] = width_at(width, core, r)
    return out


class _ByKernel(ABC):
    """A width whose kernel is asked for every run."""

    def at(self, core: Core) -> Array:
        return _at(handle(self.compiled(len(core.fit.theta))), handle(core))

    @abstractmethod
    def compiled(self, runs: int) -> WidthState: ...


@dataclass(frozen=True, kw_only=True)
class ConstantWidth(_ByKernel):
    """c_t = c."""

    value: float | Array

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.value)) or not np.all(np.asarray(self.value) >= 0):
            raise InvalidInput(f"exploration_width is {self.value}; it must be finite and not negative.")

    def compiled(self, runs: int) -> WidthState:
        return WidthState(CONSTANT, _each(self.value, runs))


@dataclass(frozen=True, kw_only=True)
class TheoryWidth(_ByKernel):
    """c_t = 2β_t of (7), from budgets that are known; the appendix has 3D for D, and L for 1."""

    corruption_budget: float
    delay: float  # D
    clip: float | Array  # α
    norm_bound: float = 1.0  # M
    confidence: float = 0.05  # δ
    feature_bound: float = 1.0  # L, the longest ‖Δz‖

    def __post_init__(self) -> None:
        _check(self.corruption_budget, self.delay, self.clip, self.norm_bound, self.confidence)
        if not 0 < self.feature_bound < np.inf:
            raise InvalidInput(
                f"feature_bound is {self.feature_bound}; expected the longest ‖Δz‖, a finite number above 0."
            )

    def compiled(self, runs: int) -> WidthState:
        wrong, confidence = float(self.corruption_budget + self.delay), float(self.confidence)
        bounds = float(self.norm_bound), confidence, float(self.feature_bound)
        return WidthState(THEORY, _each(self.clip, runs), wrong, *bounds)


@dataclass(frozen=True, kw_only=True)
class ObservedWidth(_ByKernel):
    """c_t = 2β_t from what the learner sees: log det V and the pull of the votes still out."""

    corruption_budget: float
    clip: float | Array  # α
    norm_bound: float = 1.0  # M
    confidence: float = 0.05  # δ

    def __post_init__(self) -> None:
        _check(self.corruption_budget, 0.0, self.clip, self.norm_bound, self.confidence)

    def compiled(self, runs: int) -> WidthState:
        wrong, confidence = float(self.corruption_budget), float(self.confidence)
        return WidthState(OBSERVED, _each(self.clip, runs), wrong, float(self.norm_bound), confidence)


def _each(value: float | Array, runs: int) -> Array:
    """(R,) a number given once for all runs or once for each."""
    return np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (runs,)))


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

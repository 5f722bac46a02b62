"""How Θ̂ follows the votes: the full maximum likelihood, one online step, or one pass.

Configurations are frozen; `start` makes the state for R runs. An estimate owns
Θ̂ and moves the geometry W of the arrived votes, because a step may use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning import online
from duelwise.learning.geometry import Geometry
from duelwise.learning.maximum_likelihood import solve_runs
from duelwise.types import Array, IntArray, Snapshot


class Arrivals(NamedTuple):
    """Votes that arrived together, sorted by run and then by serving order."""

    start: IntArray  # (R + 1,) where each run's votes begin
    dz: Array  # (n, d)
    weight: Array  # (n,) ω fixed at serving; on return ω as learned
    outcome: Array  # (n,)
    clip: Array  # (R,) α of a weight taken from W on arrival; ∞ where it is fixed already


class Estimate(Protocol):
    """Θ̂ of R runs."""

    @property
    def theta(self) -> Array: ...  # (R, d)

    def learn(self, votes: Arrivals, arrived: Geometry) -> None: ...

    def snapshot(self) -> Snapshot: ...

    def restore(self, state: Snapshot) -> None: ...


class Estimator(Protocol):
    """The frozen configuration of an estimate."""

    def start(
        self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array
    ) -> Estimate: ...


@dataclass(frozen=True, kw_only=True)
class FullMLE:
    """(3): Θ solves the weighted, regularised estimating equation over all arrived votes.

    Solved once for each `tell`. Cost per vote grows with the votes learned so far,
    about (2d + 20) flops for each of them, and so does memory.
    """

    tolerance: float = 1e-6  # on the length of the gradient
    most_passes: int = 200

    def start(
        self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array
    ) -> MaximumLikelihood:
        if not self.tolerance > 0:
            raise InvalidInput(f"tolerance is {self.tolerance}; it bounds a length and must be positive.")
        return MaximumLikelihood(self, runs, dim, link, regularisation, curvature)


class MaximumLikelihood:
    """The state of `FullMLE`: Θ̂, the history, and warm starts for the next solution."""

    def __init__(
        self, settings: FullMLE, runs: int, dim: int, link: int, regularisation: Array, curvature: Array
    ) -> None:
        self.settings, self._link = settings, link
        self._ridge, self._curvature = regularisation, curvature
        self.theta = np.zeros((runs, dim))
        self.count = np.zeros(runs, dtype=np.int64)  # votes in the history of each run
        self.passes = np.zeros(runs, dtype=np.int64)  # passes over the history so far
        self.known = np.zeros(runs, dtype=np.int64)
        self.gradient = np.zeros((runs, dim))
        self.inverse = np.eye(dim) / regularisation[:, None, None]
        self.z = np.zeros((runs, dim, 64))  # zeros, so that equal states have equal snapshots
        self.weight = np.zeros((runs, 64))
        self.outcome = np.zeros((runs, 64))

    def learn(self, votes: Arrivals, arrived: Geometry) -> None:
        self.make_room(len(votes.outcome))
        online.arrive_and_remember(
            *votes, arrived.matrix, arrived.inverse, arrived.log_det, arrived.moves, self._curvature,
            self.z, self.weight, self.outcome, self.count,
        )  # fmt: skip
        solve_runs(
            self.z, self.weight, self.outcome, self.known, self.count, self._ridge, self._link,
            self.theta, self.gradient, self.inverse,
            self.settings.tolerance, self.settings.most_passes, self.passes,
        )  # fmt: skip

    def make_room(self, more: int) -> None:
        """Double the history's capacity until `more` votes fit into every run."""
        needed, capacity = int(self.count.max()) + more, self.weight.shape[1]
        if needed <= capacity:
            return
        while capacity < needed:
            capacity *= 2
        held = int(self.count.max())
        for name in ("z", "weight", "outcome"):
            old: Array = getattr(self, name)
            new = np.zeros((*old.shape[:-1], capacity))
            new[..., :held] = old[..., :held]
            setattr(self, name, new)

    def snapshot(self) -> Snapshot:
        held = int(self.count.max(initial=0))
        return {
            "theta": self.theta, "count": self.count, "passes": self.passes, "known": self.known,
            "gradient": self.gradient, "inverse": self.inverse, "z": self.z[..., :held],
            "weight": self.weight[..., :held], "outcome": self.outcome[..., :held],
        }  # fmt: skip

    def restore(self, state: Snapshot) -> None:
        held = int(state["count"].max(initial=0))
        self.count[...] = 0
        self.make_room(held)
        for history in (self.z, self.weight, self.outcome):
            history[...] = 0.0
        for name, value in (
            ("theta", self.theta), ("count", self.count), ("passes", self.passes), ("known", self.known),
            ("gradient", self.gradient), ("inverse", self.inverse), ("z", self.z[..., :held]),
            ("weight", self.weight[..., :held]), ("outcome", self.outcome[..., :held]),
        ):  # fmt: skip
            value[...] = state[name]


@dataclass(frozen=True, kw_only=True)
class OneStep:
    """Listing 1: θ ← θ + W⁻¹ ω(o - g(θᵀ Δz))Δz, with W after the vote was added. O(d²) per vote."""

    def start(self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array) -> OnlineStep:
        return OnlineStep(runs, dim, link, curvature)


class OnlineStep:
    """The state of `OneStep`: Θ̂ alone."""

    def __init__(self, runs: int, dim: int, link: int, curvature: Array) -> None:
        self._link, self._curvature = link, curvature
        self.theta = np.zeros((runs, dim))

    def learn(self, votes: Arrivals, arrived: Geometry) -> None:
        online.arrive_one_step(
            *votes, arrived.matrix, arrived.inverse, arrived.log_det, arrived.moves, self._curvature,
            self.theta, self._link,
        )  # fmt: skip

    def snapshot(self) -> Snapshot:
        return {"theta": self.theta}

    def restore(self, state: Snapshot) -> None:
        self.theta[...] = state["theta"]


@dataclass(frozen=True, kw_only=True)
class OnePass:
    """One online mirror-descent step per vote in its own curvature: O(d²) time, no history.

    g = ω(σ(zᵀθ) - o)z;  H̃ = H + ηω σ̇(zᵀθ) zzᵀ;  θ' = θ - ηH̃⁻¹g, projected on ‖θ'‖ ≤ B
    in the norm of H̃;  H ← H + ω σ̇(zᵀθ') zzᵀ. After Li, Qian, Zhao and Zhou; the weight ω is ours.
    """

    step_size: float = 1.0  # η
    norm_bound: float = np.inf  # B

    def start(self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array) -> SinglePass:
        if not self.step_size > 0 or not self.norm_bound > 0:
            raise InvalidInput(
                f"step_size is {self.step_size} and norm_bound {self.norm_bound}; both must be positive."
            )
        return SinglePass(self, runs, dim, link, regularisation, curvature)


class SinglePass:
    """The state of `OnePass`: Θ̂ and the inverse of H."""

    def __init__(
        self, settings: OnePass, runs: int, dim: int, link: int, regularisation: Array, curvature: Array
    ) -> None:
        self.settings, self._link, self._curvature = settings, link, curvature
        self.theta = np.zeros((runs, dim))
        self.hessian = Geometry(runs=runs, dim=dim, regularisation=regularisation)

    def learn(self, votes: Arrivals, arrived: Geometry) -> None:
        hessian = self.hessian
        online.arrive_one_pass(
            *votes, arrived.matrix, arrived.inverse, arrived.log_det, arrived.moves, self._curvature,
            self.theta, self._link, self.settings.step_size, self.settings.norm_bound,
            hessian.matrix, hessian.inverse, hessian.log_det, hessian.moves,
        )  # fmt: skip
        hessian.settle()

    def snapshot(self) -> Snapshot:
        return {"theta": self.theta} | {f"hessian.{k}": v for k, v in self.hessian.snapshot().items()}

    def restore(self, state: Snapshot) -> None:
        self.theta[...] = state["theta"]
        self.hessian.restore({k: state[f"hessian.{k}"] for k in self.hessian.snapshot()})


ESTIMATORS: dict[str, Estimator] = {"full-mle": FullMLE(), "one-step": OneStep(), "one-pass": OnePass()}

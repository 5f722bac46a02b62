"""Θ̂ by maximum likelihood over every vote that arrived."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.roles import learn, reweigh
from duelwise.learning.core.round import admit
from duelwise.learning.core.state import Arrivals, Fit
from duelwise.learning.estimation.maximum_likelihood import History, solve, start_over
from duelwise.types import AnyArray, Array, Snapshot


@kernel(learn, History)
def remember_and_solve(history: History, fit: Fit, r: int, arrivals: Arrivals) -> None:
    """(3) over the votes of before and these; one pass of Newton's steps for all of them together.

    A self-duel (Δz = 0) adds nothing to the estimating equation and is left out.
    """
    for i in range(arrivals.outcome.shape[0]):
        empty = True
        for j in range(arrivals.dz.shape[1]):
            empty = empty and arrivals.dz[i, j] == 0.0
        if empty:
            continue
        admit(fit, r, arrivals, i)
        place = int(history.held[r])
        for j in range(arrivals.dz.shape[1]):
            history.z[r, j, place] = arrivals.dz[i, j]
        history.weight[r, place], history.outcome[r, place] = arrivals.weight[i], arrivals.outcome[i]
        history.held[r] += 1
    ridge, link = fit.rules.regularisation[r], fit.rules.link
    if reweigh(fit.weigh, r, history):
        start_over(history, r, fit.theta[r], ridge, link)
        solve(history, r, fit.theta[r], ridge, link)
    elif history.held[r] > history.known[r]:
        solve(history, r, fit.theta[r], ridge, link)


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
        return MaximumLikelihood(self, runs, dim, regularisation)


class MaximumLikelihood:
    """The state of `FullMLE`: Θ̂, the history, and warm starts for the next solution."""

    def __init__(self, settings: FullMLE, runs: int, dim: int, regularisation: Array) -> None:
        self.settings = settings
        self.theta = np.zeros((runs, dim))
        count = np.zeros(runs, dtype=np.int64)
        self.history = History(
            z=np.zeros((runs, dim, 64)), weight=np.zeros((runs, 64)), outcome=np.zeros((runs, 64)),
            scratch=np.zeros((runs, 2, 64)), held=count.copy(), known=count.copy(),
            gradient=np.zeros((runs, dim)), inverse=np.eye(dim) / regularisation[:, None, None],
            passes=count.copy(), tolerance=settings.tolerance, most_passes=settings.most_passes,
        )  # fmt: skip

    @property
    def passes(self) -> AnyArray:
        """(R,) passes over the history so far."""
        return self.history.passes

    def learn(self, fit: Fit, r: int, arrivals: Arrivals) -> None:
        remember_and_solve(self.compiled(len(arrivals.outcome)), fit, r, arrivals)

    def compiled(self, more: int) -> History:
        needed, capacity = int(self.history.held.max()) + more, self.history.weight.shape[1]
        if needed > capacity:
            while capacity < needed:
                capacity *= 2
            self.history = _with_capacity(self.history, capacity)
        return self.history

    def snapshot(self) -> Snapshot:
        past = self.history
        most = int(past.held.max(initial=0))
        return {
            "theta": self.theta, "held": past.held, "passes": past.passes, "known": past.known,
            "gradient": past.gradient, "inverse": past.inverse, "z": past.z[..., :most],
            "weight": past.weight[..., :most], "outcome": past.outcome[..., :most],
        }  # fmt: skip

    def restore(self, state: Snapshot) -> None:
        self.theta[...] = state["theta"]
        self.history.held[...] = 0
        self.compiled(int(state["held"].max(initial=0)))
        past = self.history = _with_capacity(self.history, self.history.weight.shape[1])
        for name in ("held", "passes", "known", "gradient", "inverse"):
            getattr(past, name)[...] = state[name]
        for name in ("z", "weight", "outcome"):
            getattr(past, name)[..., : state[name].shape[-1]] = state[name]


def _with_capacity(past: History, capacity: int) -> History:
    """The same votes in arrays for `capacity` of them; zeros beyond, so that equal states look equal."""
    most = int(past.held.max(initial=0))

    def widened(old: Array) -> Array:
        new = np.zeros((*old.shape[:-1], capacity))
        new[..., :most] = old[..., :most]
        return new

    return past._replace(
        z=widened(past.z), weight=widened(past.weight), outcome=widened(past.outcome),
        scratch=np.zeros((*past.scratch.shape[:-1], capacity)),
    )  # fmt: skip

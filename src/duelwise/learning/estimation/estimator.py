"""What an estimate is: how Θ̂ follows the votes."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from duelwise.learning.core.dispatch import kernel_for
from duelwise.learning.core.roles import learn
from duelwise.learning.core.state import Arrivals, Fit, fill_arrays, named_arrays
from duelwise.learning.core.state_pointer import handle
from duelwise.types import Array, IntArray, Snapshot


class Estimate(Protocol):
    """Θ̂ of R runs. It also moves the geometry W of the arrived votes, because a step may use it.

    One that is compiled too has a method `compiled(more)`, which gives its state with room for `more`
    votes in every run, and a kernel for the role `learn` on that state; Θ̂ then moves in place.
    """

    @property
    def theta(self) -> Array: ...  # (R, d)

    def learn(self, fit: Fit, r: int, arrivals: Arrivals) -> None:
        """Votes of run r, in serving order. `core.round.admit` fixes a vote's weight and moves W by it."""
        ...

    def snapshot(self) -> Snapshot: ...

    def restore(self, state: Snapshot) -> None: ...


class Remembers(Protocol):
    """An estimate that also learns from what was offered, and not chosen. It has no kernel."""

    def offered(self, candidates: Array | None, arms: IntArray) -> None:
        """A pair `arms` (R, 2) of `candidates` (R, K, d) is served; None where a record does not say."""
        ...


class Estimator(Protocol):
    """The frozen configuration of an estimate."""

    def start(
        self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array
    ) -> Estimate: ...


class KernelEstimate:
    """Θ̂ and the state that its kernel works on, where nothing grows with the votes."""

    def __init__(self, state: Any, *, runs: int, dim: int) -> None:
        self.state = state
        self.theta = np.zeros((runs, dim))

    def learn(self, fit: Fit, r: int, arrivals: Arrivals) -> None:
        kernel_for(learn, self.state.__class__)(handle(self.state), fit, r, arrivals)

    def compiled(self, more: int) -> Any:
        return self.state

    def snapshot(self) -> Snapshot:
        return {"theta": self.theta} | named_arrays(self.state)

    def restore(self, state: Snapshot) -> None:
        self.theta[...] = state["theta"]
        fill_arrays(self.state, state)

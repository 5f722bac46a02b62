"""A φ̂ that is all kernels: what it predicts and learns with from Python, over many runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.jit import compiled_when_it_pays
from duelwise.learning.core.roles import absorb, predict
from duelwise.learning.core.round import absorb_seen
from duelwise.learning.core.state import fill_arrays, named_arrays
from duelwise.learning.core.state_pointer import handle
from duelwise.learning.post_serving import recursive
from duelwise.types import Array, IntArray, Snapshot


class PrecomputedPredictions(NamedTuple):
    """What a φ̂ without kernels said beforehand; it is taught from Python."""

    values: Array  # (R, K, dy)


@kernel(predict, PrecomputedPredictions)
def repeat_foreseen(model: PrecomputedPredictions, r: int, x: Array, out: Array) -> None:
    """out (K, dy)"""
    for k in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[k, j] = model.values[r, k, j]


@kernel(absorb, PrecomputedPredictions)
def absorb_elsewhere(model: PrecomputedPredictions, r: int, x: Array, y: Array) -> None:
    """Nothing is learned here."""


class KernelModel:
    """The state of a φ̂ for R runs, with kernels for `predict` and `absorb`."""

    learns_parts = True  # or fills in what it expects
    learns_in_order = True  # many pairs at once as it would one by one

    def __init__(self, state: Any, *, post_dim: int) -> None:
        self.state, self.post_dim = state, post_dim
        self._held = handle(state)
        self._least_squares = recursive.is_least_squares(state)

    @property
    def held(self) -> Any:
        """The state as kernels take it."""
        if self._held.held is not self.state:
            self._held = handle(self.state)
        return self._held

    def predict(self, x: Array) -> Array:
        return _predict_runs(self.held, np.ascontiguousarray(x), self.post_dim)

    def learn(self, run: IntArray, x: Array, y: Array) -> None:
        self.prepare_for(y)
        _absorb_pairs(self.held, run, np.ascontiguousarray(x), np.ascontiguousarray(y))

    def prepare_for(self, y: Array) -> None:
        """Single values of y (n, 2, dy) may be unknown from now on."""
        if self._least_squares and recursive.needs_separation(self.state, y):
            self.separate()

    def separate(self) -> None:
        """Get ready for single values of y that stay unknown: least squares of its own for each."""
        if self._least_squares and self.state.inverse.shape[1] < self.post_dim:
            self.state = recursive.separated(self.state, self.post_dim)

    def compiled(self) -> Any:
        return self.state

    def snapshot(self) -> Snapshot:
        if self._least_squares:
            return recursive.snapshot(self.state)
        return {name: value.copy() for name, value in named_arrays(self.state).items()}

    def restore(self, state: Snapshot) -> None:
        if self._least_squares:
            self.state = recursive.restored(self.state, state)
        else:
            fill_arrays(self.state, state)


@compiled_when_it_pays
def _predict_runs(model: Any, x: Array, post_dim: int) -> Array:
    """x (R, K, dx) → (R, K, dy)."""
    out = np.empty((x.shape[0], x.shape[1], post_dim))
    for r in range(x.shape[0]):
        predict(model, r, x[r], out[r])
    return out


@compiled_when_it_pays
def _absorb_pairs(model: Any, run: IntArray, x: Array, y: Array) -> None:
    """Served pairs in their order: run (n,), x (n, 2, dx), y (n, 2, dy)."""
    for i in range(run.shape[0]):
        absorb_seen(model, run[i], x[i], y[i])

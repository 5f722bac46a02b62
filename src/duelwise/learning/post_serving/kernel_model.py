"""A φ̂ that is all kernels: what it predicts and learns with from Python, over many runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from duelwise.learning.core.jit import compiled
from duelwise.learning.core.roles import absorb, learns_parts, predict
from duelwise.learning.core.state import fill_arrays, named_arrays
from duelwise.learning.post_serving.recursive import needs_separation, separated
from duelwise.types import Array, IntArray, Snapshot


class KernelModel:
    """The state of a φ̂ for R runs, with kernels for `predict` and `absorb`."""

    learns_parts = True  # or fills in what it expects
    learns_in_order = True  # many pairs at once as it would one by one

    def __init__(self, state: Any, *, post_dim: int) -> None:
        self.state, self.post_dim = state, post_dim

    def predict(self, x: Array) -> Array:
        return _predict_runs(self.state, np.ascontiguousarray(x), self.post_dim)

    def learn(self, run: IntArray, x: Array, y: Array) -> None:
        if hasattr(self.state, "inverse") and needs_separation(self.state.inverse, y):
            self.separate()
        _absorb_pairs(self.state, run, np.ascontiguousarray(x), np.ascontiguousarray(y))

    def separate(self) -> None:
        """Get ready for single values of y that stay unknown: least squares of its own for each."""
        if hasattr(self.state, "inverse") and self.state.inverse.shape[1] < self.post_dim:
            self.state = self.state._replace(inverse=separated(self.state.inverse, self.post_dim))

    def compiled(self) -> Any:
        return self.state

    def snapshot(self) -> Snapshot:
        return {name: value.copy() for name, value in named_arrays(self.state).items()}

    def restore(self, state: Snapshot) -> None:
        if "inverse" in state and state["inverse"].shape[1] > 1:
            self.separate()
        fill_arrays(self.state, state)


@compiled
def _predict_runs(model: Any, x: Array, post_dim: int) -> Array:
    """x (R, K, dx) → (R, K, dy)."""
    out = np.empty((x.shape[0], x.shape[1], post_dim))
    for r in range(x.shape[0]):
        predict(model, r, x[r], out[r])
    return out


@compiled
def _absorb_pairs(model: Any, run: IntArray, x: Array, y: Array) -> None:
    """Served pairs in their order: run (n,), x (n, 2, dx), y (n, 2, dy)."""
    for i in range(run.shape[0]):
        absorb_seen(model, run[i], x[i], y[i])


@compiled
def absorb_seen(model: Any, r: int, x: Array, y: Array) -> None:
    """`absorb` of a pair, x (2, dx), of whose y (2, dy) some may be unknown (NaN)."""
    gaps = False
    for side in range(2):
        for j in range(y.shape[1]):
            gaps = gaps or np.isnan(y[side, j])
    if not gaps or learns_parts(model):
        absorb(model, r, x, y)
        return
    filled = np.empty_like(y)
    predict(model, r, x, filled)
    for side in range(2):
        for j in range(y.shape[1]):
            if not np.isnan(y[side, j]):
                filled[side, j] = y[side, j]
    absorb(model, r, x, filled)

"""A φ̂ that is all kernels: what it predicts and learns with from Python, over many runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from duelwise.learning.core.jit import compiled
from duelwise.learning.core.roles import absorb, predict
from duelwise.learning.core.state import fill_arrays, named_arrays
from duelwise.types import Array, IntArray, Snapshot


class KernelModel:
    """The state of a φ̂ for R runs, with kernels for `predict` and `absorb`."""

    def __init__(self, state: Any, *, post_dim: int) -> None:
        self.state, self.post_dim = state, post_dim

    def predict(self, x: Array) -> Array:
        return _predict_runs(self.state, np.ascontiguousarray(x), self.post_dim)

    def learn(self, run: IntArray, x: Array, y: Array) -> None:
        _absorb_pairs(self.state, run, np.ascontiguousarray(x), np.ascontiguousarray(y))

    def compiled(self) -> Any:
        return self.state

    def snapshot(self) -> Snapshot:
        return {name: value.copy() for name, value in named_arrays(self.state).items()}

    def restore(self, state: Snapshot) -> None:
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
        absorb(model, run[i], x[i], y[i])

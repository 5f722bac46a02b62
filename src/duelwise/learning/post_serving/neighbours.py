"""φ̂ from the most similar items served so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.jit import compiled, compiled_over_runs
from duelwise.types import Array, IntArray, Snapshot


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The mean of the k nearest served items, nearer ones counting more.

    φ̂(x) = Σ_j w_j y_j / Σ_j w_j over the `count` nearest, w_j = 1/(‖x - x_j‖² + 10⁻¹²).
    The last `memory` items are kept, so time and memory stay bounded.
    """

    count: int = 10
    memory: int = 4096

    def __post_init__(self) -> None:
        if not 1 <= self.count <= self.memory:
            raise InvalidInput(f"Neighbours need 1 ≤ count ≤ memory; got {self}.")

    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> NeighboursModel:
        return NeighboursModel(self, len(runs), context_dim, post_dim)


class NeighboursModel:
    """The items of R runs in rings that fill up and then overwrite their oldest."""

    def __init__(self, settings: Neighbours, runs: int, context_dim: int, post_dim: int) -> None:
        self._settings = settings
        self._x = np.zeros((runs, 0, context_dim))  # (R, capacity, dx)
        self._y = np.zeros((runs, 0, post_dim))  # (R, capacity, dy)
        self._seen = np.zeros(runs, dtype=np.int64)  # (R,) items learned so far

    @property
    def post_dim(self) -> int:
        return self._y.shape[2]

    def predict(self, x: Array) -> Array:
        predict = _predict if len(x) == 1 else _predict_over_runs
        kept = np.minimum(self._seen, self._settings.memory)
        return predict(np.ascontiguousarray(x), self._x, self._y, kept, self._settings.count)

    def learn(self, run: IntArray, x: Array, y: Array) -> None:
        if self.post_dim == 0:
            return
        memory = self._settings.memory
        most = int((self._seen + 2 * np.bincount(run, minlength=len(self._seen))).max())
        self._grow(min(most, memory))
        for i, r in enumerate(run):
            for row in range(2):
                place = self._seen[r] % memory
                self._x[r, place], self._y[r, place] = x[i, row], y[i, row]
                self._seen[r] += 1

    def snapshot(self) -> Snapshot:
        kept = int(min(self._seen.max(), self._settings.memory))
        return {"x": self._x[:, :kept].copy(), "y": self._y[:, :kept].copy(), "seen": self._seen.copy()}

    def restore(self, state: Snapshot) -> None:
        self._x, self._y, self._seen = state["x"].copy(), state["y"].copy(), state["seen"].copy()

    def _grow(self, needed: int) -> None:
        """Room for `needed` items, doubling so that growth is rare."""
        extra = min(max(needed, 2 * self._x.shape[1]), self._settings.memory) - self._x.shape[1]
        if needed > self._x.shape[1]:
            pad = ((0, 0), (0, extra), (0, 0))
            self._x, self._y = np.pad(self._x, pad), np.pad(self._y, pad)


@compiled
def _mean_of_nearest(x: Array, items: Array, values: Array, kept: int, count: int, out: Array) -> None:
    """One query x (dx,) among items (capacity, dx): the answer goes to out (dy,)."""
    wanted = min(count, kept)
    distance = np.full(wanted, np.inf)  # ascending
    nearest = np.zeros(wanted, dtype=np.int64)
    for j in range(kept):
        d = 0.0
        for i in range(x.shape[0]):
            d += (x[i] - items[j, i]) ** 2
        if d < distance[wanted - 1]:
            place = wanted - 1
            while place > 0 and distance[place - 1] > d:
                distance[place], nearest[place] = distance[place - 1], nearest[place - 1]
                place -= 1
            distance[place], nearest[place] = d, j
    total = 0.0
    for j in range(wanted):
        weight = 1.0 / (distance[j] + 1e-12)  # keeps an exact repeat finite
        total += weight
        for o in range(out.shape[0]):
            out[o] += weight * values[nearest[j], o]
    if wanted > 0:
        for o in range(out.shape[0]):
            out[o] /= total


def _predict_runs(x: Array, items: Array, values: Array, kept: IntArray, count: int) -> Array:
    out = np.zeros((x.shape[0], x.shape[1], values.shape[2]))
    for r in numba.prange(x.shape[0]):
        for k in range(x.shape[1]):
            _mean_of_nearest(x[r, k], items[r], values[r], kept[r], count, out[r, k])
    return out


# A threaded kernel must not be called from several Python threads, as a server does with
# its streams of one run: those take the serial form.
_predict, _predict_over_runs = compiled(_predict_runs), compiled_over_runs(_predict_runs)

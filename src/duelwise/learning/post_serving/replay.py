"""The rows a network has seen, for R runs at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from duelwise.learning.core.jit import compiled
from duelwise.learning.post_serving.network import Floats
from duelwise.randomness import RoundDraws
from duelwise.types import AnyArray, Array, IntArray, Snapshot


class Rows:
    """Rows [x, 1, y] with weights: a run's rows are the first `count`.

    With `merge`, a self-duel's two equal rows are kept once with weight 2: the same
    mean squared error for half the work.
    """

    def __init__(self, *, runs: int, context_dim: int, post_dim: int, merge: bool) -> None:
        self._merge = merge
        self.values: Floats = np.zeros((runs, 0, context_dim + 1 + post_dim), dtype=np.float32)
        self.weight: Floats = np.zeros((runs, 0), dtype=np.float32)  # (R, capacity)
        self.count = np.zeros(runs, dtype=np.int64)  # (R,)

    def add(self, run: IntArray, x: Array, y: Array) -> None:
        """Pairs of different runs: run (n,), x (n, 2, dx), y (n, 2, dy)."""
        self._grow(int(self.count.max()) + 2)
        _add(run, x, y, self._merge, self.values, self.weight, self.count)

    def snapshot(self) -> Snapshot:
        kept = int(self.count.max())
        values, weight = self.values[:, :kept], self.weight[:, :kept]
        return {"count": self.count.copy(), "values": values.copy(), "weight": weight.copy()}

    def restore(self, state: Snapshot) -> None:
        self.values, self.weight = state["values"].copy(), state["weight"].copy()
        self.count = state["count"].copy()

    def _grow(self, needed: int) -> None:
        """Room for `needed` rows, doubling so that growth is rare."""
        capacity = self.weight.shape[1]
        if needed > capacity:
            extra = (0, max(needed, 2 * capacity) - capacity)
            self.values = np.pad(self.values, ((0, 0), extra, (0, 0)))
            self.weight = np.pad(self.weight, ((0, 0), extra))


class Sampler:
    """Which rows a step replays, as a function of (seed, run, step)."""

    def __init__(self, *, size: int, runs: Sequence[int], seed: int) -> None:
        def draw(random: np.random.Generator, steps: int) -> AnyArray:
            return random.integers(2**32, size=(steps, size), dtype=np.uint32)

        self._size = size
        self._draws = RoundDraws(seed, "network replay", runs, draw)

    def places(self, run: IntArray, step: IntArray, count: IntArray) -> IntArray:
        """(n, size) rows drawn with replacement, or 0, 1, 2, ... for a run with no more than `size`."""
        first = int(step[0])
        if (step == first).all():  # runs that learn in step, as in the laboratory
            drawn = self._draws.at(first)
        else:
            drawn = np.zeros((int(run.max()) + 1, self._size), dtype=np.uint32)
            for i, s in zip(run, step, strict=True):
                drawn[i] = self._draws.at(int(s))[i]
        return _places(drawn, run, count)


@compiled
def _add(
    run: IntArray, x: Array, y: Array, merge: bool, values: Floats, weight: Floats, count: IntArray
) -> None:
    """Append the pairs' rows to those of their runs: values (R, capacity, dx + 1 + dy)."""
    dx, dy = x.shape[2], y.shape[2]
    for i in range(run.shape[0]):
        r = int(run[i])
        same = merge
        for j in range(dx):
            same = same and x[i, 0, j] == x[i, 1, j]
        for j in range(dy):
            same = same and y[i, 0, j] == y[i, 1, j]
        for side in range(1 if same else 2):
            place = int(count[r])
            for j in range(dx):
                values[r, place, j] = x[i, side, j]
            values[r, place, dx] = 1.0
            for j in range(dy):
                values[r, place, dx + 1 + j] = y[i, side, j]
            weight[r, place] = 2.0 if same else 1.0
            count[r] += 1


@compiled
def _places(drawn: AnyArray, run: IntArray, count: IntArray) -> IntArray:
    """Integers on 0 … 2³² - 1 (R, size) → rows on 0 … count - 1 (n, size)."""
    size = drawn.shape[1]
    out = np.empty((run.shape[0], size), dtype=np.int64)
    for i in range(run.shape[0]):
        for j in range(size):
            out[i, j] = (np.int64(drawn[run[i], j]) * count[i]) >> 32 if count[i] > size else j
    return out

"""The rows a network has seen, for R runs at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
        values = np.concatenate([x, np.ones((*x.shape[:2], 1)), y], axis=2)
        merged = np.all(values[:, 0] == values[:, 1], axis=1) & self._merge
        self._put(run, values[:, 0], 1.0 + merged)
        self._put(run[~merged], values[~merged, 1], np.ones(int((~merged).sum())))

    def snapshot(self) -> Snapshot:
        kept = int(self.count.max())
        values, weight = self.values[:, :kept], self.weight[:, :kept]
        return {"count": self.count.copy(), "values": values.copy(), "weight": weight.copy()}

    def restore(self, state: Snapshot) -> None:
        self.values, self.weight = state["values"].copy(), state["weight"].copy()
        self.count = state["count"].copy()

    def _put(self, run: IntArray, values: Array, weight: Array) -> None:
        place = self.count[run]
        self.values[run, place], self.weight[run, place] = values, weight
        self.count[run] += 1

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
        drawn = np.empty((len(run), self._size), dtype=np.int64)
        for s in np.unique(step):
            drawn[step == s] = self._draws.at(int(s))[run[step == s]]
        uniform = (drawn * count[:, None]) >> 32  # on 0 … count - 1
        return np.where(count[:, None] > self._size, uniform, np.arange(self._size))

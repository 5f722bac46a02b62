"""The geometry of a set of duels: V of all served, W of those whose vote arrived."""

from __future__ import annotations

import numpy as np

from duelwise.learning.compiled import compiled
from duelwise.types import Array, IntArray, Snapshot

REFACTOR_EVERY = 100_000  # rank-one moves between exact inversions; drift stays below 1e-13


class Geometry:
    """λI + κ Σ ω Δz Δzᵀ for each run: its sum, its inverse and its log det."""

    def __init__(self, *, runs: int, dim: int, regularisation: Array) -> None:
        eye = np.eye(dim)
        self.matrix: Array = regularisation[:, None, None] * eye  # (R, d, d)
        self.inverse: Array = eye / regularisation[:, None, None]  # (R, d, d)
        self.log_det: Array = dim * np.log(regularisation)  # (R,)
        self.moves: IntArray = np.zeros(runs, dtype=np.int64)  # (R,) since the last inversion

    def settle(self) -> None:
        """Invert anew the runs whose inverse has been moved often enough to have drifted."""
        if not _any_due(self.moves, REFACTOR_EVERY):
            return
        for run in np.flatnonzero(self.moves >= REFACTOR_EVERY):
            self.inverse[run] = np.linalg.inv(self.matrix[run])
            self.log_det[run] = np.linalg.slogdet(self.matrix[run])[1]
            self.moves[run] = 0

    def snapshot(self) -> Snapshot:
        return {"matrix": self.matrix, "inverse": self.inverse, "log_det": self.log_det, "moves": self.moves}

    def restore(self, state: Snapshot) -> None:
        for name, value in self.snapshot().items():
            value[...] = state[name]


@compiled
def _any_due(moves: IntArray, most: int) -> bool:
    due = False
    for made in moves:
        due |= made >= most
    return due

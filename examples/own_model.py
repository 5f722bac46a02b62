"""A φ̂ of your own, with a kernel: y is expected to be its mean so far, whatever x."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelwise.learning.core import kernel, roles
from duelwise.learning.post_serving import KernelModel
from duelwise.types import Array


class MeanState(NamedTuple):
    total: Array  # (R, dy)
    seen: Array  # (R,)


@kernel(roles.predict, MeanState)
def predict(model: MeanState, r: int, x: Array, out: Array) -> None:
    """x (K, dx) → out (K, dy)"""
    for k in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[k, j] = model.total[r, j] / max(model.seen[r], 1.0)


@kernel(roles.absorb, MeanState)
def absorb(model: MeanState, r: int, x: Array, y: Array) -> None:
    """x (2, dx), y (2, dy)"""
    model.seen[r] += 2.0
    for j in range(y.shape[1]):
        model.total[r, j] += y[0, j] + y[1, j]


@dataclass(frozen=True)
class Mean:
    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> KernelModel:
        state = MeanState(np.zeros((len(runs), post_dim)), np.zeros(len(runs)))
        return KernelModel(state, post_dim=post_dim)

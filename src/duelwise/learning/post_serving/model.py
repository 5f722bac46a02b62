"""φ̂, the learned map from what is known before serving to what is known after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from duelwise.types import Array, IntArray, Snapshot


class PostServingModel(Protocol):
    """The state of a φ̂ for R runs. One run's predictions depend on its own pairs only.

    One that is compiled too has a method `compiled()`, which gives its state, and kernels for the roles
    `predict` and `absorb` on that state.
    """

    @property
    def post_dim(self) -> int: ...

    def predict(self, x: Array) -> Array:
        """(R, K, dx) → (R, K, dy), changing nothing."""
        ...

    def learn(self, run: IntArray, x: Array, y: Array) -> None:
        """Served pairs whose y became known: run (n,), x (n, 2, dx), y (n, 2, dy), in this order.

        Where dy is 0 there is nothing to learn, and nothing changes.
        """
        ...

    def snapshot(self) -> Snapshot: ...

    def restore(self, state: Snapshot) -> None: ...


class PostServing(Protocol):
    """The frozen configuration of a φ̂."""

    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> PostServingModel:
        """The model for these run numbers: what it draws follows from seed and number, not from position."""
        ...

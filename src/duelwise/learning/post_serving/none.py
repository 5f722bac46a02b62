"""No φ̂ at all: what is known before serving is everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from duelwise.errors import InvalidInput
from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.roles import absorb, predict
from duelwise.learning.post_serving.kernel_model import KernelModel
from duelwise.types import Array


class NothingKnown(NamedTuple):
    """There is nothing to know."""


@kernel(predict, NothingKnown)
def predict_nothing(model: NothingKnown, r: int, x: Array, out: Array) -> None:
    """out (K, 0) is full as it is."""


@kernel(absorb, NothingKnown)
def absorb_nothing(model: NothingKnown, r: int, x: Array, y: Array) -> None:
    """y (2, 0) says nothing."""


@dataclass(frozen=True)
class NoPostServing:
    """The null object, dy = 0: it predicts (R, K, 0) and has nothing to learn."""

    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> KernelModel:
        if post_dim != 0:
            raise InvalidInput(
                f"The world has {post_dim} post-serving coordinates, but no post-serving model was chosen. "
                "Choose one, such as 'spline', or take a world without post-serving context."
            )
        return KernelModel(NothingKnown(), post_dim=0)

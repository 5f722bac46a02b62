"""Thompson sampling for pairs: two draws of Θ, the best candidate under each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.equations import first_arm, second_arm
from duelwise.learning.core.roles import pair
from duelwise.learning.core.state import Sight
from duelwise.learning.selection.built_in import ByKernel
from duelwise.learning.selection.rule import Noise
from duelwise.types import Array


class TwoDrawsState(NamedTuple):
    """The number of features."""

    dim: int


@kernel(pair, TwoDrawsState)
def best_under_each_draw(draws: TwoDrawsState, sight: Sight) -> tuple[int, int]:
    """argmax_k ⟨Θ̃, ẑ_k⟩ for Θ̃ = Θ̂ + c L ε twice, where L Lᵀ = Σ⁻¹ and ε (d,) is standard normal."""
    root, d = np.linalg.cholesky(sight.inverse), draws.dim
    theta = np.empty((2, d))
    for i in range(2):
        for j in range(d):
            theta[i, j] = sight.theta[j]
            for k in range(j + 1):
                theta[i, j] += sight.width * root[j, k] * sight.noise[i * d + k]
    first = first_arm(sight.z, theta[0])
    if not sight.distinct:
        return first, first_arm(sight.z, theta[1])
    return first, second_arm(sight.z, theta[1], sight.inverse, first, 0.0, True)


@dataclass(frozen=True, kw_only=True)
class TwoDraws(ByKernel):
    """Each of the two is best under its own draw of Θ ~ N(Θ̂, c² Σ⁻¹)."""

    dim: int

    def perturbation(self, noise: Noise, round: int, arms: int) -> Array:
        return noise.normal(round, 2 * self.dim)

    def compiled(self) -> TwoDrawsState:
        return TwoDrawsState(self.dim)

"""A world with sides: the first of a pair stands on the left, and standing there is worth something."""

from __future__ import annotations

import math

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.lab.play.scenario import Chainable, Numbered
from duelwise.lab.play.world import Truth, World
from duelwise.types import Array, IntArray


class SidedWorld(Chainable):
    """Another world in which P(a beats b) = g(u_a - u_b + bias), a shown on the left.

    Regret is counted as before: what a candidate is worth does not depend on its side. Votes that people
    really gave, in worlds of recorded ones, stay as they were given.
    """

    def __init__(self, world: World, *, bias: float) -> None:
        if not math.isfinite(bias):
            raise InvalidInput(f"bias is {bias}; expected a finite number, in units of utility.")
        self._world, self._bias = world, bias
        self.runs, self.arms = world.runs, world.arms
        self.context_dim, self.post_dim = world.context_dim, world.post_dim
        if isinstance(world, Numbered):  # adversaries draw by these
            self.seed, self.run_numbers = world.seed, world.run_numbers

    def contexts(self, t: int) -> Array:
        """(R, K, dx) as in the other world."""
        return self._world.contexts(t)

    def reveal(self, t: int, x: Array) -> Truth:
        """The truth as in the other world."""
        return self._world.reveal(t, x)

    def vote(self, t: int, truth: Truth, arms: IntArray) -> Array:
        """(R,) honest votes of people who lean to the left; of a pair of the same candidate none leans."""
        utility = truth.utility.copy()
        utility[np.arange(self.runs), arms[:, 0]] += self._bias
        return self._world.vote(t, truth._replace(utility=utility), arms)

"""A world of your own: meals whose smell is known before serving, and whose taste only after."""

import numpy as np

from duelwise import randomness, types
from duelwise.lab.play.world import Truth


class Meals:
    def __init__(self, numbers: list[int]) -> None:
        self.numbers, self.runs, self.context_dim, self.post_dim, self.arms = numbers, len(numbers), 1, 1, 4

    def contexts(self, t: int) -> types.Array:  # (R, K, 1) by run number and round alone
        return np.stack([randomness.generator(3, "smell", run, t).random((4, 1)) for run in self.numbers])

    def reveal(self, t: int, x: types.Array) -> Truth:  # y (R, K, 1), utility and expected utility (R, K)
        return Truth(np.sin(5.0 * x), np.sin(5.0 * x)[..., 0], np.sin(5.0 * x)[..., 0])

    def vote(self, t: int, truth: Truth, arms: types.IntArray) -> types.Array:  # (R,) the tastier, or a tie
        return 0.5 - 0.5 * np.sign(np.diff(np.take_along_axis(truth.utility.round(1), arms, axis=1))[:, 0])

"""A world of your own: meals whose smell is known before serving, and whose taste only after."""

import numpy as np

from duelwise.lab.play.world import Truth
from duelwise.randomness import generator


class Meals:
    def __init__(self, numbers):
        self.numbers, self.runs, self.context_dim, self.post_dim, self.arms = numbers, len(numbers), 1, 1, 4

    def contexts(self, t):  # (R, K, 1) by run number and round alone
        return np.stack([generator(3, "smell", run, t).random((4, 1)) for run in self.numbers])

    def reveal(self, t, x):  # y (R, K, 1), utility and expected utility (R, K)
        return Truth(np.sin(5.0 * x), np.sin(5.0 * x)[..., 0], np.sin(5.0 * x)[..., 0])

    def vote(self, t, truth, arms):  # (R,) the tastier wins; what tastes alike to one decimal is a tie
        return 0.5 - 0.5 * np.sign(np.diff(np.take_along_axis(truth.utility.round(1), arms, axis=1))[:, 0])

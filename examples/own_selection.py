"""A selection rule of your own: the leader of RCDP-UCB against a random challenger."""

import numpy as np

from duelwise.learning.selection import View
from duelwise.types import IntArray


class LeaderAndChance:
    """first = argmax ⟨Θ, z⟩; second is drawn, and is another arm whenever the two must differ."""

    def pairs(self, view: View) -> IntArray:
        runs, arms, _ = view.z.shape
        first = np.einsum("rkd,rd->rk", view.z, view.theta).argmax(axis=1)
        score = view.noise.gumbel(view.round, arms).copy()  # (R, K) by seed, run and round alone
        if view.distinct:
            score[np.arange(runs), first] = -np.inf
        return np.stack([first, score.argmax(axis=1)], axis=1)

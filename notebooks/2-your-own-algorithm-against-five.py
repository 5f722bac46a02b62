# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Your own algorithm against five
#
# A selection rule is one method. Here: the leader of RCDP-UCB against a challenger drawn by chance.

# %%
import numpy as np

from duelwise import LinearWorld, play, rcdp_ucb, recipe
from duelwise.lab.play.delays import GaussianDelay
from duelwise.lab.report.results import interval
from duelwise.learning.recipes import PAPER_FIVE


class LeaderAndChance:
    """first = argmax of the estimated utility; second is any other."""

    def pairs(self, view):
        runs, arms, _ = view.z.shape
        first = np.einsum("rkd,rd->rk", view.z, view.theta).argmax(axis=1)
        score = view.noise.gumbel(view.round, arms).copy()  # by seed, run and round alone
        score[np.arange(runs), first] = -np.inf
        return np.stack([first, score.argmax(axis=1)], axis=1)


# %% [markdown]
# A recipe takes it in place of its own rule. Everything else, weights and estimate, stays.

# %%
late = LinearWorld(runs=5, context_dim=5, arms=6).with_delay(GaussianDelay(mean=20, std=20))
mine = rcdp_ucb(runs=5, context_dim=5, select=LeaderAndChance())
finals = {"mine": play(mine, late, horizon=300).final}
for name in PAPER_FIVE:
    finals[name] = play(recipe(name)(runs=5, context_dim=5), late, horizon=300).final
for name, final in sorted(finals.items(), key=lambda entry: entry[1].mean()):
    print(f"{name:14} {final.mean():7.1f} ± {final.std(ddof=1):5.1f}")

# %% [markdown]
# All met the same draws, so the difference is paired by run.

# %%
mean, low, high = interval(finals["mine"] - finals["rcdp-ucb"])
print(f"mine - RCDP-UCB: {mean:.1f}, 95 % interval {low:.1f} to {high:.1f}")

# %% [markdown]
# `duelwise.testing.learning.SelectionConformance` checks that a rule is pure, obeys `distinct_pair`, and
# gives the same for one run as for many.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The paper in 15 minutes
#
# One hard world, two algorithms, and what each of the paper's three ideas buys. Everything is small, so that
# it runs in a minute; the figures of the paper are `duelwise reproduce`.

# %%
import matplotlib.pyplot as plt
import numpy as np

from duelwise import LinearWorld, play, rcdb, rcdp_ucb
from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import StrategicDelay
from duelwise.lab.report.static_charts import draw_band

world = LinearWorld(runs=6, context_dim=5, arms=8, mapping="abs", seed=1)
print(world.runs, "runs,", world.arms, "candidates,", world.context_dim, "+", world.post_dim, "features")

# %% [markdown]
# ## Honest votes, at once
#
# `play` takes a learner and a world. All learners meet the same draws.


# %%
def regret(recipe, scenario, **options):
    """Cumulative regret (6, 400) of a recipe."""
    learner = recipe(runs=6, context_dim=5, **{"post_dim": 5, "post_serving": "spline", **options})
    return play(learner, scenario, horizon=400).cumulative


easy = {"rcdp-ucb": regret(rcdp_ucb, world), "rcdb": regret(rcdb, world)}
print({name: int(curve[:, -1].mean()) for name, curve in easy.items()})

# %% [markdown]
# ## What y is worth
#
# Without post-serving context the learner sees only x, and here |x| matters most.

# %%
blind = regret(rcdp_ucb, world, post_dim=0, post_serving="none")
print("with y:", int(easy["rcdp-ucb"][:, -1].mean()), " without:", int(blind[:, -1].mean()))
assert blind[:, -1].mean() > easy["rcdp-ucb"][:, -1].mean()

# %% [markdown]
# ## Late votes and lies
#
# An adversary flips the first 15 right votes and holds others back, 2,000 rounds of delay in all.

# %%
hard = world.with_delay(StrategicDelay(budget=2000)).with_corruption(StrategicCorruption(budget=15))
curves = {"rcdp-ucb": regret(rcdp_ucb, hard), "rcdb": regret(rcdb, hard)}
figure, axis = plt.subplots(figsize=(6, 3.4), dpi=80, layout="constrained")
for name, curve in curves.items():
    draw_band(axis, name, np.arange(1, 401), curve)
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Weights
#
# ω = min(1, α / leverage) makes early votes count little. A large clip α turns that off.

# %%
trusting = regret(rcdp_ucb, hard, clip=1e9)
print(
    "weighted:",
    int(curves["rcdp-ucb"][:, -1].mean()),
    " every vote counts fully:",
    int(trusting[:, -1].mean()),
)

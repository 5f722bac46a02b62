# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Late contexts
#
# Part of what matters is known only after serving: when the meal has arrived, when the answer is written.
# The learner predicts it with φ̂ when it chooses, and learns from what was really seen, in whatever order it
# comes.

# %%
import numpy as np

from duelwise import Contexts, Votes, rcdp_ucb

rng = np.random.default_rng(2)
learner = rcdp_ucb(context_dim=2, post_dim=1, estimate="one-pass", distinct_pair=True)


def truth(x):
    """y is large where both features are: (..., 2) → (..., 1)"""
    return np.abs(x[..., :1]) + 0.1 * x[..., 1:]


# %% [markdown]
# Ten duels are served before anything is known of the first. Then contexts come, last first; then votes,
# shuffled.


# %%
def ten(first):
    """Serve ten duels, then hear of them out of order."""
    duels = []
    for t in range(first, first + 10):
        duel = learner.choose(rng.uniform(-2, 2, (1, 6, 2)))
        learner.serve(duel)
        duels.append((t, duel))
    for t, duel in reversed(duels):
        learner.observe(Contexts(run=np.array([0]), round=np.array([t]), y=truth(duel.x)))
    for place in rng.permutation(10):
        t, duel = duels[place]
        y = truth(duel.x)[0, :, 0]
        learner.tell(Votes(np.array([0]), np.array([t]), np.array([float(y[0] > y[1])])))


for first in range(0, 300, 10):
    ten(first)
print("Θ̂ on x1, x2, y:", learner.theta.round(2)[0])

# %% [markdown]
# y alone decides, and the learner says so: its last coefficient is the largest. φ̂ has learned to predict it:

# %%
x = rng.uniform(-2, 2, (1, 200, 2))
error = learner.post_serving.predict(x) - truth(x)
print("spread of y:", truth(x).std().round(2), " of what φ̂ leaves:", error.std().round(2))
assert error.std() < 0.5 * truth(x).std()
assert learner.theta[0, 2] == learner.theta[0].max()

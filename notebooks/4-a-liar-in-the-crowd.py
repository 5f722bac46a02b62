# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A liar in the crowd
#
# One of four sources turns every vote round. What does it do to the learner, and how is it taken back?

# %%
import tempfile

import numpy as np

from duelwise import DecisionStream
from duelwise.stream import StreamSettings

rng = np.random.default_rng(1)
TRUTH = np.array([2.0, -1.0, 0.5])
folder = tempfile.TemporaryDirectory()
stream = DecisionStream.create(f"sqlite:///{folder.name}/votes.db", "crowd", StreamSettings(context_dim=3))


def vote(number, source):
    """One duel among five fresh candidates; the liar says the other."""
    features = rng.uniform(-1, 1, (5, 3))
    duel = stream.ask([{"id": str(i), "features": row.tolist()} for i, row in enumerate(features)])
    edge = TRUTH @ (features[duel.left.index] - features[duel.right.index])
    left = rng.random() < 1 / (1 + np.exp(-edge))
    stream.tell(duel.ticket, "left" if left != (source == "liar") else "right", source=source)


for number in range(400):
    vote(number, ("ann", "bob", "eve", "liar")[number % 4])


def learned(report):
    """The length of Θ̂, and the cosine between it and the truth."""
    estimate = np.array([one.estimate for one in report.coefficients])
    length = float(np.linalg.norm(estimate))
    return length, float(estimate @ TRUTH / length / np.linalg.norm(TRUTH))


before = learned(stream.report())
print("length {:.2f}, agreement with the truth {:.2f}".format(*before))

# %% [markdown]
# The direction survives: three of four are honest. But the lies pull Θ̂ towards zero: the learner is less
# sure of what it knows than the honest votes would make it. Once the liar is known, taking back a source
# takes out all that was learned from it, as if it had never voted.

# %%
print(stream.retract_source("liar"), "votes retracted")
stream.close()
stream = DecisionStream.open(f"sqlite:///{folder.name}/votes.db", "crowd")
after = stream.report()
print("length {:.2f}, agreement with the truth {:.2f}".format(*learned(after)))
print(after.counts["retracted"], "duels retracted")
assert learned(after)[0] > before[0]
stream.close()
folder.cleanup()

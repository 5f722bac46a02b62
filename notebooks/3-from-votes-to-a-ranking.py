# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From votes to a ranking
#
# A stream learns a utility from duels. Here four headlines; readers like numbers, and short ones a little.

# %%
import tempfile

import numpy as np

from duelwise import DecisionStream
from duelwise.stream import StreamSettings

HEADLINES = {
    "plain": [0.6, 0.0, 0.0],
    "question": [0.8, 1.0, 0.0],
    "list": [0.7, 0.0, 1.0],
    "short": [0.3, 0.0, 0.0],
}
TRUTH = np.array([-1.0, 0.3, 2.0])
settings = StreamSettings(context_dim=3, feature_names=("words", "question", "number"))

# %%
rng = np.random.default_rng(0)
folder = tempfile.TemporaryDirectory()
stream = DecisionStream.create(f"sqlite:///{folder.name}/votes.db", "headlines", settings)
offered = [{"id": name, "features": features} for name, features in HEADLINES.items()]
for reader in range(300):
    duel = stream.ask(offered, event_id=f"reader {reader}")
    edge = np.dot(TRUTH, np.subtract(HEADLINES[duel.left.id], HEADLINES[duel.right.id]))
    stream.tell(duel.ticket, "left" if rng.random() < 1 / (1 + np.exp(-edge)) else "right", source="site")
report = stream.report()
print(report.counts)

# %% [markdown]
# The report has a coefficient for each feature.

# %%
for one in report.coefficients:
    print(f"{one.feature:10} {one.estimate:+.2f} ± {one.standard_error:.2f}")

# %% [markdown]
# `rank` says how sure the order is: utility with its interval, the ranks an item may have, and the chance
# that it is the best. `settled` says whether the first may be taken for the best, though one looks after
# every vote, and about how many more votes that would take.

# %%
ranking = stream.rank(offered)
for one in ranking.items:
    print(f"{one.rank} {one.id:9} {one.utility:+.2f} [{one.low:+.2f}, {one.high:+.2f}]", end="  ")
    print(f"rank {one.rank_low} to {one.rank_high}, best with {one.probability_best:.0%}")
print(f"settled: {ranking.settled.settled}, about {ranking.settled.votes_needed} more votes needed")
assert ranking.items[0].id == "list"
stream.close()
folder.cleanup()

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
# The report has a coefficient for each feature; the ranking follows.

# %%
for one in report.coefficients:
    print(f"{one.feature:10} {one.estimate:+.2f} ± {one.standard_error:.2f}")

# %%
learned = np.array([one.estimate for one in report.coefficients])
ranking = sorted(HEADLINES, key=lambda name: -float(np.dot(learned, HEADLINES[name])))
print(ranking)
assert ranking[0] == "list"
stream.close()
folder.cleanup()

"""The learner against Algorithm 1 as it is written, fed with the literal one's duels and votes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from benchmarks.literal import Record, literal

from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import DelayModel, GaussianDelay, StrategicDelay
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.recipes import rcdp_ucb
from duelwise.types import Array, Contexts, Duel, IntArray, Snapshot

pytestmark = pytest.mark.usefixtures("one_torch_thread")


class Recorded:
    """A φ̂ that predicts what the literal one's network did in the same round."""

    def __init__(self, record: Record) -> None:
        self._record, self._learned = record, 0
        self.post_dim = record.y.shape[2]

    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> Recorded:
        return self

    def predict(self, x: Array) -> Array:
        return self._record.predicted[self._learned][None]

    def learn(self, run: IntArray, x: Array, y: Array) -> None:
        self._learned += 1

    def snapshot(self) -> Snapshot:
        return {"learned": np.array(self._learned)}

    def restore(self, state: Snapshot) -> None:
        self._learned = int(state["learned"])


@pytest.mark.parametrize("delay", [GaussianDelay(mean=100, std=100), StrategicDelay(budget=10_000)])
@pytest.mark.parametrize(("mapping", "horizon"), [("none", 1000), ("abs", 150)])
def test_same_pairs_and_same_estimate(delay: DelayModel, mapping: str, horizon: int) -> None:
    world = LinearWorld(runs=[3], mapping=mapping, seed=1)
    scenario = world.with_delay(delay).with_corruption(StrategicCorruption(budget=25))
    record = literal(scenario, horizon=horizon)
    learner = rcdp_ucb(
        runs=[3], context_dim=10, post_dim=world.post_dim, post_serving=Recorded(record), seed=1
    )
    same = 0
    for t, arms in enumerate(record.arms):
        x = record.x[t][None]
        same += np.array_equal(learner.choose(x).arms[0], arms)
        learner.serve(Duel(t, arms[None], x[:, arms], record.predicted[t][None, arms]))
        learner.observe(Contexts(np.array([0]), np.array([t]), record.y[t][None]))
        learner.tell(record.told[t])
        np.testing.assert_allclose(learner.theta[0], record.theta[t], rtol=0, atol=1e-5)
    assert same >= 0.999 * horizon  # they may part only at near-ties

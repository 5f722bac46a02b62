"""How much votes count: ramps and their audit against literal programs, and who is distrusted until when."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pytest
from scipy.optimize import root

from duelwise.errors import InvalidInput
from duelwise.learning.core.equations import widest_pair
from duelwise.learning.estimation import FullMLE
from duelwise.learning.estimation.full_mle import MaximumLikelihood
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.learner_protocol import Learned
from duelwise.learning.recipes import live, steady
from duelwise.learning.selection.distrust import Distrust
from duelwise.learning.weighting.audit import AuditedRamp
from duelwise.learning.weighting.ramps import ArrivalRamp, ServingRamp
from duelwise.learning.weighting.weights import weight_when_observed
from duelwise.types import Array, Contexts, Duel, IntArray, Votes

EXACT = FullMLE(tolerance=1e-12)


def serve(learner: DuelingLearner, x: Array, arms: tuple[int, int] = (0, 1)) -> None:
    """A duel of two rows of x, whose context is known at once."""
    round, pair = learner.round, x[list(arms)][None]
    learner.serve(Duel(round, np.array([arms]), pair, np.empty((1, 2, 0))))
    learner.observe(Contexts(np.array([0]), np.array([round]), np.empty((1, 2, 0))))


def tell(learner: DuelingLearner, round: int, outcome: float) -> Learned:
    return learner.tell(Votes(np.array([0]), np.array([round]), np.array([outcome])))


def weights(learner: DuelingLearner) -> Array:
    """Of all votes so far, in the order in which they came."""
    assert isinstance(learner.estimate, MaximumLikelihood)
    history = learner.estimate.history
    return history.weight[0, : history.held[0]]


def test_on_the_serving_ramp_the_rank_among_different_pairs_counts() -> None:
    """(i/4)² for the i-th duel of two different candidates; a self-duel between them takes no rank."""
    learner = steady(context_dim=2, corruption_budget=1, ramp_power=2.0)
    x = np.random.default_rng(0).standard_normal((7, 2, 2))
    for t in range(7):
        serve(learner, x[t], (0, 0) if t == 1 else (0, 1))
    expected = np.array([1, 1, 4, 9, 16, 16, 16]) / 16
    slots = learner.pending.slot_of[0, :7]
    np.testing.assert_allclose(learner.pending.weight[0, slots], expected)
    ramp, kernel = ServingRamp(length=4.0, power=2.0).start(1), cast("Any", weight_when_observed).py_func
    np.testing.assert_allclose([kernel(ramp, learner.pending, 0, slot) for slot in slots], expected)


def test_on_the_arrival_ramp_the_rank_of_the_vote_as_it_came_counts() -> None:
    learner = live(context_dim=2, ramp_votes=4.0, ramp_power=2.0)
    x = np.random.default_rng(0).standard_normal((6, 2, 2))
    for t in range(6):
        serve(learner, x[t])
    told = [tell(learner, t, 1.0).weight[0] for t in (5, 0, 3, 1, 4, 2)]
    np.testing.assert_allclose(told, [1 / 16, 4 / 16, 9 / 16, 1.0, 1.0, 1.0])


class LiteralAudit:
    """The ramp and its audit as the module's text has them, on a list of votes; no care for speed."""

    def __init__(self, lies: float) -> None:
        self.lies, self.weight = lies, np.empty(0)

    def audit(self, dz: Array, outcome: Array) -> int:
        """The weights (n,) after one more vote; how many blocks are believed, -1 where none was looked at."""
        n, believed = len(dz), -1
        ramp = np.minimum(1.0, np.arange(1, n + 1) / (4 * self.lies)) ** 3
        self.weight = np.append(self.weight, ramp[-1])
        marks = [2 * self.lies * 1.25**k for k in range(40)]
        if any(n - 1 < mark <= n for mark in marks):

            def equation(theta: Array) -> Array:
                return theta - dz.T @ (ramp * (outcome - 1 / (1 + np.exp(-dz @ theta))))

            lean = np.tanh(0.5 * dz @ root(equation, np.zeros(dz.shape[1]), tol=1e-12).x)
            self.weight, believed = ramp, 0
            for block in range(4):
                rows = [i for i in range(n) if block * self.lies < i + 1 <= (block + 1) * self.lies]
                along, square = ((2 * outcome - 1) * lean)[rows].sum(), (lean**2)[rows].sum()
                if rows and along / square >= 0.5:
                    self.weight[rows] = 1.0
                    believed += 1
        return believed


@pytest.mark.parametrize("seed", range(4))
def test_an_audit_believes_early_blocks_that_agree_with_the_rest(seed: int) -> None:
    """Lies in the first block, then honest votes: against the literal program vote by vote."""
    random, theta = np.random.default_rng(seed), np.array([3.0, -2.0])
    learner, literal = steady(context_dim=2, corruption_budget=3, estimate=EXACT), LiteralAudit(3.0)
    dz, outcome = np.empty((0, 2)), np.empty(0)
    seen: set[int] = set()
    for t in range(40):
        x = random.standard_normal((2, 2))
        honest = float(random.random() < 1 / (1 + math.exp(-theta @ (x[0] - x[1]))))
        dz = np.vstack((dz, x[0] - x[1]))
        outcome = np.append(outcome, 1 - honest if t < 3 else honest)
        serve(learner, x)
        tell(learner, t, outcome[-1])
        seen.add(literal.audit(dz, outcome))
        np.testing.assert_allclose(weights(learner), literal.weight, err_msg=str(t))
    assert -1 in seen
    assert max(seen) >= 2


def test_an_audit_needs_blocks_and_a_ramp_a_length() -> None:
    with pytest.raises(InvalidInput, match=r"corruption_budget is 0\.5.*at least 1"):
        AuditedRamp(corruption_budget=0.5)
    AuditedRamp(corruption_budget=1, power=0)
    for ramp in (ServingRamp, ArrivalRamp):
        for length, power in ((0.0, 1.0), (math.inf, 1.0), (1.0, -0.1), (1.0, math.inf)):
            with pytest.raises(InvalidInput, match="a power of at least 0"):
                ramp(length=length, power=power)


def test_the_widest_pair_is_shown_until_more_votes_have_come() -> None:
    random = np.random.default_rng(1)
    learner = steady(context_dim=3, corruption_budget=1, distrust_votes=6)
    differs = False
    for t in range(30):
        x = random.standard_normal((5, 3))
        widest = widest_pair(x, np.ascontiguousarray(learner.served_geometry.inverse[0]))
        duel = learner.choose(x[None])
        is_widest = tuple(duel.arms[0].tolist()) == widest
        assert is_widest or t > 6
        differs = differs or not is_widest
        serve(learner, x, (int(duel.arms[0, 0]), int(duel.arms[0, 1])))
        tell(learner, t, float(x[duel.arms[0, 0], 0] > x[duel.arms[0, 1], 0]))
    assert differs


class InPython(Distrust):
    """The same rule without a kernel."""


def test_a_rule_without_a_kernel_spreads_parallel_asks_out_as_one_with_it() -> None:
    """Asked again and again before an answer: by the pairs that are out, Θ̂ is believed less and less."""
    random = np.random.default_rng(2)
    plain = live(context_dim=3, distrust_votes=2)
    select = plain.parts.select
    assert isinstance(select, Distrust)
    own = live(context_dim=3, select=InPython(votes=2, then=select.then))
    met: set[tuple[int, ...]] = set()
    for t in range(40):
        x = random.standard_normal((4, 3)) if t < 8 else np.eye(4, 3)
        duels = [learner.choose(x[None]) for learner in (plain, own)]
        arms: list[IntArray] = [duel.arms[0] for duel in duels]
        np.testing.assert_array_equal(*arms, err_msg=str(t))
        met.add(tuple(arms[0].tolist()))
        for learner in (plain, own):
            serve(learner, x, (int(arms[0][0]), int(arms[0][1])))
            if t < 8:
                tell(learner, t, float(x[arms[0][0], 0] > x[arms[0][1], 0]))
    assert len(met) > 4

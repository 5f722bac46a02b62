"""What Python does of a round where a part has no kernel; core/round.py has the same for all others."""

from __future__ import annotations

from typing import Any

import numpy as np

from duelwise.learning import validation
from duelwise.learning.core import pending as waiting_duels
from duelwise.learning.core.batch import Ready
from duelwise.learning.core.equations import widest_pair
from duelwise.learning.core.round import knows_nothing, take_in
from duelwise.learning.core.state import EXPLORES_REQUESTED, Core
from duelwise.learning.core.state_pointer import handle
from duelwise.learning.estimation import Estimate
from duelwise.learning.learner_protocol import NOTHING, Learned, joined
from duelwise.learning.selection.rule import Selection, View
from duelwise.types import Array, IntArray


def choose(select: Selection, view: View, core: Core, x: Array) -> IntArray:
    """(R, 2) arms of candidates x (R, K, dx), by a rule or a width that has no kernel."""
    arms = _pairs(select, view)
    return _spread_out(arms, select, view, core, x) if core.fit.rules.geometry == EXPLORES_REQUESTED else arms


def _pairs(select: Selection, view: View) -> IntArray:
    runs, candidates, _ = view.z.shape
    return validation.arms(select.pairs(view), runs=runs, candidates=candidates, distinct=view.distinct)


def _spread_out(arms: IntArray, select: Selection, view: View, core: Core, x: Array) -> IntArray:
    """Exploring in S: the widest pair while nothing is known, and Θ̂ believed the less the more often the same
    pair is out."""
    times = np.zeros(len(arms))
    for r in range(len(arms)):
        pair = x[r, arms[r, 0]], x[r, arms[r, 1]]
        times[r] = waiting_duels.times_out(handle(core.pending), r, *pair, core.fit.rules.side_columns)
    if times.any():
        less = view._replace(theta=view.theta / (1.0 + times[:, None]) ** 3)
        arms = np.where(times[:, None] > 0, _pairs(select, less), arms)
    for r in range(len(arms)):
        if knows_nothing(view.theta[r]) or (times[r] > 0 and view.out[r] % 2 == 1):
            arms[r] = widest_pair(view.z[r], view.inverse[r])
    return arms


def learn(held: Any, core: Core, estimate: Estimate, ready: Ready) -> Learned:
    """What an estimate without a kernel learns from the duels that are ready; `held`: the core's handle."""
    fit, learned = core.fit, NOTHING
    for r in np.flatnonzero(ready.last > ready.first).tolist():
        arrivals = take_in(held, r, ready.ordered, int(ready.first[r]), int(ready.last[r]))
        estimate.learn(handle(fit), r, arrivals)
        fit.votes[r] += len(arrivals.outcome)
        run = np.full(len(arrivals.round), r)
        learned = joined((learned, Learned(run, arrivals.round, arrivals.weight)))
    if estimate.theta is not fit.theta:
        fit.theta[...] = estimate.theta
    return learned

"""The state of R runs of a learner, grouped by meaning. Every array has a leading run axis."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from duelwise.learning.core.geometry import Geometry
from duelwise.learning.core.monitors import Monitors
from duelwise.learning.core.pending import Pending
from duelwise.types import Array, IntArray, Snapshot

EXPLORES_SERVED, EXPLORES_ARRIVED, EXPLORES_REQUESTED = 0, 1, 2  # the geometry of the upper bounds


class Rules(NamedTuple):
    """What a learner is set to, besides its parts."""

    geometry: int  # EXPLORES_SERVED, EXPLORES_ARRIVED or EXPLORES_REQUESTED
    observed: bool  # Δz from the observed y, else from the predicted
    provisional: bool  # a vote teaches before its y where the estimate can be put right later
    distinct: bool  # whether the two of a pair must differ
    side_columns: int  # of x, the first ones: they say on which side something is shown, not what it is
    link: int
    regularisation: Array  # (R,) λ
    curvature: Array  # (R,) κ


class Scores(NamedTuple):
    """How well φ̂ foresaw what came."""

    prediction_error: Array  # (R,) Σ‖y - ŷ‖² over contexts seen
    context_spread: Array  # (R,) Σ‖y - mean y‖²
    context_mean: Array  # (R, dy)
    contexts_seen: IntArray  # (R,) two a duel


class Fit(NamedTuple):
    """What an estimate reads and moves."""

    rules: Rules
    arrived: Geometry  # W
    theta: Array  # (R, d) Θ̂
    votes: IntArray  # (R,) learned so far
    admitted: IntArray  # (R,) those of them that entered W
    weigh: Any  # the state of the weighting


class Core(NamedTuple):
    """All that a round reads and moves, but for the estimate's and φ̂'s own state."""

    fit: Fit
    served: Geometry  # V
    requested: Geometry  # S; of no run where the learner explores elsewhere
    pending: Pending
    scores: Scores
    monitors: Monitors
    select: Any  # the states of the selection rule and of the width; NoKernel where they have none
    width: Any


class Sight(NamedTuple):
    """What a selection rule may look at, for one run."""

    z: Array  # (K, d) features of the candidates, y predicted
    theta: Array  # (d,)
    inverse: Array  # (d, d) of the geometry the learner explores in
    width: float  # c_t
    distinct: bool  # whether the two must differ
    noise: Array  # (K,) what the rule asked to have drawn
    votes: int  # learned so far
    out: int  # votes that are out


class Arrivals(NamedTuple):
    """Votes of one run that are learned from together, in serving order.

    Where the outcome is NaN no vote came: Δz and ω of the votes in that row have become final.
    """

    round: IntArray  # (n,)
    dz: Array  # (n, d)
    weight: Array  # (n,) ω fixed at serving; once admitted, ω as learned
    outcome: Array  # (n,)
    leverage: Array  # (n,) ‖Δz‖ in V when ω was fixed
    rank: IntArray  # (n,) of the duel among those served of two different candidates
    row: IntArray  # (n,) where the estimate holds earlier votes of the duel, or FREE; it fills in where now
    slot: IntArray  # (n,) of the duel, FREE where it waits for nothing more
    settled: IntArray  # (n,) votes whose weight is final with this entry: none while it is provisional


class NoKernel(NamedTuple):
    """Stands for a part that is called from Python."""


def scores(*, runs: int, post_dim: int) -> Scores:
    """Nothing seen yet."""
    return Scores(
        prediction_error=np.zeros(runs),
        context_spread=np.zeros(runs),
        context_mean=np.zeros((runs, post_dim)),
        contexts_seen=np.zeros(runs, dtype=np.int64),
    )


def named_arrays(state: Any, prefix: str = "") -> Snapshot:
    """The arrays of a state tuple and of the tuples in it, by their dotted names; not copied."""
    found: Snapshot = {}
    for name, value in state._asdict().items():
        if isinstance(value, np.ndarray):
            found[prefix + name] = value
        elif hasattr(value, "_asdict"):
            found |= named_arrays(value, f"{prefix}{name}.")
    return found


def under(state: Snapshot, prefix: str) -> Snapshot:
    """The arrays whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}


def fill_arrays(state: Any, saved: Snapshot) -> None:
    """Write saved arrays into those of a state tuple."""
    for name, value in named_arrays(state).items():
        value[...] = saved[name]

"""What a stream's own log says of the sizes that the theory asks for, and of its assumptions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from duelwise.learning.scaling.ranges import Ranges, unlimited
from duelwise.stream.events import Asked, Observed, Ranged, Recorded, Told
from duelwise.theory.bounds import Sizes
from duelwise.theory.links import least_slope
from duelwise.theory.monitoring import learning_exponent
from duelwise.types import Array


@dataclass(frozen=True, kw_only=True)
class StreamSizes:
    """Counted over a log; delays in rounds, as the theory has them: duels asked before the vote came."""

    context_dim: int
    post_dim: int
    duels: int
    votes: int
    total_delay: int  # Λ that the votes took so far
    mean_delay: float  # μ
    most_pending: int  # the largest D_t
    feature_bound: float  # the largest ‖Δz‖ of a served pair, in the units that the learner sees
    learning_rate: float  # a of φ̂'s error on contexts it had not seen; NaN where there are too few

    def sizes(self, *, corruption_budget: float, norm_bound: float) -> Sizes:
        """As the bounds take them; lies cannot be counted in a log and must be named."""
        return Sizes(
            context_dim=self.context_dim, post_dim=self.post_dim, horizon=max(1, self.duels),
            corruption_budget=corruption_budget, mean_delay=self.mean_delay, norm_bound=norm_bound,
            curvature=least_slope(norm_bound, self.feature_bound),
        )  # fmt: skip


def read_log(
    events: Iterable[Recorded], *, context_dim: int, post_dim: int, ranges: Ranges | None = None
) -> StreamSizes:
    """Count what the theory asks for, features in units of the last ranges; by default as they come."""
    dim = context_dim + post_dim
    ranges = ranges or unlimited(runs=1, dim=dim)
    asked: dict[int, Asked] = {}
    voted: set[int] = set()
    lateness: list[int] = []
    errors: list[float] = []
    pairs: list[Array] = []
    most = 0

    def note(duel: Asked, y: Array) -> None:
        if np.isnan(y).any():  # it comes again with what is missing
            return
        pairs.append(np.concatenate([duel.x, y], axis=1))
        if post_dim:
            errors.append(float(np.linalg.norm(y - duel.predicted, axis=1).mean()))

    for recorded in events:
        event = recorded.event
        if isinstance(event, Asked):
            asked[event.round] = event
            most = max(most, len(asked) - len(voted))
            if event.y is not None or post_dim == 0:
                note(event, np.empty((2, 0)) if event.y is None else event.y)
        elif isinstance(event, Observed) and event.round in asked:
            note(asked[event.round], event.y)
        elif isinstance(event, Told) and event.round in asked and event.round not in voted:
            voted.add(event.round)
            lateness.append(len(asked) - 1 - event.round)
        elif isinstance(event, Ranged):
            ranges = Ranges(event.centre[None], event.half[None], event.reach[None])
    return StreamSizes(
        context_dim=context_dim, post_dim=post_dim, duels=len(asked), votes=len(voted),
        total_delay=sum(lateness), mean_delay=float(np.mean(lateness)) if lateness else 0.0,
        most_pending=most, feature_bound=_longest(pairs, ranges, dim),
        learning_rate=learning_exponent(np.array(errors)),
    )  # fmt: skip


def _longest(pairs: list[Array], ranges: Ranges, dim: int) -> float:
    """The largest ‖Δz‖ of some pairs (2, d); what ranges hold of sides, before the features, is left out."""
    z = np.stack([np.zeros((2, dim)), *pairs])  # the first for a log without any
    width = ranges.centre.shape[1]
    units = ranges.part(width - dim, width).scaled(z.reshape(1, -1, dim)).reshape(z.shape)
    return float(np.linalg.norm(units[:, 0] - units[:, 1], axis=1).max())

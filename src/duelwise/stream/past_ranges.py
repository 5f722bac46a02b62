"""Ranges for a stream that is made from the log of another: all of its past is known at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from duelwise.learning.scaling import ScaledLearner
from duelwise.learning.scaling.range_learning import estimated
from duelwise.stream.events import Asked, Observed, Ranged, Recorded
from duelwise.types import Array

ENOUGH_DUELS = 32  # with fewer the new stream learns its ranges by itself


def ranges_of_log(
    inputs: ScaledLearner,
    past: Sequence[Recorded],
    features: Callable[[Array], Array],
    context: Callable[[Array], Array],
) -> Ranged | None:
    """Ranges for good from a log that noted no bounds, as 0.1 wrote it; None where they are learned anew.

    Such a log holds only the pairs that were served, most of them again and again: each different
    candidate counts once.
    """
    asked = [recorded.event for recorded in past if isinstance(recorded.event, Asked)]
    if inputs.settled or len(asked) < ENOUGH_DUELS or any(one.bounds is not None for one in asked):
        return None
    events = [recorded.event for recorded in past if isinstance(recorded.event, Asked | Observed)]
    x = _distinct([features(one.x) for one in asked], inputs.context_dim)
    y = _distinct([context(one.y) for one in events if one.y is not None], inputs.post_dim)
    centre, half, reach = (values[0] for values in estimated(inputs.ranges, inputs.learned, x, y))
    return Ranged(centre, half, reach, settled=True)


def _distinct(pairs: Sequence[Array], dim: int) -> Array:
    """(n, 1, 2, dim) every different row of some pairs once, as its own least and greatest."""
    fitting = [pair for pair in pairs if pair.shape == (2, dim)]  # others are refused where they are recorded
    rows = np.unique(np.concatenate([np.empty((0, dim)), *fitting]), axis=0)
    return np.repeat(rows[:, None, None], 2, axis=2)

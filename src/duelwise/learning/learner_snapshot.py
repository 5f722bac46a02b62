"""A learner's whole state as named arrays, and such arrays put back into it."""

from __future__ import annotations

from typing import Any

import numpy as np

from duelwise.learning.core import pending as waiting_duels
from duelwise.learning.core.state import Core, NoKernel, fill_arrays, named_arrays, under
from duelwise.learning.estimation import Estimate
from duelwise.learning.post_serving.model import PostServingModel
from duelwise.types import Snapshot


def snapshot_of(core: Core, estimate: Estimate, model: PostServingModel) -> Snapshot:
    """Copies of all arrays, by dotted names."""
    groups: dict[str, Snapshot] = {
        "served": core.served._asdict(), "arrived": core.fit.arrived._asdict(),
        "fit": {"votes": core.fit.votes, "admitted": core.fit.admitted},
        "scores": core.scores._asdict(), "weigh": named_arrays(_memory(core)),
        "pending": waiting_duels.snapshot(core.pending), "estimate": estimate.snapshot(),
        "post_serving": model.snapshot(),
    }  # fmt: skip
    if core.requested.moves.size:
        groups["requested"] = core.requested._asdict()
    if core.monitors.duels.size:
        groups["monitors"] = core.monitors._asdict()
    return {f"{group}.{name}": np.array(held[name]) for group, held in groups.items() for name in held}


def filled(core: Core, estimate: Estimate, model: PostServingModel, state: Snapshot) -> Core:
    """The core with these arrays in it, once the estimate and φ̂ have taken theirs."""
    groups: dict[str, Any] = {
        "served": core.served, "arrived": core.fit.arrived, "requested": core.requested,
        "scores": core.scores, "fit": core.fit, "monitors": core.monitors,
    }  # fmt: skip
    for group, arrays in groups.items():
        for name, value in under(state, f"{group}.").items():
            getattr(arrays, name)[...] = value
    fill_arrays(_memory(core), under(state, "weigh."))
    estimate.restore(under(state, "estimate."))
    model.restore(under(state, "post_serving."))
    core.fit.theta[...] = estimate.theta
    return core._replace(pending=waiting_duels.restored(under(state, "pending."), like=core.pending))


def _memory(core: Core) -> Any:
    """What the weighting remembers."""
    return getattr(core.fit.weigh, "memory", NoKernel())

"""What the parts of a learner do in a round, by the kind of part: the roles of dispatch.py."""

from __future__ import annotations

from typing import Any

from duelwise.learning.core.dispatch import optional_role, role
from duelwise.learning.core.pending import Pending
from duelwise.learning.core.state import Arrivals, Core, Fit, Sight
from duelwise.types import Array


@role
def pair(select: Any, sight: Sight) -> tuple[int, int]:
    """Selection: which two candidates meet, first and second."""
    raise NotImplementedError


@role
def width_at(width: Any, core: Core, r: int) -> float:
    """Width: c_t of run r's next round."""
    raise NotImplementedError


@optional_role
def weigh_served(weigh: Any, pending: Pending, r: int, slot: int) -> float:
    """Weighting: ω of run r's duel in this slot, which is being served."""
    return 1.0


@role
def weigh_observed(weigh: Any, pending: Pending, r: int, slot: int) -> float:
    """Weighting: ω of run r's duel in this slot, whose Δz and leverage in V have just become known."""
    raise NotImplementedError


@optional_role
def weigh_arrived(weigh: Any, fit: Fit, r: int, dz: Array, weight: float) -> float:
    """Weighting: ω of a vote as it arrives, Δz (d,), from W before the vote is added to it."""
    return weight


@optional_role
def reweigh(weigh: Any, fit: Fit, r: int, history: Any) -> bool:
    """Weighting: before a solve over the whole history; True where weights in it were changed."""
    return False


@optional_role
def keeps_votes(estimate: Any) -> bool:
    """Estimation: whether a vote can be put right after it was learned."""
    return False


@role
def learn(estimate: Any, fit: Fit, r: int, arrivals: Arrivals) -> None:
    """Estimation: Θ̂ of run r follows these votes, each of them `admit`ted first."""
    raise NotImplementedError


@role
def predict(model: Any, r: int, x: Array, out: Array) -> None:
    """φ̂: what run r expects of x (K, dx) after serving, into out (K, dy)."""
    raise NotImplementedError


@role
def absorb(model: Any, r: int, x: Array, y: Array) -> None:
    """φ̂: run r learns from a served pair, x (2, dx) and y (2, dy)."""
    raise NotImplementedError


@optional_role
def learns_parts(model: Any) -> bool:
    """φ̂: whether `absorb` takes NaN for what is not known of y; what it expects is filled in otherwise."""
    return False

"""What adversaries do to a vote: the roles of corruption and delay models in compiled code.

A model at work that is compiled too has a method `compiled(begin, runs)`, which gives its state for the
block of rounds that starts at `begin`, and a kernel for its role on that state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from duelwise.learning.core.dispatch import role
from duelwise.learning.core.jit import compiled
from duelwise.types import Array, BoolArray, IntArray, Served


class Sent(NamedTuple):
    """What a strong adversary may know of a vote, for one run."""

    first: int  # the arms of the pair
    second: int
    utility: Array  # (K,)
    outcome: float  # as the voter gave it
    weight: float  # ω, where it is fixed at serving; 1 otherwise
    leverage: float  # ‖Δz‖ in the geometry of all duels served before
    pending: int  # votes that are out, this one included


@role
def wants_flip(corruption: Any, at: int, r: int, sent: Sent) -> bool:
    """Corruption: whether to flip this vote of run r; `at` is the round's place in its block."""
    raise NotImplementedError


@role
def wanted_delay(delay: Any, at: int, r: int, sent: Sent) -> int:
    """Delay: how many rounds late this vote of run r shall be; `at` is the round's place in its block."""
    raise NotImplementedError


@compiled
def _sent(served: Served, outcome: Array, utility: Array, r: int) -> Sent:
    return Sent(
        served.arms[r, 0], served.arms[r, 1], utility[r], outcome[r],
        served.weight[r], served.leverage[r], served.pending[r],
    )  # fmt: skip


@compiled
def flips_over_runs(corruption: Any, at: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
    """(R,) the kernel's answer for every run."""
    wanted = np.empty(outcome.shape[0], np.bool_)
    for r in range(wanted.shape[0]):
        wanted[r] = wants_flip(corruption, at, r, _sent(served, outcome, utility, r))
    return wanted


@compiled
def delays_over_runs(delay: Any, at: int, served: Served, utility: Array) -> IntArray:
    """(R,) the kernel's answer for every run; delays do not look at outcomes."""
    wanted, unknown = np.empty(utility.shape[0], np.int64), np.full(utility.shape[0], np.nan)
    for r in range(wanted.shape[0]):
        wanted[r] = wanted_delay(delay, at, r, _sent(served, unknown, utility, r))
    return wanted

"""What a weighting is, and settings that each run may have its own of."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.types import Array


class Weighting(Protocol):
    """How much votes count: the frozen configuration."""

    def start(self, runs: int) -> Any:
        """Its state, with a kernel for `weigh_observed`, and for the other roles it minds.

        What it remembers of a run, beyond its settings, stands in a tuple of arrays named `memory`.
        """
        ...


def per_run(name: str, value: float | Array, runs: int, *, infinite: bool = False) -> Array:
    """(R,) a setting given once for all runs or once for each, checked to be positive and finite."""
    values = np.asarray(value, dtype=np.float64)
    if values.shape not in ((), (runs,)):
        raise InvalidInput(
            f"{name} has shape {values.shape}; expected one number, or ({runs},): one for each run."
        )
    if not np.all(values > 0) or not (infinite or np.all(np.isfinite(values))):
        raise InvalidInput(f"{name} is {value}; it must be positive{'' if infinite else ' and finite'}.")
    return np.array(np.broadcast_to(values, (runs,)))

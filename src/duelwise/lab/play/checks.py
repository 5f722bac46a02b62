"""Settings are checked once, where a world, an adversary or a simulation is made."""

from __future__ import annotations

import math

from duelwise.errors import InvalidInput
from duelwise.learning.validation import check_whole as check_whole  # one text for learners and worlds

LARGEST = 2**63 - 1
"""What a kernel can count to."""


def check_number(name: str, value: float, *, least: float, most: float = math.inf) -> None:
    """Refuse NaN, infinity and anything outside [least, most]."""
    if not (math.isfinite(value) and least <= value <= most):
        upper = "" if most == math.inf else f" and at most {most:g}"
        raise InvalidInput(f"{name} is {value!r}. Expected a finite number of at least {least:g}{upper}.")

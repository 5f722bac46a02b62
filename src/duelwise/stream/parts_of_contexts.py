"""Contexts that come in parts: what is known of a ticket's pair so far, and what a request adds to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from duelwise.errors import Conflict
from duelwise.types import Array, BoolArray


class Merged(NamedTuple):
    """What is known once a request was taken."""

    y: Array  # (2, dy) NaN where nothing is known
    fresh: BoolArray  # (2, dy) not known before


def merge(known: Array, given: Array, ticket: str) -> Merged:
    """Known and given values (2, dy) together; another value for a known one is a conflict."""
    both = ~np.isnan(known) & ~np.isnan(given)
    if not np.array_equal(known[both], given[both]):
        raise Conflict(
            f"Ticket {ticket} already has another context. A value is recorded once; "
            "retract the ticket if the first one was wrong."
        )
    fresh = np.isnan(known) & ~np.isnan(given)
    return Merged(np.where(fresh, given, known), fresh)

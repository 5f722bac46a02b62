"""What a stream and the client of a service answer alike: a side that is shown, and a receipt.

This needs no other package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two that are shown."""

    id: str | None
    index: int  # its position among the candidates


class Receipt(NamedTuple):
    """The answer to everything but an ask: the ticket's state, and whether this request changed it."""

    ticket: str
    state: str
    changed: bool
    vote: str | None = None  # the vote's own id, to retract it by

"""Candidates of several asks, gathered in their order, to be chosen from in one compiled call."""

from __future__ import annotations

import numpy as np

from duelwise.learning.core.group import Offers
from duelwise.learning.core.state_pointer import handle
from duelwise.types import Array, IntArray

ROOM = 128  # asks
NUMBERS = 10_000  # of all their candidates: of more, choosing takes so long that a call more does not matter


class AskBatch:
    """Arrays to be filled. `columns` of x, the first ones, depend on the side on which an item is shown."""

    def __init__(self, *, context_dim: int, columns: int) -> None:
        rows = NUMBERS // context_dim
        self.offers = Offers(
            begin=np.zeros(ROOM + 1, np.int64), x=np.zeros((rows, context_dim)),
            shown=np.zeros((ROOM, 2, columns)), wanted=np.zeros(ROOM, np.int64),
            beyond=np.zeros((ROOM, context_dim), np.int64),
        )  # fmt: skip
        self.handle, self._rows = handle(self.offers), rows
        self._length = self._filled = 0

    def __len__(self) -> int:
        return self._length

    def add(self, x: Array, shown: Array, wanted: int) -> bool:
        """Candidates x (K, dx) on no side, the columns of both sides (2, c), and how many votes are wanted.

        False where there is no room.
        """
        held, at, begin = self.offers, self._length, self._filled
        end = begin + len(x)
        if at == ROOM or end > self._rows:
            return False
        held.x[begin:end], held.shown[at], held.wanted[at] = x, shown, wanted
        self._length, self._filled = at + 1, end
        held.begin[at + 1] = end
        return True

    def beyond(self, count: int) -> IntArray:
        """(count, dx) how many candidates of each feature lie beyond the bounds, of the first offers."""
        return self.offers.beyond[:count].copy()

    def clear(self) -> None:
        """Nothing gathered."""
        self._length = self._filled = 0

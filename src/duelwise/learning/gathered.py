"""Events of one run, gathered in their order, to happen in one compiled call."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from duelwise.learning.core.sequence import HEARING, OBSERVING, SERVING, Sequence
from duelwise.types import Array, Contexts, Duel, Event, IntArray, Votes

RUN: IntArray = np.zeros(1, dtype=np.int64)


class Gathered:
    """Columns that grow: of every event its kind and round, of each kind what it says."""

    def __init__(self, *, context_dim: int, post_dim: int) -> None:
        self._context_dim, self._post_dim = context_dim, post_dim
        self.kind: list[int] = []
        self.round: list[int] = []
        self._row: list[int] = []
        self._arms: list[IntArray] = []  # (2,)
        self._wanted: list[int] = []
        self._x: list[Array] = []  # (2, dx)
        self._predicted: list[Array] = []  # (2, dy)
        self._offered: list[Array | None] = []  # (2, dx)
        self._y: list[Array] = []  # (2, dy)
        self._imputed: list[bool] = []
        self._outcome: list[float] = []

    def __len__(self) -> int:
        return len(self.kind)

    def serve(
        self, round: int, arms: IntArray, x: Array, predicted: Array, offered: Array | None, wanted: int
    ) -> None:
        """A duel: arms (2,), x (2, dx), predicted (2, dy), offered (2, dx)."""
        self._append(SERVING, round, len(self._x))
        self._arms.append(arms)
        self._x.append(x)
        self._predicted.append(predicted)
        self._offered.append(offered)
        self._wanted.append(wanted)

    def observe(self, round: int, y: Array, *, imputed: bool = False) -> None:
        """What became known of a duel: y (2, dy), NaN where it did not."""
        self._append(OBSERVING, round, len(self._y))
        self._y.append(y)
        self._imputed.append(imputed)

    def tell(self, round: int, outcome: float) -> None:
        """A vote."""
        self._append(HEARING, round, len(self._outcome))
        self._outcome.append(outcome)

    def _append(self, kind: int, round: int, row: int) -> None:
        self.kind.append(kind)
        self.round.append(round)
        self._row.append(row)

    @property
    def duels(self) -> int:
        return len(self._x)

    @property
    def offers(self) -> list[Array | None]:
        """(2, dx) least and greatest of what each duel was chosen from, where it was noted."""
        return self._offered

    def sequence(self) -> Sequence:
        """The events as arrays."""
        return Sequence(
            kind=np.array(self.kind, np.int64), round=np.array(self.round, np.int64),
            row=np.array(self._row, np.int64),
            arms=np.array(self._arms, np.int64).reshape(-1, 2), wanted=np.array(self._wanted, np.int64),
            x=np.array(self._x, np.float64).reshape(-1, 2, self._context_dim),
            predicted=np.array(self._predicted, np.float64).reshape(len(self._x), 2, self._post_dim),
            y=np.array(self._y, np.float64).reshape(len(self._y), 2, self._post_dim),
            imputed=np.array(self._imputed, np.int64), outcome=np.array(self._outcome, np.float64),
        )  # fmt: skip

    def one_by_one(self) -> Iterator[Event]:
        """The events as a learner takes them singly."""
        for kind, round, row in zip(self.kind, self.round, self._row, strict=True):
            if kind == SERVING:
                offered = self._offered[row]
                yield Duel(
                    round, self._arms[row][None], self._x[row][None], self._predicted[row][None],
                    None if offered is None else offered[None], self._wanted[row],
                )  # fmt: skip
            elif kind == OBSERVING:
                yield Contexts(RUN, np.array([round]), self._y[row][None], self._imputed[row])
            else:
                yield Votes(RUN, np.array([round]), np.array([self._outcome[row]]))

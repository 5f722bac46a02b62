"""The values that pass between the parts.

Every array has a leading run axis R: the laboratory runs many seeds at once,
a live stream is R = 1. Rounds count from 0 and are the same for all runs of a
batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]

Snapshot = dict[str, AnyArray]
"""State as named arrays: what a snapshot writes and a restore reads. Never pickle."""


class Duel(NamedTuple):
    """A pair chosen, recorded or imported, one for each run."""

    round: int
    arms: IntArray  # (R, 2) positions among the candidates: leader, challenger
    x: Array  # (R, 2, dx) what was known of the two before serving
    predicted: Array  # (R, 2, dy) what φ̂ expected of them at that time
    offered: Array | None = None  # (R, 2, dx) least and greatest of all candidates, where it was noted
    wanted: int = 1  # votes
    candidates: Array | None = None  # (R, K, d) all of them, y predicted, where the learner remembers them


class Contexts(NamedTuple):
    """What became known of served pairs: some runs, any order, in as many parts as it takes."""

    run: IntArray  # (n,)
    round: IntArray  # (n,)
    y: Array  # (n, 2, dy) NaN where it is not known yet, or known from an earlier part
    imputed: bool = False  # nobody saw it: it is what φ̂ expects, because it was waited for long enough


class Votes(NamedTuple):
    """Outcomes that arrived: some runs, any order, as many of a duel as it was served for."""

    run: IntArray  # (n,)
    round: IntArray  # (n,)
    outcome: Array  # (n,) 1: the first of the pair won, 0: the second, ½: a tie
    source: IntArray | None = None  # (n,) the number of the rater who gave it, where raters are told apart


class Forgotten(NamedTuple):
    """A duel that waits for its vote no longer: skipped, expired or retracted."""

    run: int
    round: int


class Taught(NamedTuple):
    """Contexts of duels that wait for nothing any more: only φ̂ learns from them."""

    run: IntArray  # (n,)
    x: Array  # (n, 2, dx)
    y: Array  # (n, 2, dy) NaN where it is not known


Event = Duel | Contexts | Votes | Forgotten | Taught
"""What can happen to a learner. Replaying events never chooses again."""


class Served(NamedTuple):
    """What a strong adversary may know of the round just served."""

    round: int
    arms: IntArray  # (R, 2)
    dz: Array  # (R, d) the difference of the pair as the learner sees it
    weight: Array  # (R,) ω, where it is fixed at serving; 1 otherwise
    leverage: Array  # (R,) ‖Δz‖ in the geometry of all duels served before
    pending: IntArray  # (R,) votes that are out, this one included

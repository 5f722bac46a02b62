"""Sorting a batch of served pairs by run, keeping each run's own order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from duelwise.learning.core.jit import compiled
from duelwise.types import IntArray


@compiled
def by_run(run: IntArray, runs: int) -> tuple[IntArray, IntArray]:
    """The pairs of run r are `order[start[r]:start[r + 1]]`: run (n,) → order (n,), start (R+1,)."""
    start = np.zeros(runs + 1, dtype=np.int64)
    for r in run:
        start[r + 1] += 1
    for r in range(runs):
        start[r + 1] += start[r]
    place = start.copy()
    order = np.empty(len(run), dtype=np.int64)
    for i in range(len(run)):
        order[place[run[i]]] = i
        place[run[i]] += 1
    return order, start


def waves(run: IntArray) -> Iterator[IntArray]:
    """Positions in `run` such that each wave has a run at most once: first pairs, second pairs, ..."""
    if len(run) == 0:
        return
    runs = int(run.max()) + 1
    order, start = by_run(run, runs)
    sizes = np.diff(start)
    for turn in range(int(sizes.max())):
        yield order[start[:-1][sizes > turn] + turn]

"""Many asks, or many events of one run, in one compiled call: a round itself is written in round.py.

A call from Python costs ten times what a small step computes. Each event is still a step of its own,
with a solution of its own, so the numbers are those of one call after another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from duelwise.learning.core.batch import FINE, choose_one, hear, learn, observe, serve
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.state import Core, Handle
from duelwise.types import Array, IntArray

SERVED, SERVED_KNOWN, OBSERVED, TOLD = 0, 1, 2, 3  # kinds of steps; SERVED_KNOWN: y was known at once


@compiled
def choose_each(
    handle: Handle[Core], x: Array, predicted: Array, noise: Array
) -> tuple[IntArray, Array, Array]:
    """A pair for each ask, all of the first run as it is now: x (n, K, dx), predicted (n, K, dy), noise (K,).

    Arms (n, 2) and their (n, 2, dx), (n, 2, dy).
    """
    core = handle.held
    n, K, dx = x.shape
    dy = predicted.shape[2]
    arms, pair_x = np.empty((n, 2), dtype=np.int64), np.empty((n, 2, dx))
    pair_predicted, z = np.empty((n, 2, dy)), np.empty((K, dx + dy))
    for i in range(n):
        first, second = choose_one(core, 0, x[i], predicted[i], noise, z)
        arms[i, 0], arms[i, 1] = first, second
        for side in range(2):
            for j in range(dx):
                pair_x[i, side, j] = x[i, arms[i, side], j]
            for j in range(dy):
                pair_predicted[i, side, j] = predicted[i, arms[i, side], j]
    return arms, pair_x, pair_predicted


@compiled
def fold(
    handle: Handle[Core], estimate: Handle[Any], kind: IntArray, round: IntArray,
    arms: IntArray, x: Array, predicted: Array, y: Array, vote: Array,
) -> tuple[int, int, IntArray, Array]:  # fmt: skip
    """Steps of the first run in order: kind, round and vote (n,), arms (n, 2), x (n, 2, dx); ŷ, y (n, 2, dy).

    How many were taken, the verdict on the next where not all were, and the round and weight of every
    vote that was learned. x of a step that brings a context is filled in, for φ̂ to learn from.
    """
    n, learned = kind.shape[0], 0
    run, one = np.zeros(1, dtype=np.int64), np.empty(1, dtype=np.int64)
    rounds, weights = np.empty(n, dtype=np.int64), np.empty(n)
    for i in range(n):
        one[0] = round[i]
        verdict, start, ready = FINE, run, run[:0]
        if kind[i] == TOLD:
            verdict, _, start, ready = hear(handle, run, one, vote[i : i + 1])
        elif kind[i] != OBSERVED:
            verdict = serve(handle, arms[i : i + 1], x[i : i + 1], predicted[i : i + 1])
        if verdict == FINE and (kind[i] == SERVED_KNOWN or kind[i] == OBSERVED):
            verdict, _, pair, start, ready = observe(handle, run, one, y[i : i + 1])
            if verdict == FINE:
                x[i] = pair[0]
        if verdict != FINE:
            return i, verdict, rounds[:learned], weights[:learned]
        if ready.shape[0] > 0:
            _, found, weight = learn(handle, estimate, start, ready)
            for k in range(found.shape[0]):
                rounds[learned], weights[learned] = found[k], weight[k]
                learned += 1
    return n, FINE, rounds[:learned], weights[:learned]

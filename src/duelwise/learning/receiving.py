"""Compiled checks and moves for contexts and votes as they are handed in.

A check looks at everything before anything is changed, so a call is taken whole
or refused whole.
"""

from __future__ import annotations

import numpy as np

from duelwise.learning.compiled import compiled
from duelwise.learning.equations import adaptive_weight, add_duel, leverage
from duelwise.learning.pending import DONE, FREE, OBSERVED, SERVED
from duelwise.types import Array, IntArray

# The verdicts of a check.
FINE, NO_SUCH_RUN, NEVER_SERVED, FINISHED, REPEATED, NOT_FINITE, NO_OUTCOME = 0, 1, 2, 3, 4, 5, 6


@compiled
def find(
    run: IntArray, round: IntArray, index: IntArray, base: int, next_round: int, runs: int, slots: IntArray
) -> tuple[int, int]:
    """Look every (run, round) up into slots (n,); the verdict and the position it speaks of."""
    for i in range(run.shape[0]):
        if run[i] < 0 or run[i] >= runs:
            return NO_SUCH_RUN, i
        if round[i] < 0 or round[i] >= next_round:
            return NEVER_SERVED, i
        slots[i] = index[round[i] - base] if round[i] >= base else FREE
        if slots[i] == FREE:
            return FINISHED, i
    return FINE, 0


@compiled
def check_contexts(
    run: IntArray, round: IntArray, y: Array, index: IntArray, base: int, next_round: int,
    state: IntArray, slots: IntArray,
) -> tuple[int, int]:  # fmt: skip
    """Whether every context is finite and its duel waits for one: y (n, 2, dy)."""
    verdict, at = find(run, round, index, base, next_round, state.shape[1], slots)
    if verdict != FINE:
        return verdict, at
    for i in range(run.shape[0]):
        if state[slots[i], run[i]] == DONE:
            return FINISHED, i
        if not np.isfinite(y[i]).all():
            return NOT_FINITE, i
    marked = 0  # a duel named twice meets its own mark
    while marked < run.shape[0] and state[slots[marked], run[marked]] == SERVED:
        state[slots[marked], run[marked]] = -SERVED
        marked += 1
    for i in range(marked):
        state[slots[i], run[i]] = SERVED
    return (FINE, 0) if marked == run.shape[0] else (REPEATED, marked)


@compiled
def take_votes(
    run: IntArray, round: IntArray, vote: Array, index: IntArray, base: int, next_round: int,
    state: IntArray, outcome: Array, out: IntArray, slots: IntArray,
) -> tuple[int, int]:  # fmt: skip
    """Write all votes (n,) to their duels if each is 0, ½ or 1 and its duel waits for one; else none."""
    verdict, at = find(run, round, index, base, next_round, state.shape[1], slots)
    if verdict != FINE:
        return verdict, at
    for i in range(run.shape[0]):
        if state[slots[i], run[i]] == DONE:
            return FINISHED, i
        if vote[i] != 0.0 and vote[i] != 0.5 and vote[i] != 1.0:
            return NO_OUTCOME, i
    written = 0
    while written < run.shape[0] and np.isnan(outcome[slots[written], run[written]]):
        outcome[slots[written], run[written]] = vote[written]
        out[run[written]] -= 1
        written += 1
    if written == run.shape[0]:
        return FINE, 0
    for i in range(written):
        outcome[slots[i], run[i]] = np.nan
        out[run[i]] += 1
    return REPEATED, written


@compiled
def observe(
    run: IntArray, slots: IntArray, y: Array, use_observed: bool, clip: Array, curvature: Array,
    state: IntArray, outcome: Array, x: Array, predicted: Array, dz: Array, weight: Array, norm: Array,
    matrix: Array, inverse: Array, log_det: Array, moves: IntArray,
    error: Array, spread: Array, mean: Array, seen: IntArray,
) -> int:  # fmt: skip
    """Fix Δz and ω of each duel, move V by it, and keep score of φ̂'s predictions.

    ω is (4) in V before this duel; V moves by (1). Prequential: error (R,) sums the squared
    error of the predictions made at serving, spread (R,) the squared deviation of y from its
    running mean (R, dy), so that their ratio says what φ̂ explains. Returns how many of the duels
    had a vote waiting.
    """
    had_vote = 0
    dx, dy = x.shape[3], y.shape[2]
    for i in range(run.shape[0]):
        r, s = int(run[i]), int(slots[i])
        for j in range(dx):
            dz[s, r, j] = x[s, r, 0, j] - x[s, r, 1, j]
        for j in range(dy):
            if use_observed:
                dz[s, r, dx + j] = y[i, 0, j] - y[i, 1, j]
            else:
                dz[s, r, dx + j] = predicted[s, r, 0, j] - predicted[s, r, 1, j]
        for side in range(2):
            seen[r] += 1
            for j in range(dy):
                error[r] += (y[i, side, j] - predicted[s, r, side, j]) ** 2
                before = y[i, side, j] - mean[r, j]
                mean[r, j] += before / seen[r]
                spread[r] += before * (y[i, side, j] - mean[r, j])
        norm[s, r] = leverage(dz[s, r], inverse[r])
        weight[s, r] = adaptive_weight(norm[s, r], clip[r])
        log_det[r] += add_duel(matrix[r], inverse[r], dz[s, r], curvature[r] * weight[s, r])
        moves[r] += 1
        state[s, r] = OBSERVED
        had_vote += not np.isnan(outcome[s, r])
    return had_vote


@compiled
def take_ready(
    run: IntArray, slots: IntArray, runs: int, round: IntArray, state: IntArray, outcome: Array,
    dz: Array, weight: Array,
) -> tuple[IntArray, IntArray, IntArray, Array, Array, Array]:  # fmt: skip
    """Of these duels, those that have both context and vote: done, and out of waiting.

    Sorted by run and serving order: where each run's begin (R + 1,), their runs and slots (n,),
    Δz (n, d), ω (n,) and votes (n,).
    """
    n, most = 0, round.max() + 1
    key, chosen = np.empty(run.shape[0], dtype=np.int64), np.empty(run.shape[0], dtype=np.int64)
    start = np.zeros(runs + 1, dtype=np.int64)
    for i in range(run.shape[0]):
        if state[slots[i], run[i]] == OBSERVED and not np.isnan(outcome[slots[i], run[i]]):
            key[n] = run[i] * most + round[slots[i]]
            chosen[n] = i
            start[run[i] + 1] += 1
            n += 1
    for r in range(runs):
        start[r + 1] += start[r]
    order = np.argsort(key[:n], kind="mergesort")
    ready_run, ready_slot = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    ready_dz, ready_weight, ready_vote = np.empty((n, dz.shape[2])), np.empty(n), np.empty(n)
    for k in range(n):
        i = int(chosen[order[k]])
        r, s = int(run[i]), int(slots[i])
        ready_run[k], ready_slot[k] = r, s
        ready_dz[k], ready_weight[k], ready_vote[k] = dz[s, r], weight[s, r], outcome[s, r]
        state[s, r] = DONE
    return start, ready_run, ready_slot, ready_dz, ready_weight, ready_vote


@compiled
def pair_features(x: Array, predicted: Array, arms: IntArray) -> tuple[Array, Array]:
    """x (R, K, dx), predicted (R, K, dy), arms (R, 2) → (R, 2, dx), (R, 2, dy) of the two."""
    runs = arms.shape[0]
    pair_x, pair_predicted = np.empty((runs, 2, x.shape[2])), np.empty((runs, 2, predicted.shape[2]))
    for r in range(runs):
        for side in range(2):
            pair_x[r, side] = x[r, arms[r, side]]
            pair_predicted[r, side] = predicted[r, arms[r, side]]
    return pair_x, pair_predicted


@compiled
def gather_pairs(x: Array, slots: IntArray, run: IntArray) -> Array:
    """x (slots, R, 2, dx) → (n, 2, dx) of the duels named."""
    out = np.empty((run.shape[0], 2, x.shape[3]))
    for i in range(run.shape[0]):
        out[i] = x[slots[i], run[i]]
    return out


@compiled
def all_finite(values: Array) -> bool:
    """Whether no value is NaN or infinite: any contiguous array."""
    flat = values.ravel()
    total = 0.0  # 0·v is 0 for every finite v and NaN otherwise: no branch in the loop
    for i in range(flat.shape[0]):
        total += 0.0 * flat[i]
    return total == 0.0


@compiled
def pairs_fit(arms: IntArray, candidates: int, distinct: bool) -> bool:
    """Whether every pair (R, 2) names candidates, and two of them where they must differ."""
    fit = True
    for r in range(arms.shape[0]):
        fit &= 0 <= arms[r, 0] < candidates and 0 <= arms[r, 1] < candidates
        fit &= not distinct or arms[r, 0] != arms[r, 1]
    return fit

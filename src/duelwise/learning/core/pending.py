"""Served duels that still wait for their context or their vote.

A slot holds one duel of one run and is free again when that duel waits for nothing, so memory follows
what is pending. `slot_of` is a ring: the slot of a round stands at the round modulo its length, which
spans at least from the oldest round that waits to the newest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from duelwise.learning.core.equations import leverage
from duelwise.learning.core.jit import also_compiled, compiled
from duelwise.types import AnyArray, Array, IntArray, Snapshot

DONE, SERVED, OBSERVED = 0, 1, 2  # states of a duel; observed when all of y is known or imputed
FREE = -1
LOOK_BACK = 1024  # rounds in which an unanswered pair is looked for
SLOTS, SPAN = 8, 64  # to begin with; both double when they are full


class Pending(NamedTuple):
    """The waiting duels of R runs."""

    slot_of: IntArray  # (R, span) the slot of a round, FREE where nobody waits
    round: IntArray  # (R, slots)
    state: IntArray  # (R, slots)
    arms: IntArray  # (R, slots, 2)
    x: Array  # (R, slots, 2, dx)
    predicted: Array  # (R, slots, 2, dy)
    y: Array  # (R, slots, 2, dy) NaN where it is not known yet
    dz: Array  # (R, slots, d) with what was predicted in place of what is not known
    weight: Array  # (R, slots)
    leverage: Array  # (R, slots)
    rank: IntArray  # (R, slots) of the duel among those served of two different candidates, from 1
    wanted: IntArray  # (R, slots) votes
    heard: IntArray  # (R, slots) votes that came
    waiting: IntArray  # (R, slots, 3) those of them that are not learned yet, by outcome
    row: IntArray  # (R, slots) where an estimate that keeps its votes holds the duel's, FREE if nowhere
    provisional: IntArray  # (R, slots) 1 where that row was learned before y was known
    unused: IntArray  # (R, slots) a stack of slots, of this height:
    free: IntArray  # (R,)
    oldest: IntArray  # (R,) no round before it waits
    next_round: IntArray  # (R,)
    distinct: IntArray  # (R,) duels of two different candidates so far
    out: IntArray  # (R,) votes that are still out
    most_out: IntArray  # (R,) at any time


ROWS = (
    "round", "state", "arms", "x", "predicted", "y", "dz", "weight", "leverage",
    "rank", "wanted", "heard", "waiting", "row", "provisional",
)  # fmt: skip
"""What is kept of one duel."""
COUNTS = ("next_round", "distinct", "out", "most_out")
"""What is kept of a run."""


def pending(*, runs: int, context_dim: int, post_dim: int, slots: int = SLOTS, span: int = SPAN) -> Pending:
    """Nobody waits."""
    count, each = np.zeros(runs, dtype=np.int64), np.zeros((runs, slots), dtype=np.int64)
    return Pending(
        slot_of=np.full((runs, span), FREE, dtype=np.int64),
        round=np.full((runs, slots), FREE, dtype=np.int64),
        state=np.full((runs, slots), DONE, dtype=np.int64),
        arms=np.zeros((runs, slots, 2), dtype=np.int64),
        x=np.zeros((runs, slots, 2, context_dim)),
        predicted=np.zeros((runs, slots, 2, post_dim)),
        y=np.full((runs, slots, 2, post_dim), np.nan),
        dz=np.zeros((runs, slots, context_dim + post_dim)),
        weight=np.ones((runs, slots)),
        leverage=np.zeros((runs, slots)),
        rank=each.copy(), wanted=each.copy(), heard=each.copy(),
        waiting=np.zeros((runs, slots, 3), dtype=np.int64),
        row=np.full((runs, slots), FREE, dtype=np.int64), provisional=each.copy(),
        unused=np.tile(np.arange(slots), (runs, 1)),
        free=np.full(runs, slots, dtype=np.int64),
        oldest=count.copy(), next_round=count.copy(), distinct=count.copy(),
        out=count.copy(), most_out=count.copy(),
    )  # fmt: skip


@compiled
def has_room(held: Pending, rounds: int) -> bool:
    """Whether every run can take in this many duels more."""
    fits = True
    for r in range(held.free.shape[0]):
        fits &= held.free[r] >= rounds
        fits &= held.next_round[r] + rounds - held.oldest[r] <= held.slot_of.shape[1]
    return fits


def with_room(held: Pending, rounds: int) -> Pending:
    """The same duels with places for this many more in every run."""
    slots, span = held.round.shape[1], held.slot_of.shape[1]
    waiting = slots - int(held.free.min())
    reach = int((held.next_round - held.oldest).max()) + rounds
    while slots < waiting + rounds:
        slots *= 2
    while span < reach:
        span *= 2
    if (slots, span) == (held.round.shape[1], held.slot_of.shape[1]):
        return held
    return restored(snapshot(held), like=held, slots=slots, span=span)


@compiled
def take_slot(held: Pending, r: int) -> int:
    """A slot for run r's next round; there must be room."""
    held.free[r] -= 1
    slot = int(held.unused[r, held.free[r]])
    round = held.next_round[r]
    held.slot_of[r, round % held.slot_of.shape[1]] = slot
    held.round[r, slot] = round
    held.next_round[r] += 1
    return slot


@also_compiled
def find(held: Pending, r: int, round: int) -> int:
    """The slot of a round of run r, FREE if nobody waits for it."""
    if round < held.oldest[r] or round >= held.next_round[r]:
        return FREE
    return held.slot_of[r, round % held.slot_of.shape[1]]


@compiled
def release(held: Pending, r: int, slot: int) -> None:
    """Run r's duel in this slot waits for nothing any more."""
    span = held.slot_of.shape[1]
    held.row[r, slot], held.provisional[r, slot] = FREE, 0
    held.slot_of[r, held.round[r, slot] % span] = FREE
    held.round[r, slot] = FREE
    held.state[r, slot] = DONE
    held.unused[r, held.free[r]] = slot
    held.free[r] += 1
    while held.oldest[r] < held.next_round[r] and held.slot_of[r, held.oldest[r] % span] == FREE:
        held.oldest[r] += 1


@compiled
def times_out(held: Pending, r: int, first: Array, second: Array, side_columns: int) -> int:
    """How often run r has asked for these two, x (dx,) each, without an answer, among its newest rounds.

    On whichever side they were shown, which the first columns say.
    """
    last = max(held.oldest[r], held.next_round[r] - LOOK_BACK)
    slots, count = held.round.shape[1], 0
    if slots <= held.next_round[r] - last:  # one duel that waits long must not make every look long
        for slot in range(slots):
            if held.round[r, slot] >= last and _is_out(held, r, slot, first, second, side_columns):
                count += 1
        return count
    for round in range(last, held.next_round[r]):
        slot = find(held, r, round)
        if slot != FREE and _is_out(held, r, slot, first, second, side_columns):
            count += 1
    return count


@compiled
def _is_out(held: Pending, r: int, slot: int, first: Array, second: Array, side_columns: int) -> bool:
    """Whether the duel in this slot is of these two and lacks a vote."""
    if held.heard[r, slot] >= held.wanted[r, slot]:
        return False
    as_asked, other_way, j = True, True, side_columns
    while (as_asked or other_way) and j < first.shape[0]:
        one, two = held.x[r, slot, 0, j], held.x[r, slot, 1, j]
        as_asked = as_asked and one == first[j] and two == second[j]
        other_way = other_way and two == first[j] and one == second[j]
        j += 1
    return as_asked or other_way


@compiled
def pull(held: Pending, r: int, inverse: Array) -> float:
    """Σ ω‖Δz‖_{V⁻¹} over run r's duels whose vote is out, in serving order: inverse (d, d)."""
    total = 0.0
    for round in range(held.oldest[r], held.next_round[r]):
        slot = find(held, r, round)
        if slot != FREE and held.state[r, slot] == OBSERVED and held.heard[r, slot] == 0:
            total += held.weight[r, slot] * leverage(held.dz[r, slot], inverse)
    return total


def snapshot(held: Pending) -> Snapshot:
    """Only what waits, by run and in serving order: equal states have equal snapshots."""
    runs, slots = np.nonzero(held.round != FREE)
    order = np.lexsort((held.round[runs, slots], runs))
    runs, slots = runs[order], slots[order]
    rows: dict[str, AnyArray] = {name: getattr(held, name)[runs, slots] for name in ROWS}
    count = np.bincount(runs, minlength=len(held.free))
    return rows | {"count": count} | {name: getattr(held, name).copy() for name in COUNTS}


def restored(state: Snapshot, *, like: Pending, slots: int = SLOTS, span: int = SPAN) -> Pending:
    """The duels of a snapshot, in arrays of at least these sizes and otherwise shaped as those of `like`."""
    runs, count = len(like.free), state["count"]
    run = np.repeat(np.arange(runs), count)
    place = np.arange(len(run)) - np.repeat(np.cumsum(count) - count, count)
    oldest = state["next_round"].copy()
    np.minimum.at(oldest, run, state["round"])
    while slots < count.max(initial=0):
        slots *= 2
    while span < (state["next_round"] - oldest).max(initial=0):
        span *= 2
    held = pending(
        runs=runs, context_dim=like.x.shape[-1], post_dim=like.predicted.shape[-1], slots=slots, span=span
    )
    for name in ROWS:
        getattr(held, name)[run, place] = state[name]
    held.slot_of[run, state["round"] % span] = place
    held.unused[...] = np.arange(slots)[::-1]  # the top of the stack is the first slot in use
    held.free[...] = slots - count
    held.oldest[...] = oldest
    for name in COUNTS:
        getattr(held, name)[...] = state[name]
    return held

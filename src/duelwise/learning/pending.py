"""Served duels that still wait for their context or their vote.

A slot holds one round for all runs and is free again when no run waits for
anything there, so memory follows what is pending. `index` maps a round to its
slot; it spans from the oldest round that waits to the newest.
"""

from __future__ import annotations

import numpy as np

from duelwise.learning.compiled import compiled
from duelwise.learning.equations import leverage
from duelwise.types import AnyArray, Array, Duel, IntArray, Snapshot

DONE, SERVED, OBSERVED = 0, 1, 2  # states of a duel; a vote that waits for y stands in `outcome`
FREE = -1
FIELDS = ("round", "state", "arms", "x", "predicted", "dz", "weight", "leverage", "outcome")


class Pending:
    """The waiting duels of R runs."""

    def __init__(self, *, runs: int, context_dim: int, post_dim: int) -> None:
        self._runs = runs
        self.base = 0  # the round that index[0] stands for
        self.next_round = 0
        self.out: IntArray = np.zeros(runs, dtype=np.int64)  # (R,) duels whose vote is still out
        self.index = _no_slots(64)  # (span,)
        self.round = _no_slots(8)  # (slots,) FREE where unused
        self.state = np.zeros((8, runs), dtype=np.int64)
        self.arms = np.zeros((8, runs, 2), dtype=np.int64)
        self.x = np.zeros((8, runs, 2, context_dim))
        self.predicted = np.zeros((8, runs, 2, post_dim))
        self.dz = np.zeros((8, runs, context_dim + post_dim))
        self.weight = np.ones((8, runs))
        self.leverage = np.zeros((8, runs))
        self.outcome = np.full((8, runs), np.nan)
        self._free: IntArray = np.arange(8)  # a stack
        self._free_count = 8

    def add(self, duel: Duel) -> int:
        """Take a duel in for every run; returns its slot."""
        if self.next_round - self.base >= self.index.shape[0]:
            self._slide()
        slot = self._take_slot(self.next_round)
        self.state[slot] = SERVED
        self.arms[slot] = duel.arms
        self.x[slot] = duel.x
        self.predicted[slot] = duel.predicted
        self.dz[slot] = 0.0
        self.weight[slot] = 1.0
        self.leverage[slot] = 0.0
        self.outcome[slot] = np.nan
        self.out += 1
        self.next_round += 1
        return slot

    def slot(self, round: int) -> int:
        """The slot of a round, FREE if nobody waits for it."""
        known = self.base <= round < self.next_round
        return int(self.index[round - self.base]) if known else FREE

    def release(self, slots: IntArray) -> None:
        """Free the slots among these in which no run waits any more."""
        self._free_count = _release(
            slots, self.state, self.round, self.index, self.base, self._free, self._free_count
        )

    def pull(self, inverse: Array) -> Array:
        """(R,) Σ ω‖Δz‖_{V⁻¹} over duels whose vote is out: inverse (R, d, d)."""
        waiting = self.index[: self.next_round - self.base]
        return _pull(waiting, self.state, self.outcome, self.dz, self.weight, inverse)

    def _take_slot(self, round: int) -> int:
        if self._free_count == 0:
            self._grow()
        self._free_count -= 1
        slot = int(self._free[self._free_count])
        self.index[round - self.base] = slot
        self.round[slot] = round
        return slot

    def _grow(self) -> None:
        """Twice the slots, when none is free."""
        slots = len(self.round)
        for name in FIELDS:
            old: AnyArray = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        self.round[slots:] = FREE
        self._free = np.zeros(2 * slots, dtype=np.int64)
        self._free[:slots] = np.arange(slots, 2 * slots)
        self._free_count = slots

    def _slide(self) -> None:
        """Drop the rounds before the oldest that waits; widen the index if that frees too little."""
        oldest = int(self.round[self.round != FREE].min(initial=self.next_round))
        kept = self.index[oldest - self.base : self.next_round - self.base]
        size = len(self.index) * (2 if 2 * len(kept) > len(self.index) else 1)
        self.index = _no_slots(size)
        self.index[: kept.shape[0]] = kept
        self.base = oldest

    def snapshot(self) -> Snapshot:
        """Only what waits, in serving order: equal states have equal snapshots."""
        slots = self.index[: self.next_round - self.base]
        slots = slots[slots != FREE]
        held: Snapshot = {name: getattr(self, name)[slots] for name in FIELDS}
        return held | {"next_round": np.array(self.next_round), "out": self.out}

    def restore(self, state: Snapshot) -> None:
        self.__init__(runs=self._runs, context_dim=self.x.shape[-1], post_dim=self.predicted.shape[-1])
        rounds: list[int] = state["round"].tolist()
        self.next_round = int(state["next_round"])
        self.out[...] = state["out"]
        self.base = rounds[0] if rounds else self.next_round
        while self.next_round - self.base > len(self.index):
            self.index = _no_slots(2 * len(self.index))
        for row, round in enumerate(rounds):
            slot = self._take_slot(round)
            for name in FIELDS:
                getattr(self, name)[slot] = state[name][row]


def _no_slots(size: int) -> IntArray:
    return np.full(size, FREE, dtype=np.int64)


@compiled
def _release(
    slots: IntArray, state: IntArray, round: IntArray, index: IntArray, base: int, free: IntArray, count: int
) -> int:
    for i in range(slots.shape[0]):
        slot = int(slots[i])
        if round[slot] != FREE and not state[slot].any():
            index[round[slot] - base] = FREE
            round[slot] = FREE
            free[count] = slot
            count += 1
    return count


@compiled
def _pull(
    waiting: IntArray, state: IntArray, outcome: Array, dz: Array, weight: Array, inverse: Array
) -> Array:
    total = np.zeros(state.shape[1])
    for i in range(waiting.shape[0]):  # in serving order, so that the sum does not depend on the slots
        slot = int(waiting[i])
        if slot == FREE:
            continue
        for r in range(state.shape[1]):
            if state[slot, r] == OBSERVED and np.isnan(outcome[slot, r]):
                total[r] += weight[slot, r] * leverage(dz[slot, r], inverse[r])
    return total

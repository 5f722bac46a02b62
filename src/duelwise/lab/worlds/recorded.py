"""Votes that people really gave: drawn from the recorded ones of a pair, else from a Bradley-Terry fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelwise.lab.worlds.items import BradleyTerry, Items, ItemWorld
from duelwise.types import AnyArray, Array, BoolArray, IntArray

FIT_STEPS = 50  # Newton on a strictly convex potential: far fewer are needed


class VoteRecord(NamedTuple):
    """n recorded votes between numbered things."""

    first: IntArray  # (n,)
    second: IntArray  # (n,)
    outcome: Array  # (n,) 1: the first won, 0: the second, ½: a tie


class RecordedVotes:
    """One of the recorded votes of the pair, each as likely; without any, Bradley-Terry on the utilities."""

    def __init__(self, record: VoteRecord, *, things: int) -> None:
        self._things, self._fit = things, BradleyTerry()
        swapped = record.first > record.second
        pair = self._pair(record.first, record.second)
        order = np.argsort(pair, kind="stable")
        self._outcome = np.where(swapped, 1.0 - record.outcome, record.outcome)[order]  # of the lower number
        self._known, self._start = np.unique(pair[order], return_index=True)
        self._count = np.diff(np.append(self._start, len(order)))

    def outcomes(self, first: IntArray, second: IntArray, lead: Array, chance: Array) -> Array:
        known, place = self._find(first, second)
        pick = self._start[place] + (chance * self._count[place]).astype(np.int64)
        drawn = self._outcome[pick]
        drawn = np.where(first > second, 1.0 - drawn, drawn)
        return np.where(known, drawn, self._fit.outcomes(first, second, lead, chance))

    def known(self, first: IntArray, second: IntArray) -> BoolArray:
        """Whether the pair has recorded votes."""
        return self._find(first, second)[0]

    def _find(self, first: IntArray, second: IntArray) -> tuple[BoolArray, IntArray]:
        pair = self._pair(first, second)
        place = np.minimum(np.searchsorted(self._known, pair), len(self._known) - 1)
        return self._known[place] == pair, place

    def _pair(self, first: IntArray, second: IntArray) -> IntArray:
        return np.minimum(first, second) * self._things + np.maximum(first, second)


class RecordedWorld(ItemWorld):
    """An item world that can say how often its votes were people's own."""

    def __init__(
        self, items: Items, record: VoteRecord, *, runs: tuple[int, ...], seed: int, arms: int
    ) -> None:
        self._rule = RecordedVotes(record, things=len(items.utility))
        super().__init__(items, runs=runs, seed=seed, arms=arms, votes=self._rule)

    def recorded_share(self, arms: AnyArray) -> Array:
        """(R,) of the served pairs (R, T, 2) of two different things, the share voted on from the record."""
        hits, distinct = np.zeros(self.runs), np.zeros(self.runs)
        for t in range(arms.shape[1]):
            pair = np.take_along_axis(self.rows(t), arms[:, t], axis=1)
            hits += self._rule.known(pair[:, 0], pair[:, 1])
            distinct += pair[:, 0] != pair[:, 1]
        return hits / np.maximum(distinct, 1.0)


@dataclass(frozen=True, kw_only=True)
class StrengthFit:
    """Bradley-Terry strengths u = F β + s by penalised maximum likelihood, ties counted as half a win.

    min over (β, s) of Σ log(1 + e^-m) + (1 - o) m + ½ ridge (‖β‖² + ‖s‖²), m = u_first - u_second
    """

    ridge: float = 1.0

    def strengths(self, features: Array, record: VoteRecord) -> Array:
        """features (N, d) → (N,)"""
        things = len(features)
        basis = np.concatenate([features, np.eye(things)], axis=1)
        rows = basis[record.first] - basis[record.second]  # (n, d + N)
        weights = np.zeros(rows.shape[1])
        for _ in range(FIT_STEPS):
            chance = 1.0 / (1.0 + np.exp(-rows @ weights))
            gradient = rows.T @ (chance - record.outcome) + self.ridge * weights
            if np.abs(gradient).max() < 1e-8:
                break
            bend = (rows * (chance * (1.0 - chance))[:, None]).T @ rows + self.ridge * np.eye(len(weights))
            weights = weights - np.linalg.solve(bend, gradient)
        return basis @ weights

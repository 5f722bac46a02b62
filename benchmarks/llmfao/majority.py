"""Raters held against the majority of the others on the same two answers: no model at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.llmfao.reading import Vote

LEAST = 20  # votes that can be compared
LOW = -3.0  # standard errors
VALUE = {"left": 0.5, "right": -0.5, "tie": 0.0}


class Agreement(NamedTuple):
    """Of one rater."""

    worker: str
    compared: int
    share: float
    z: float  # standard errors from the share of all raters

    @property
    def near_chance(self) -> bool:
        return self.z < LOW


def agreements(votes: Sequence[Vote]) -> list[Agreement]:
    """Every rater with enough votes, least agreement first; ties and undecided pairs say nothing."""
    asked: dict[tuple[int, str, str], list[Vote]] = defaultdict(list)
    for vote in votes:
        asked[vote.prompt, vote.left, vote.right].append(vote)
    hits: dict[str, list[float]] = defaultdict(list)
    for same in asked.values():
        whole = sum(VALUE[vote.winner] for vote in same)
        for vote in same:
            others, own = whole - VALUE[vote.winner], VALUE[vote.winner]
            if others and own:
                hits[vote.worker].append(float((others > 0) == (own > 0)))
    if not hits:
        return []
    usual = float(np.mean([one for all in hits.values() for one in all]))
    found = [
        Agreement(
            worker, len(all), float(np.mean(all)),
            (float(np.mean(all)) - usual) / max(float(np.sqrt(usual * (1 - usual) / len(all))), 1e-9),
        )
        for worker, all in hits.items() if len(all) >= LEAST
    ]  # fmt: skip
    return sorted(found, key=lambda one: one.z)

"""How well votes are foreseen: each is predicted before it is learned from (prequential)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from duelwise.learning.core.jit import also_compiled, compiled
from duelwise.types import Array, IntArray, Snapshot

BINS = 10  # of the chance given to the first of the pair, of equal width
AT_FIRST = 100  # votes that "at first" speaks of, and as many "now"
LEAST_CHANCE = 1e-12
MANY = 64  # votes that are worth compiled code


class Foresight(NamedTuple):
    """Sums over the votes so far. A tie counts half for either side."""

    chance: Array  # (BINS,) Σ of the chances given
    won: Array  # (BINS,) Σ of the outcomes
    votes: IntArray  # (BINS,)
    log_loss: Array  # (1,) Σ
    hits: Array  # (1,) Σ of votes whose likelier side won
    first_hits: Array  # (1,) the same over the first votes
    recent: Array  # (AT_FIRST,) the latest, in a ring


class Foreseen(NamedTuple):
    """What the sums say; None before the first vote."""

    votes: int
    accuracy: float  # the share of votes foreseen
    accuracy_at_first: float  # over the first hundred
    accuracy_now: float  # over the latest hundred
    log_loss: float
    log_loss_of_a_coin: float
    calibration: tuple[CalibrationBin, ...]
    calibrated: bool  # every bin's share of wins lies within three standard errors of the chance it was given


class CalibrationBin(NamedTuple):
    """Votes whose first side was given about this chance, and how often it won."""

    chance: float
    won: float
    votes: int


def foresight() -> Foresight:
    """Nothing foreseen yet."""
    return Foresight(
        np.zeros(BINS), np.zeros(BINS), np.zeros(BINS, dtype=np.int64), np.zeros(1), np.zeros(1), np.zeros(1),
        np.zeros(AT_FIRST),
    )  # fmt: skip


def take(held: Foresight, chance: Array, outcome: Array) -> None:
    """Judge chances (n,) given before the outcomes (n,) were known."""
    seen = sum(held.votes.tolist())
    if len(outcome) < MANY:
        _judge(held, seen, chance.tolist(), outcome.tolist())
    else:
        _judge_many(held, seen, chance, outcome)


@also_compiled
def _judge(
    held: Foresight, seen: int, chance: Sequence[float] | Array, outcome: Sequence[float] | Array
) -> None:
    log_loss, hits = float(held.log_loss[0]), float(held.hits[0])
    for i in range(len(outcome)):
        given, came = chance[i], outcome[i]
        sure = min(max(given, LEAST_CHANCE), 1 - LEAST_CHANCE)
        bin = min(int(given * BINS), BINS - 1)
        held.chance[bin] += given
        held.won[bin] += came
        held.votes[bin] += 1
        log_loss -= came * math.log(sure) + (1 - came) * math.log1p(-sure)
        hit = 1.0 if (given > 0.5) == (came > 0.5) else 0.0
        if came == 0.5 or given == 0.5:
            hit = 0.5
        hits += hit
        if seen < AT_FIRST:
            held.first_hits[0] += hit
        held.recent[seen % AT_FIRST] = hit
        seen += 1
    held.log_loss[0], held.hits[0] = log_loss, hits


@compiled
def _judge_many(held: Foresight, seen: int, chance: Array, outcome: Array) -> None:
    _judge(held, seen, chance, outcome)


def foreseen(held: Foresight) -> Foreseen | None:
    """The shares and the calibration."""
    total = int(held.votes.sum())
    if total == 0:
        return None
    bins = tuple(
        CalibrationBin(chance / votes, won / votes, votes)
        for chance, won, votes in zip(
            held.chance.tolist(), held.won.tolist(), held.votes.tolist(), strict=True
        )
        if votes
    )
    return Foreseen(
        votes=total,
        accuracy=float(held.hits[0]) / total,
        accuracy_at_first=float(held.first_hits[0]) / min(total, AT_FIRST),
        accuracy_now=float(held.recent[: min(total, AT_FIRST)].mean()),
        log_loss=float(held.log_loss[0]) / total,
        log_loss_of_a_coin=math.log(2.0),
        calibration=bins,
        calibrated=all(
            abs(b.won - b.chance) <= 3 * math.sqrt(max(b.chance * (1 - b.chance), 1e-4) / b.votes)
            for b in bins
        ),
    )


def snapshot(held: Foresight) -> Snapshot:
    """Copies of the sums."""
    return {name: np.array(getattr(held, name)) for name in Foresight._fields}


def restore(held: Foresight, state: Snapshot) -> None:
    """Take over a snapshot, in place."""
    for name in Foresight._fields:
        getattr(held, name)[...] = state[name]

"""How well votes are foreseen: each is predicted before it is learned from (prequential)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from duelwise.answers.belief import Belief, learn_vote
from duelwise.learning.core.jit import compiled, compiled_when_it_pays
from duelwise.types import Array, IntArray, Snapshot

BINS = 10  # of the chance given to the first of the pair, of equal width
AT_FIRST = 100  # votes that "at first" speaks of, and as many "now"
LEAST_CHANCE = 1e-12


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
    _judge_all(held, chance, outcome)


@compiled_when_it_pays
def learn_and_judge(belief: Belief, held: Foresight, dz: Array, outcome: Array) -> None:
    """Run 0 learns votes on dz (n, d), outcome (n,), one after another; each is foreseen before."""
    for i in range(outcome.shape[0]):
        _judge(held, learn_vote(belief, 0, dz[i], outcome[i], 1.0), outcome[i])


@compiled_when_it_pays
def _judge_all(held: Foresight, chance: Array, outcome: Array) -> None:
    for i in range(outcome.shape[0]):
        _judge(held, chance[i], outcome[i])


@compiled
def _judge(held: Foresight, given: float, came: float) -> None:
    seen = 0
    for bin in range(BINS):
        seen += held.votes[bin]
    sure = min(max(given, LEAST_CHANCE), 1 - LEAST_CHANCE)
    bin = max(0, min(int(given * BINS), BINS - 1))
    held.chance[bin] += given
    held.won[bin] += came
    held.votes[bin] += 1
    held.log_loss[0] -= came * math.log(sure) + (1 - came) * math.log1p(-sure)
    hit = 1.0 if (given > 0.5) == (came > 0.5) else 0.0
    if came == 0.5 or given == 0.5:
        hit = 0.5
    held.hits[0] += hit
    if seen < AT_FIRST:
        held.first_hits[0] += hit
    held.recent[seen % AT_FIRST] = hit


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

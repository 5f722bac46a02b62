"""Chances given to votes, judged: log-loss with its standard error, winners foreseen, calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from duelwise.answers import foresight
from duelwise.answers.foresight import LEAST_CHANCE, CalibrationBin
from duelwise.types import Array


class MeanWithError(NamedTuple):
    """A mean over votes with its standard error."""

    mean: float
    standard_error: float


class Score(NamedTuple):
    """How well votes were foreseen."""

    votes: int
    log_loss: MeanWithError
    winners: int  # votes that name one: not ties
    accuracy: float | None  # the share of them whose side was given the higher chance
    calibration: tuple[CalibrationBin, ...]
    calibrated: bool  # every bin's share of wins lies within three standard errors of the chance it was given


def score(chance: Array, outcome: Array, source: Sequence[str | None]) -> Score | None:
    """Judge chances (n,) of the first of the pair by outcomes (n,); None where there is no vote."""
    sums = foresight.foresight()
    foresight.take(sums, chance, outcome)
    seen = foresight.foreseen(sums)
    if seen is None:
        return None
    decided = outcome != 0.5
    hits = np.where(chance == 0.5, 0.5, (chance > 0.5) == (outcome > 0.5))[decided]
    return Score(
        votes=len(outcome),
        log_loss=mean_of(log_losses(chance, outcome), source),
        winners=int(decided.sum()),
        accuracy=float(hits.mean()) if len(hits) else None,
        calibration=seen.calibration,
        calibrated=seen.calibrated,
    )


def log_losses(chance: Array, outcome: Array) -> Array:
    """(n,) the log-loss of each vote; a tie counts half for either side."""
    sure = np.clip(chance, LEAST_CHANCE, 1 - LEAST_CHANCE)
    return -(outcome * np.log(sure) + (1 - outcome) * np.log1p(-sure))


def mean_of(values: Array, source: Sequence[str | None]) -> MeanWithError:
    """The mean of values (n,), its error clustered by source; a vote without one stands by itself."""
    mean = float(values.mean())
    sums: dict[str | int, float] = {}
    for k, (name, apart) in enumerate(zip(source, (values - mean).tolist(), strict=True)):
        key = k if name is None else name
        sums[key] = sums.get(key, 0.0) + apart
    return MeanWithError(mean, math.sqrt(sum(one * one for one in sums.values())) / len(values))

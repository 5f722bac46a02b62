"""What a learner's monitors say of the theory's assumptions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelwise.learning.core.monitors import WINDOWS, Monitors
from duelwise.types import Array

LEAST_WINDOWS = 3  # of doubling length: fewer give no exponent
FIRST_WINDOW = 4  # from the 16th duel on


@dataclass(frozen=True, kw_only=True)
class Watched:
    """One value for each run; NaN where nothing was seen that could tell."""

    flat_share: Array  # (R,) share of duels with ġ(⟨Θ̂, Δz⟩) < κ at the estimate of their time
    estimate_norm: Array  # (R,) the largest ‖Θ̂‖, to be held against M
    feature_norm: Array  # (R,) the largest ‖z‖ of a served candidate, to be held against L/2
    learning_rate: Array  # (R,) a of φ̂'s error on served candidates, before it learned from them
    served_error: Array  # (R,) that error, a mean over the newest window that is full


def watched(seen: Monitors) -> Watched:
    """The monitors in the theory's own terms."""
    duels = np.maximum(seen.duels, 1)
    flat = np.where(seen.duels > 0, seen.flat / duels, np.nan)
    rates, errors = np.full(len(duels), np.nan), np.full(len(duels), np.nan)
    for r, (total, counted) in enumerate(zip(seen.error, seen.counted, strict=True)):
        windows = range(FIRST_WINDOW, WINDOWS)
        full = [w for w in windows if seen.duels[r] >= 2 ** (w + 1) - 1 and counted[w] > 0]
        means = np.array([total[w] / counted[w] for w in full])
        rates[r] = power_law(1.5 * 2.0 ** np.array(full), means)
        errors[r] = means[-1] if full else np.nan
    return Watched(
        flat_share=flat, estimate_norm=np.sqrt(seen.estimate), feature_norm=np.sqrt(seen.feature),
        learning_rate=rates, served_error=errors,
    )  # fmt: skip


def power_law(rounds: Array, errors: Array) -> float:
    """a in error ∝ t^-a by least squares on logarithms: rounds, errors (n,); NaN if n is too small."""
    if len(errors) < LEAST_WINDOWS or not min(errors) > 0.0:
        return float("nan")
    x = np.log(rounds) - np.log(rounds).mean()
    return float(-(np.log(errors) @ x) / (x @ x))

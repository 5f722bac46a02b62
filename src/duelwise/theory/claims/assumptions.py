"""The assumptions, in the published experiments and in the normalised world."""

from __future__ import annotations

import numpy as np

from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.recipes import PAPER_CURVATURE
from duelwise.theory.claim import Checked, Claim
from duelwise.theory.links import least_slope, logistic_slope
from duelwise.theory.measuring import always, rate
from duelwise.types import Array

RUNS, ROUNDS = 400, 20


def published(seed: int) -> LinearWorld:
    return LinearWorld(runs=RUNS, seed=seed, mapping="abs")


def normalised(seed: int) -> LinearWorld:
    return LinearWorld(runs=RUNS, seed=seed, mapping="abs", scaling="normalised")


def longest_features(world: LinearWorld) -> Array:
    """(R,) the largest ‖z‖ among the arms of some rounds."""
    return np.max([np.linalg.norm(_z(world, t), axis=2).max(axis=1) for t in range(ROUNDS)], axis=0)


def least_slopes(world: LinearWorld) -> Array:
    """(R,) the least ġ at the truth among all pairs of some rounds."""
    slopes = np.full(world.runs, np.inf)
    for t in range(ROUNDS):
        utility = world.reveal(t, world.contexts(t)).utility
        widest = utility.max(axis=1) - utility.min(axis=1)
        slopes = np.minimum(slopes, logistic_slope(widest))
    return slopes


def _z(world: LinearWorld, t: int) -> Array:
    x = world.contexts(t)
    return np.concatenate([x, world.reveal(t, x).y], axis=2)


def check_slope(seed: int, *, curvature: float | None = None) -> Checked:
    kappa = least_slope(1.0) if curvature is None else curvature
    return Checked(
        printed=rate(least_slopes(published(seed)) < PAPER_CURVATURE, confidence=0.0),
        corrected=rate(least_slopes(normalised(seed)) < kappa, confidence=0.0),
    )


def check_parameter(seed: int, *, norm_bound: float = 1.0) -> Checked:
    return Checked(
        printed=always(np.linalg.norm(published(seed).theta, axis=1) / norm_bound),
        corrected=always(np.linalg.norm(normalised(seed).theta, axis=1) / norm_bound),
    )


def check_features(seed: int, *, bound: float = 0.5) -> Checked:
    return Checked(
        printed=always(longest_features(published(seed)) / bound),
        corrected=always(longest_features(normalised(seed)) / bound),
    )


CLAIMS = (
    Claim(
        name="slope",
        labels=("as:kappa",),
        statement="ġ ≥ κ wherever duels are played, with the κ = ¼ of the published runs.",
        measures="share of runs with a pair of arms at which ġ < κ",
        because="¼ is the logistic link's largest slope; κ = ġ(ML) is its least one, and holds at the "
        "truth in the normalised world.",
        check=check_slope,
    ),
    Claim(
        name="bounded-parameter",
        labels=("assum:thetabounded",),
        statement="‖Θ*‖ ≤ M = 1 in the published experiments, whose text says Θ* is normalised.",
        measures="‖Θ*‖ over 1",
        because="The published code draws 0.1·N(0, I) on x and 5·N(0, I) on y; the normalised world "
        "keeps the bound.",
        check=check_parameter,
    ),
    Claim(
        name="bounded-features",
        labels=("as:zbound",),
        statement="‖z‖ ≤ ½ in the published experiments.",
        measures="largest ‖z‖ of a run over ½",
        because="Contexts are uniform on [-π, π]^d and not scaled; the normalised world scales x and y "
        "by one constant that keeps the bound.",
        check=check_features,
    ),
)

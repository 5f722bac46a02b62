"""Sums of squared leverages: the elliptical potential, weighted and as printed."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from duelwise.learning.learner import DuelingLearner
from duelwise.theory.bounds import generalised_potential_bound, potential_bound
from duelwise.theory.claim import Checked, Claim, Line, Picture
from duelwise.theory.measuring import always, rate
from duelwise.theory.setting import Setting
from duelwise.theory.walking import walk
from duelwise.types import Array


class Sums(NamedTuple):
    """Sums over all rounds of one play, (R,) each, and the growth ln(det V/λ^d) they are bounded by."""

    weighted: Array  # Σ min(1, κω‖Δz‖²)
    clipped_weighted: Array  # Σ_{ω<1} ω‖Δz‖²
    clipped: Array  # Σ_{ω<1} ‖Δz‖²: the printed form, without its weights
    full: Array  # Σ_{ω=1} ‖Δz‖
    every: Array  # Σ ‖Δz‖
    growth: Array
    along: Array  # (2, T) means over runs of the first sum and of its bound


def crowded(seed: int) -> Setting:
    """Large budgets, so that nearly every duel is clipped."""
    return Setting(seed=seed, horizon=300, corruption_budget=50, delay_budget=2500)


def mixed(seed: int) -> Setting:
    """Small budgets, so that some duels are clipped and others are not."""
    return Setting(seed=seed, horizon=300, corruption_budget=2, delay_budget=25)


@lru_cache(maxsize=4)
def summed(setting: Setting) -> Sums:
    return sums(setting, setting.learner())


def sums(setting: Setting, learner: DuelingLearner) -> Sums:
    zero = np.zeros(setting.runs)
    weighted, clipped_weighted, clipped, full, every = (zero.copy() for _ in range(5))
    path: list[tuple[float, float]] = []
    growth = zero
    for state, step, _ in walk(learner, setting.scenario(), horizon=setting.horizon):
        square = step.leverage**2
        growth = state.log_det - setting.dim * np.log(setting.regularisation)
        path.append((float(weighted.mean()), float(2.0 * growth.mean())))
        cut = step.weight < 1.0
        weighted = weighted + np.minimum(1.0, setting.curvature * step.weight * square)
        clipped_weighted += cut * step.weight * square
        clipped += cut * square
        full += ~cut * step.leverage
        every += step.leverage
        growth = growth + np.log1p(setting.curvature * step.weight * square)
    return Sums(weighted, clipped_weighted, clipped, full, every, growth, np.array(path).T)


def check_potential(seed: int, found: Sums | None = None) -> Checked:
    setting = Setting(seed=seed)
    found = found or summed(setting)
    rounds = tuple(range(1, setting.horizon + 1))
    picture = Picture(
        title="The potential against its bound (means over runs)",
        across="round",
        up="sum",
        lines=(
            Line(name="Σ min(1, κω‖Δz‖²)", x=rounds, y=tuple(found.along[0].tolist())),
            Line(name="2 ln(det V/λ^d)", x=rounds, y=tuple(found.along[1].tolist())),
        ),
    )
    return Checked(printed=always(found.weighted / potential_bound(found.growth)), pictures=(picture,))


def check_partial(seed: int, found: Sums | None = None) -> Checked:
    """Case p = 1: Σ_{ω<1} ‖Δz‖² against (2/κ) ln det, without and with the weights."""
    setting = crowded(seed)
    found = found or summed(setting)
    bound = potential_bound(found.growth) / setting.curvature
    return Checked(printed=always(found.clipped / bound), corrected=always(found.clipped_weighted / bound))


def check_full(seed: int, found: Sums | None = None) -> Checked:
    """Case p = ½: Σ over all rounds, as printed, and over the unclipped rounds."""
    setting = crowded(seed)
    found = found or summed(setting)
    bound = np.sqrt(setting.horizon * potential_bound(found.growth) / setting.curvature)
    return Checked(printed=always(found.every / bound), corrected=always(found.full / bound))


def check_split(seed: int, found: Sums | None = None) -> Checked:
    """Σ‖Δz‖ ≤ Σ_{ω=1}‖Δz‖ + (1/α)Σ_{ω<1} ω‖Δz‖², with z = z* since y has no noise here."""
    setting = mixed(seed)
    found = found or summed(setting)
    return Checked(printed=always(found.every / (found.full + 2.0 * found.clipped_weighted / setting.clip)))


def check_generalised(seed: int, *, noisy_from: int = 2) -> Checked:
    """The lemma where noise is in every direction; it applies to z = (x, y) if that is so there.

    Of the paper's z only the coordinates from `noisy_from` on, those of y, are noisy.
    """
    dim, rounds, runs, spread = 4, 400, 400, 0.3
    random = np.random.default_rng([seed, 11])
    x = random.uniform(-0.5, 0.5, (runs, rounds, dim))
    noise = random.choice([-spread, spread], (runs, rounds, dim))
    least = _least_variance(noise)
    here = noise * (np.arange(dim) >= noisy_from)
    inverse, total, growth = np.repeat(np.eye(dim)[None], runs, axis=0), np.zeros(runs), np.zeros(runs)
    for t in range(rounds):
        plain, seen = x[:, t], x[:, t] + noise[:, t]
        total += np.minimum(1.0, np.einsum("ri,rij,rj->r", plain, inverse, plain))
        moved = np.einsum("rij,rj->ri", inverse, seen)
        grown = 1.0 + np.sum(moved * seen, axis=1)
        growth += np.log(grown)
        inverse -= moved[:, :, None] * moved[:, None, :] / grown[:, None, None]
    bound = generalised_potential_bound(
        growth, rounds=rounds, power=1.0, dim=dim, feature_bound=1.0, noise_bound=spread * dim**0.5,
        least_variance=least, confidence=0.05,
    )  # fmt: skip
    return Checked(printed=rate(total > bound, confidence=0.05), applies=_least_variance(here) > 0.0)


def _least_variance(noise: Array) -> float:
    """σ_ε²: the least eigenvalue of E[εεᵀ], noise (R, T, d)."""
    return float(np.linalg.eigvalsh(np.einsum("rti,rtj->ij", noise, noise) / noise[..., 0].size)[0])


CLAIMS = (
    Claim(
        name="potential",
        labels=("eq:bound_elliptic",),
        statement="Σ min(1, κω‖Δz‖²_{V⁻¹}) ≤ 2 ln(det V/λ^d).",
        measures="the sum over its bound, worst of a run",
        because="Each term is at most 2 ln(1 + κω‖Δz‖²), and these are the steps of ln det V.",
        check=check_potential,
    ),
    Claim(
        name="clipped-split",
        labels=("eq:bound_elliptic",),
        statement="Σ‖Δz‖ ≤ Σ_{ω=1}‖Δz‖ + ((C + D)/√d)·(Σ_{ω<1} ω‖Δz*‖² + Σ_{ω<1} ω‖Δz‖²).",
        measures="left side over right side, each run",
        because="A clipped duel has 1 = ω‖Δz‖/α; the printed sum counts it twice, once is enough.",
        check=check_split,
    ),
    Claim(
        name="potential-all-rounds",
        labels=("eq:elliptic_full",),
        statement="Σ_{ω=1}‖Δz‖ ≤ Σ_t ‖Δz‖ ≤ √(T·(2/κ) ln(det V/λ^d)) = Õ(√(dT)).",
        measures="the sum over all rounds over the bound, worst of a run; C = 50, Λ = 2500",
        because="Clipped duels move V by less than ‖Δz‖² and are not paid for by ln det V; over the "
        "unclipped rounds it holds.",
        check=check_full,
    ),
    Claim(
        name="potential-clipped-rounds",
        labels=("eq:elliptic_partial",),
        statement="Σ_{ω<1} ‖Δz‖² ≤ (2/κ) ln(det V/λ^d) = Õ(d).",
        measures="the sum over the bound, worst of a run; C = 50, Λ = 2500",
        because="The weights were lost between two lines of the proof; Σ_{ω<1} ω‖Δz‖² is bounded, and is "
        "what is needed.",
        check=check_partial,
    ),
    Claim(
        name="generalised-potential",
        labels=("lemma:generalized_elliptic_potential_lemma",),
        statement="Σ (1 ∧ ‖x_t‖²)^p ≤ 2^p T^{1-p} ln^p(det X_T/det X_0) + terms in 1/σ_ε⁴, when E[εεᵀ] ⪰ "
        "σ_ε² I.",
        measures="share of runs that exceed it where its premise holds; δ = 0.05",
        because="Only y is noisy, so E[εεᵀ] of z = (x, y) is singular and σ_ε = 0; without noise in y "
        "the standard lemma does the work.",
        check=check_generalised,
    ),
)

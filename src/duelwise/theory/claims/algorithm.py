"""The algorithm's own equations along simulated paths: matrices, weights, choices, the estimate."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from duelwise.learning import radii
from duelwise.learning.learner import DuelingLearner
from duelwise.theory.claim import Checked, Claim
from duelwise.theory.links import logistic
from duelwise.theory.measuring import always
from duelwise.theory.setting import Setting
from duelwise.theory.walking import History, State, walk
from duelwise.types import Array

SMALL = 1e-9  # what arithmetic may differ by
TOLERANCE = 1e-5  # of the estimating equation; the solver stops at a gradient of 10⁻⁶
EVERY = 10


class Definitions(NamedTuple):
    """Each run's largest departure from the printed definitions."""

    matrices: Array  # of V and W from their sums
    equation: Array  # ‖λΘ + Σ ω(g - o)Δz‖ over the arrived votes
    weight: Array  # of ω from min(1, α/‖Δz‖_{V⁻¹})
    soft: Array  # ‖√ω Δz‖_{V⁻¹}/α
    pull: Array  # ω‖Δz‖_{V⁻¹}/α
    leader: Array  # how far the leader's value is below another arm's
    challenger: Array  # how far the challenger's bound is below another arm's


@lru_cache(maxsize=4)
def played(setting: Setting) -> Definitions:
    return definitions(setting, setting.learner())


def definitions(setting: Setting, learner: DuelingLearner) -> Definitions:
    """Walk and compare every printed definition with what the learner did."""
    worst = Definitions(*np.zeros((7, setting.runs)))
    run = np.arange(setting.runs)
    for state, step, history in walk(learner, setting.scenario(), horizon=setting.horizon):
        literal = np.sqrt(np.maximum(np.einsum("ri,rij,rj->r", step.dz, state.V_inverse, step.dz), 0.0))
        printed = np.minimum(1.0, setting.clip / np.maximum(literal, 1e-300))
        value = np.einsum("rkd,rd->rk", step.predicted, state.theta)
        width = 2.0 * setting.radius(step.round + 1)
        to_leader = step.predicted - step.predicted[run, step.arms[:, 0]][:, None]
        bound = value + width * np.sqrt(np.einsum("rkd,rde,rke->rk", to_leader, state.V_inverse, to_leader))
        worst = _larger(
            worst,
            weight=np.abs(step.weight - printed),
            soft=np.sqrt(step.weight) * literal / setting.clip,
            pull=step.weight * literal / setting.clip,
            leader=value.max(axis=1) - value[run, step.arms[:, 0]],
            challenger=bound.max(axis=1) - bound[run, step.arms[:, 1]],
        )
        if history.length and history.length % EVERY == 0:
            worst = _larger(
                worst,
                matrices=_matrices(state, history, setting),
                equation=_equation(state, history, setting),
            )
    return worst


def _larger(worst: Definitions, **seen: Array) -> Definitions:
    return worst._replace(**{name: np.maximum(getattr(worst, name), value) for name, value in seen.items()})


def _matrices(state: State, history: History, setting: Setting) -> Array:
    """(R,) the largest entry of V or W less its sum."""
    n = history.length
    dz, scale = history.dz[:, :n], setting.curvature * history.weight[:, :n]
    ridge = setting.regularisation * np.eye(setting.dim)
    arrived = scale * ~np.isnan(history.told[:, :n])
    apart = [
        np.abs(matrix - ridge - np.einsum("rt,rti,rtj->rij", each, dz, dz)).max(axis=(1, 2))
        for matrix, each in ((state.V, scale), (state.W, arrived))
    ]
    return np.maximum(*apart)


def _equation(state: State, history: History, setting: Setting) -> Array:
    """(R,) the length of the left side of the estimating equation."""
    n = history.length
    dz, told = history.dz[:, :n], history.told[:, :n]
    arrived = ~np.isnan(told)
    pull = np.where(arrived, logistic(np.einsum("rtd,rd->rt", dz, state.theta)) - np.nan_to_num(told), 0.0)
    left = setting.regularisation * state.theta + np.einsum("rt,rtd->rd", history.weight[:, :n] * pull, dz)
    return np.linalg.norm(left, axis=1)


def followed(seed: int) -> Setting:
    """The setting in which the definitions are followed."""
    return Setting(seed=seed, horizon=120)


def check_matrices(seed: int, found: Definitions | None = None) -> Checked:
    return Checked(printed=always((found or played(followed(seed))).matrices / SMALL))


def check_equation(seed: int, found: Definitions | None = None) -> Checked:
    return Checked(printed=always((found or played(followed(seed))).equation / TOLERANCE))


def check_weight(seed: int, found: Definitions | None = None) -> Checked:
    return Checked(printed=always((found or played(followed(seed))).weight / SMALL))


def check_soft_constraint(seed: int, found: Definitions | None = None) -> Checked:
    found = found or played(followed(seed))
    return Checked(printed=always(found.soft), corrected=always(found.pull))


def check_choices(seed: int, found: Definitions | None = None) -> Checked:
    found = found or played(followed(seed))
    return Checked(printed=always(np.maximum(found.leader, found.challenger) / SMALL))


def check_alpha(seed: int, *, budget: float | None = None) -> Checked:
    """α(C + D) = √d; `budget` puts another C + D in its place, as the published sweeps do."""
    setting = Setting(seed=seed)
    total = setting.corruption_budget + setting.delay_complexity
    alpha = setting.clip if budget is None else radii.clip(setting.dim, budget)
    off = abs(alpha * total / np.sqrt(setting.dim) - 1.0)
    return Checked(printed=always(np.full(2, off / SMALL)))


CLAIMS = (
    Claim(
        name="matrices",
        labels=("eq:widetildeV", "eq:widetildeW", "alg:main"),
        statement="V = λI + κΣ ωΔzΔzᵀ over all served duels, W the same over those whose vote arrived.",
        measures="largest entry by which either differs from its sum, over 10⁻⁹",
        because="Rank-one moves at serving and on arrival are those sums.",
        check=check_matrices,
    ),
    Claim(
        name="estimating-equation",
        labels=("eq:Theta_t", "eq:theta_t_cond", "alg:main"),
        statement="λΘ_t + Σ_arrived ω(g(⟨Θ_t, Δz⟩) - o)Δz = 0.",
        measures="length of its left side over 10⁻⁵, worst of a run",
        because="The solver goes on until that length is below 10⁻⁶.",
        check=check_equation,
    ),
    Claim(
        name="adaptive-weight",
        labels=("eq:adaptive_weight", "alg:main"),
        statement="ω = min(1, α/‖Δz‖_{V⁻¹}) with V before the round.",
        measures="largest difference over 10⁻⁹",
        because="The weight is computed from this formula when the duel's context is seen.",
        check=check_weight,
    ),
    Claim(
        name="soft-constraint",
        labels=("eq:adaptive_weight",),
        statement="The weight enforces ‖√ω Δz‖_{V⁻¹} ≤ α.",
        measures="‖√ω Δz‖_{V⁻¹} over α, worst of a run",
        because="A clipped duel has ‖√ω Δz‖² = α‖Δz‖ > α²; what the weight enforces is ω‖Δz‖_{V⁻¹} ≤ α.",
        check=check_soft_constraint,
    ),
    Claim(
        name="choices",
        labels=("eq:firstarm", "eq:secondarm", "eq:opt_first", "eq:opt_second", "alg:main"),
        statement="No arm has a higher estimate than a_t, nor a higher upper bound against a_t than b_t.",
        measures="how far another arm is above, over 10⁻⁹, worst of a run",
        because="Both are maxima over all arms.",
        check=check_choices,
    ),
    Claim(
        name="alpha",
        labels=("eq:alpha",),
        statement="α = √d/(C + D) makes the terms αC + αD of β_t equal √d.",
        measures="|α(C + D)/√d - 1| over 10⁻⁹",
        because="It is how α is defined; the published sweeps keep C + D = 125 whatever the budgets are.",
        check=check_alpha,
    ),
)

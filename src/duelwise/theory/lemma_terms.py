"""Lemma 1, term by term along simulated paths.

The proof's terms recombine into three (docs/theory.md): with η = l - g(⟨Θ*, Δz⟩) the vote's noise,

    G_t(Θ_t) = Σ_all ωηΔz + Σ_lies ω(o - l)Δz + Σ_out ω(g(⟨Θ_t, Δz⟩) - l)Δz.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from duelwise.learning import radii
from duelwise.learning.learner import DuelingLearner
from duelwise.theory.links import logistic
from duelwise.theory.setting import Setting
from duelwise.theory.walking import History, State, norm, walk
from duelwise.types import Array

EVERY = 8  # rounds between two looks: a look costs a sum over all duels so far


class Look(NamedTuple):
    """Lengths in V⁻¹ (or V, W) of the lemma's terms at one round, one value for each run."""

    error: Array  # ‖Θ_t - Θ*‖_V
    error_in_W: Array  # ‖Θ_t - Θ*‖_W
    gradient: Array  # ‖G_t(Θ_t) - G_t(Θ*)‖_{V⁻¹}
    own_error: Array  # ‖Θ_t - Θ*‖ in V with the slope between Θ_t and Θ* in the place of κ
    own_gradient: Array  # ‖G_t(Θ_t) - G_t(Θ*)‖ in the inverse of that
    residual: Array  # ‖G_t(Θ_t) - (S_1 + S_2 - S_3)‖: how far the printed decomposition is off
    lie_residual: Array  # ‖S_1 - (S_11 + S_12)‖ with S_12 as printed
    mended_residual: Array  # the same with γ - l in the place of γ - η
    noise: Array  # ‖Σ_all ωηΔz‖
    arrived_noise: Array  # ‖S_11‖ = ‖Σ_arrived ωηΔz‖
    arrived: Array  # ‖S_1‖
    lies: Array  # ‖Σ_lies ω(o - l)Δz‖
    pending: Array  # ‖Σ_out ω(g(⟨Θ_t, Δz⟩) - l)Δz‖
    pending_apart: Array  # ‖S_2‖ + ‖S_3‖
    pending_pull: Array  # Σ_out ω‖Δz‖
    out: Array  # D_t
    growth: Array  # ln(det V/λ^d)


@dataclass(frozen=True)
class Terms:
    """Looks along the way; every array is (n, R)."""

    rounds: Array  # (n,) t, counted from 1
    looks: Look


def lemma_terms(setting: Setting, learner: DuelingLearner | None = None) -> Terms:
    """Play the setting and look at the terms; another learner may take the place of the setting's."""
    scenario = setting.scenario()
    true = setting.world().theta
    rounds: list[float] = []
    looks: list[Look] = []
    for state, step, history in walk(
        setting.learner() if learner is None else learner, scenario, horizon=setting.horizon
    ):
        if history.length and history.length % EVERY == 0:
            rounds.append(step.round + 1)
            looks.append(look(state, history, true, setting))
    return Terms(np.array(rounds), Look(*(np.array(part) for part in zip(*looks, strict=True))))


def look(state: State, history: History, true: Array, setting: Setting) -> Look:
    """The terms at one round: true is Θ* (R, d)."""
    n = history.length
    dz, weight, honest, told = (
        history.dz[:, :n], history.weight[:, :n], history.honest[:, :n], history.told[:, :n],
    )  # fmt: skip
    out = np.isnan(told)
    told = np.where(out, honest, told)  # lies are told at once, so what is out is honest
    true_mean = logistic(history.margin[:, :n])
    fitted = logistic(np.einsum("rtd,rd->rt", dz, state.theta))

    def total(scalar: Array) -> Array:
        return np.einsum("rt,rtd->rd", weight * scalar, dz)

    ridge, inverse = setting.regularisation, state.V_inverse
    error = state.theta - true
    G = ridge * state.theta + total(fitted - true_mean)
    S1 = total(~out * (told - true_mean))
    S2, S3 = total(out * (fitted - told)), total(out * (true_mean - told))
    noise, lies = total(honest - true_mean), total(told - honest)
    arrived_noise = total(~out * (honest - true_mean))
    lied = told != honest
    printed_lies = total(lied * (told - (honest - true_mean)))  # S_12 with γ - η
    own = _with_slope(state.V, setting, _least_between(fitted, true_mean, dz, error))
    own_inverse: Array = np.linalg.inv(own).astype(np.float64)
    leverage = np.sqrt(np.einsum("rtd,rde,rte->rt", dz, inverse, dz))
    return Look(
        error=norm(error, state.V), error_in_W=norm(error, state.W), gradient=norm(G - ridge * true, inverse),
        own_error=norm(error, own), own_gradient=norm(G - ridge * true, own_inverse),
        residual=norm(G - (S1 + S2 - S3), inverse),
        lie_residual=norm(S1 - arrived_noise - printed_lies, inverse),
        mended_residual=norm(S1 - arrived_noise - lies, inverse),
        noise=norm(noise, inverse), arrived_noise=norm(arrived_noise, inverse), arrived=norm(S1, inverse),
        lies=norm(lies, inverse),
        pending=norm(total(out * (fitted - honest)), inverse),
        pending_apart=norm(S2, inverse) + norm(S3, inverse),
        pending_pull=np.sum(out * weight * leverage, axis=1), out=out.sum(axis=1).astype(float),
        growth=state.log_det - setting.dim * np.log(ridge),
    )  # fmt: skip


def _least_between(fitted: Array, true_mean: Array, dz: Array, error: Array) -> Array:
    """(R,) the least slope of g between the two margins of any duel: where they are one, none is needed."""
    apart = np.einsum("rtd,rd->rt", dz, error)
    slope = np.divide(fitted - true_mean, apart, out=np.full_like(apart, np.inf), where=np.abs(apart) > 1e-9)
    return np.minimum(slope.min(axis=1), 0.25)


def _with_slope(V: Array, setting: Setting, slope: Array) -> Array:
    """(R, d, d) V with another κ for each run."""
    ridge = setting.regularisation * np.eye(setting.dim)
    return ridge + (slope / setting.curvature)[:, None, None] * (V - ridge)


def statistical(setting: Setting, rounds: Array) -> Array:
    """(n, 1) the first term of β_t as printed."""
    return np.array([
        radii.statistical_term(
            t, dim=setting.dim, regularisation=setting.regularisation, confidence=setting.confidence
        )
        for t in rounds
    ])[:, None]  # fmt: skip


def corrected_statistical(setting: Setting, rounds: Array) -> Array:
    """(n, 1) the same with 1/√κ."""
    return radii.corrected_statistical_term(
        rounds, dim=setting.dim, regularisation=setting.regularisation, curvature=setting.curvature,
        confidence=setting.confidence,
    )[:, None]  # fmt: skip

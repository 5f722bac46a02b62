"""Checks can fail: with a broken learner, a broken formula or another world each verdict changes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Unpack, cast

import numpy as np
import pytest

from duelwise.lab.play.delays import NoDelay
from duelwise.lab.worlds.hard import sign_vectors
from duelwise.learning import radii
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.post_serving import post_serving
from duelwise.learning.recipes import Options, Tuning, max_pair_ucb, rcdb, rcdp_ucb
from duelwise.theory.claim import Checked
from duelwise.theory.claims import (
    CLAIMS,
    algorithm,
    assumptions,
    concentration,
    delays,
    learnability,
    lower_bounds,
    potential,
    regret_terms,
    scaling,
)
from duelwise.theory.lemma_terms import Look, Terms, lemma_terms
from duelwise.theory.self_normalised import NoiseSetting, NoiseShares, noise_shares
from duelwise.theory.setting import Setting
from duelwise.types import Array

SEED = 3
PAGE = Path(__file__).parents[2] / "docs" / "theory.md"


def learner(setting: Setting, **other: Unpack[Tuning]) -> DuelingLearner:
    """The setting's learner with something wrong."""
    told: Options = {
        "runs": setting.runs, "seed": setting.seed, "context_dim": setting.context_dim,
        "post_dim": setting.post_dim, "exploration_width": "theory", "clip": setting.clip,
        "curvature": setting.curvature, "regularisation": setting.regularisation,
        "corruption_budget": float(setting.corruption_budget), "delay": setting.delay_complexity,
        "norm_bound": setting.norm_bound,
    }  # fmt: skip
    return rcdp_ucb(**cast("Options", {**told, **other}))


def terms(**other: Unpack[Tuning]) -> Terms:
    """The lemma's terms of a learner with something wrong."""
    setting = Setting(seed=SEED)
    return lemma_terms(setting, learner(setting, **other))


def unweighted() -> Terms:
    """The weights dropped: no vote is clipped."""
    return terms(clip=100.0)


def with_looks(change: Callable[[Look], Look], setting: Setting | None = None) -> Terms:
    """Right paths, wrong sums."""
    right = concentration.played(setting or Setting(seed=SEED))
    return Terms(right.rounds, change(right.looks))


def halved(setting: NoiseSetting) -> NoiseShares:
    """R = ¼ in the place of ½."""
    return NoiseShares(*(2.0 * share for share in noise_shares(setting)))


def without_curvature(setting: NoiseSetting) -> NoiseShares:
    """1/√κ dropped from the corrected form as well."""
    right = noise_shares(setting)
    return right._replace(trace=right.printed)


def followed(**other: Unpack[Tuning]) -> algorithm.Definitions:
    setting = algorithm.followed(SEED)
    return algorithm.definitions(setting, learner(setting, **other))


def parts(*, width_factor: float = 1.0, true: Array | None = None) -> regret_terms.RegretTerms:
    setting = regret_terms.served_late(SEED)
    return regret_terms.parts(setting, setting.learner(), width_factor=width_factor, true=true)


def summed(setting: Setting, **other: Array) -> potential.Sums:
    return potential.sums(setting, setting.learner())._replace(**other)


def steep(symbol: str) -> np.ndarray:
    """(R, n) a regret that grows faster than the theorem allows."""
    _, sizes, stated = scaling.SWEEPS[symbol]
    noise = np.random.default_rng(0).uniform(0.9, 1.1, (20, 1))
    return noise * np.array(sizes, dtype=float) ** (1.5 * stated)


def case(name: str, **other: object) -> learnability.Case:
    return replace(learnability.CASES[name], **other)


crowded = potential.crowded(SEED)
shouting: Tuning = {"clip": 100.0, "regularisation": 1e-4}  # lies at full weight, and nothing holds Θ̂ back

BROKEN: dict[str, Callable[[], Checked]] = {
    "corruption-term": lambda: concentration.check_corruption(SEED, unweighted()),
    "pending-terms": lambda: concentration.check_pending(SEED, unweighted()),
    "pending-constant": lambda: concentration.check_pending_constant(SEED, unweighted()),
    "coverage": lambda: concentration.check_coverage(SEED, terms(**shouting)),
    "arrived-terms": lambda: concentration.check_arrived(SEED, terms(**shouting)),
    "statistical-term": lambda: concentration.check_statistical(SEED, without_curvature),
    "self-normalised": lambda: concentration.check_self_normalised(SEED, halved),
    "monotonicity": lambda: concentration.check_monotonicity(
        SEED,
        with_looks(
            lambda look: look._replace(own_error=look.error, own_gradient=look.gradient),
            concentration.hostile(SEED),
        ),
    ),
    "decomposition": lambda: concentration.check_decomposition(  # the pending votes ignored
        SEED, with_looks(lambda look: look._replace(residual=look.pending_apart))
    ),
    "lies-apart": lambda: concentration.check_lies_split(
        SEED, with_looks(lambda look: look._replace(mended_residual=look.lies))
    ),
    "adaptive-weight": lambda: algorithm.check_weight(SEED, followed(clip=100.0)),
    "soft-constraint": lambda: algorithm.check_soft_constraint(SEED, followed(clip=100.0)),
    "estimating-equation": lambda: algorithm.check_equation(SEED, followed(estimate="one-step")),
    "matrices": lambda: algorithm.check_matrices(SEED, followed(curvature=0.5)),
    "choices": lambda: algorithm.check_choices(
        SEED,
        algorithm.definitions(
            algorithm.followed(SEED), max_pair_ucb(runs=400, seed=SEED, context_dim=6, geometry="served")
        ),
    ),
    "alpha": lambda: algorithm.check_alpha(SEED, budget=125.0),
    "pending-in-radius": lambda: delays.check_complexity(SEED, lambda mean: mean),
    "pending-stochastic": lambda: delays.check_stochastic(SEED, lambda mean: mean),
    "pending-adversarial": lambda: delays.check_adversarial(SEED, spent=2 * delays.BUDGETS[2]),
    "budgets": lambda: delays.check_budgets(SEED, granted=11),  # one flip more than C
    "weights-ignore-delays": lambda: delays.check_weights_ignore_delays(  # weighed by W
        SEED,
        (
            rcdb(runs=400, seed=SEED, context_dim=6, clip=0.05),
            rcdb(runs=400, seed=SEED, context_dim=6, clip=0.05),
        ),
    ),
    "potential": lambda: potential.check_potential(
        SEED, potential.sums(Setting(seed=SEED), learner(Setting(seed=SEED), curvature=0.01))
    ),
    "clipped-split": lambda: potential.check_split(
        SEED, summed(potential.mixed(SEED), clipped_weighted=np.zeros(400))
    ),
    "potential-all-rounds": lambda: potential.check_full(
        SEED, summed(crowded, full=potential.summed(crowded).every)
    ),
    "potential-clipped-rounds": lambda: potential.check_partial(
        SEED, summed(crowded, clipped_weighted=potential.summed(crowded).clipped)
    ),
    "generalised-potential": lambda: potential.check_generalised(SEED, noisy_from=0),
    "regret-split": lambda: regret_terms.check_identity(
        SEED, parts(true=2.0 * regret_terms.served_late(SEED).world().theta)
    ),
    "confidence-part": lambda: regret_terms.check_first(SEED, parts(width_factor=0.5)),
    "approximation-part": lambda: regret_terms.check_second(
        SEED, parts(true=10.0 * regret_terms.served_late(SEED).world().theta)
    ),
    "estimation-part": lambda: regret_terms.check_third(
        SEED, parts(true=40.0 * regret_terms.served_late(SEED).world().theta)
    ),
    "cumulative": lambda: regret_terms.check_cumulative(  # a learner that is sure from the start
        SEED, parts()._replace(lengths=np.zeros(400), errors=np.zeros(400))
    ),
    "upper-bound": lambda: regret_terms.check_upper_bound(SEED, lambda sizes: math.sqrt(sizes.horizon)),
    "mapping-term": lambda: regret_terms.check_mapping_term(SEED, power=1.0),
    "slope": lambda: assumptions.check_slope(SEED, curvature=0.25),
    "bounded-parameter": lambda: assumptions.check_parameter(SEED, norm_bound=0.5),
    "bounded-features": lambda: assumptions.check_features(SEED, bound=0.1),
    "rate-linear": lambda: learnability.check_rate(case("linear", mapping="bump"), SEED),
    "rate-rkhs": lambda: learnability.check_rate(case("rkhs", model=lambda n: post_serving("ridge")), SEED),
    "rate-hölder": lambda: learnability.check_rate(
        case("hölder", model=lambda n: post_serving("ridge")), SEED
    ),
    "independent-samples": lambda: learnability.check_independent(SEED, arms=2),
    "growth-in-T": lambda: scaling.check_horizon(SEED, rounds=np.geomspace(200, 20_000, 9), width=1e3),
    "growth-in-C": lambda: scaling.check_corruption(SEED, steep("C")),
    "growth-in-Λ": lambda: scaling.check_delay_budget(SEED, steep("Λ")),
    "growth-in-μ": lambda: scaling.check_mean_delay(SEED, steep("μ")),
    "growth-in-d": lambda: scaling.check_dimension(SEED, steep("d")),
    "blind-ball": lambda: lower_bounds.check_ball(SEED, delay=NoDelay()),
    "blind-cube": lambda: lower_bounds.check_cube(SEED, delay=NoDelay()),
    "blind-length": lambda: lower_bounds.check_blind_length(
        SEED, lambda budget: radii.blind_phase(budget) + 1
    ),
    "hard-instances-fit": lambda: lower_bounds.check_norms(SEED, scale=0.5 / math.sqrt(8)),
    "gap-in-dimension": lambda: lower_bounds.check_gap_in_dim(SEED, lambda dim: 0.125),
    "curvature-in-lower-bound": lambda: lower_bounds.check_curvature(SEED, lambda slope: 0.05 / slope),
    "lower-statistical": lambda: lower_bounds.check_statistical(SEED, gap=1.0 / 64.0),
    "lower-in-introduction": lambda: lower_bounds.check_introduction(SEED, gap=1.0 / 256.0),
    "lower-corruption": lambda: lower_bounds.check_corruption(SEED, C=60, spent=0),
    "different-constructions": lambda: lower_bounds.check_basis(SEED, sign_vectors),
    "sum-of-bounds": lambda: lower_bounds.check_sum(SEED, share=1.0),
}


def verdicts() -> dict[str, str]:
    """What the page says, claim by claim."""
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return {row[0].removeprefix("| "): row[-2] for row in rows if row[0].removeprefix("| ") in CLAIMS}


def test_every_claim_has_a_check_that_was_made_to_fail() -> None:
    assert BROKEN.keys() == CLAIMS.keys()
    assert verdicts().keys() == CLAIMS.keys()


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_changes_the_verdict(name: str) -> None:
    assert BROKEN[name]().verdict != verdicts()[name]

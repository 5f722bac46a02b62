"""The lower bounds on their own hard instances."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from duelwise.lab.play.adversary import flips_over_runs
from duelwise.lab.play.corruptions import FlipRule, NoCorruption
from duelwise.lab.play.delays import BlindPhase, ConstantDelay, DelayModel, NoDelay
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.simulation import simulate
from duelwise.lab.worlds.hard import BasisArms, FiniteWorld, Hypercube, UnitBall, sign_vectors, signs
from duelwise.learning import radii
from duelwise.learning.recipes import PAPER_FIVE, recipe
from duelwise.randomness import BLOCK, RoundDraws
from duelwise.theory.bounds import HARD_CONSTANT, HARD_GAP, MASKED_CONSTANT
from duelwise.theory.claim import Checked, Claim
from duelwise.theory.measuring import always, at_least, equal, exponents
from duelwise.types import Array, BoolArray, Served

RUNS = 2000
BLIND = 20  # rounds without a vote
BUDGET = BLIND * (BLIND + 1) // 2  # Λ that buys them


def regret_of(
    world: FiniteWorld,
    delay: DelayModel,
    *,
    horizon: int,
    method: str = "rcdp-ucb",
    lies: Masking | None = None,
) -> Array:
    """(R, T) regret of a method in a world that votes by the linear link."""
    learner = recipe(method)(
        runs=world.run_numbers, seed=world.seed, context_dim=world.context_dim, link="clipped-linear"
    )
    return simulate(learner, Scenario(world, delay, lies or NoCorruption()), horizon=horizon).regret


def blind_regret(world: FiniteWorld, delay: DelayModel) -> Array:
    """(R,) mean regret of a round while no vote has arrived."""
    return regret_of(world, delay, horizon=BLIND).mean(axis=1)


def check_ball(seed: int, *, delay: DelayModel | None = None) -> Checked:
    dim, gap = 4, 0.125
    world = UnitBall(dim=dim, gap=gap).start(runs=range(RUNS), seed=seed)
    measured = blind_regret(world, delay or BlindPhase(budget=BUDGET))
    stated = math.sqrt(dim) * gap
    return Checked(printed=equal(measured, 2.0 * stated), corrected=equal(measured, stated))


def check_cube(seed: int, *, delay: DelayModel | None = None) -> Checked:
    dim, gap = 4, 0.25
    world = Hypercube(dim=dim, gap=gap).start(runs=range(RUNS), seed=seed)
    measured = blind_regret(world, delay or ConstantDelay(rounds=BLIND))
    return Checked(printed=equal(measured, 2.0 * dim * gap), corrected=equal(measured, dim * gap))


def check_blind_length(seed: int, length_of: Callable[[int], int] = radii.blind_phase) -> Checked:
    budgets = np.arange(1, 2001)
    length = np.array([length_of(b) for b in budgets.tolist()])
    costs, next_costs = length * (length + 1) / 2, (length + 1) * (length + 2) / 2
    return Checked(printed=always(np.maximum(costs / budgets, budgets / next_costs)))


def check_norms(seed: int, *, scale: float = 1.0) -> Checked:
    """Arms and Θ* of the hard instances against ‖z‖ ≤ ½ and ‖Θ*‖ ≤ M = 1; `scale` shrinks the arms."""
    worst: list[float] = []
    for world in (Hypercube(dim=8), UnitBall(dim=6)):
        made = world.start(runs=range(50), seed=seed)
        longest = scale * float(np.linalg.norm(made.points, axis=1).max()) / 0.5
        worst += [max(longest, float(np.linalg.norm(theta))) for theta in made.theta]
    measured = always(np.array(worst))
    return Checked(printed=measured, applies=measured.kept)


def _unit_norm(dim: float) -> float:
    """Δ with ‖Θ*‖ = Δ√d = 1."""
    return 1.0 / math.sqrt(dim)


def check_gap_in_dim(seed: int, gap_of: Callable[[float], float] = _unit_norm) -> Checked:
    """The exponent of d of the blind phase's regret on the ball when ‖Θ*‖ is kept at 1."""
    dims = np.array([2.0, 3.0, 4.0, 5.0, 6.0])
    means = [
        np.array([part.mean() for part in np.array_split(_ball(int(d), seed, gap=gap_of(d)), 10)])
        for d in dims.tolist()
    ]
    slopes = exponents(dims, np.stack(means, axis=1))
    return Checked(printed=at_least(slopes, 0.5), corrected=equal(slopes, 0.0))


@lru_cache(maxsize=16)
def _ball(dim: int, seed: int, *, gap: float) -> Array:
    world = UnitBall(dim=dim, gap=gap).start(runs=range(RUNS), seed=seed)
    return blind_regret(world, BlindPhase(budget=BUDGET))


def check_curvature(seed: int, gap_of: Callable[[float], float] = lambda slope: 0.25) -> Checked:
    """The exponent of κ of the blind phase's regret under the scaled link."""
    slopes_of = np.array([1.0, 0.5, 0.25, 0.125])
    regrets = [
        blind_regret(
            Hypercube(dim=3, gap=gap_of(k), link_slope=k).start(runs=range(200), seed=seed),
            ConstantDelay(rounds=BLIND),
        )
        for k in slopes_of.tolist()
    ]
    means = [np.array([part.mean() for part in np.array_split(each, 10)]) for each in regrets]
    slopes = exponents(slopes_of, np.stack(means, axis=1))
    return Checked(printed=equal(slopes, -1.0), corrected=equal(slopes, 0.0))


@lru_cache(maxsize=4)
def undecidable(seed: int, *, dim: int = 4, horizon: int = 300, gap: float = HARD_GAP) -> Array:
    """(R,) final regret of the best of five methods where Δ = gap/√T: too small to be found in T rounds."""
    finals = [
        regret_of(
            Hypercube(dim=dim, gap=gap / math.sqrt(horizon)).start(runs=range(60), seed=seed),
            NoDelay(), horizon=horizon, method=method,
        ).sum(axis=1)
        for method in PAPER_FIVE
    ]  # fmt: skip
    return min(finals, key=lambda final: float(final.mean()))


def check_statistical(seed: int, *, gap: float = HARD_GAP) -> Checked:
    dim, horizon = 4, 300
    final = undecidable(seed, dim=dim, horizon=horizon, gap=gap)
    return Checked(printed=at_least(final / (dim * math.sqrt(horizon)), HARD_CONSTANT))


def check_introduction(seed: int, *, gap: float = HARD_GAP) -> Checked:
    dim, horizon = 4, 300
    final = undecidable(seed, dim=dim, horizon=horizon, gap=gap)
    return Checked(printed=at_least(final / math.sqrt(dim * horizon), HARD_CONSTANT))


@dataclass(frozen=True, kw_only=True)
class Masking:
    """Lies that make the best arm look like any other: its wins are flipped with chance 2Δ/(1 + 2Δ)."""

    budget: int
    gap: float

    def start(self, *, runs: Sequence[int], seed: int) -> MaskingFlips:
        return MaskingFlips(runs, seed, 2.0 * self.gap / (1.0 + 2.0 * self.gap))


class MaskingFlips:
    """The mask at work."""

    def __init__(self, runs: Sequence[int], seed: int, chance: float) -> None:
        self._draws = RoundDraws(seed, "corruption", runs, lambda rng, rounds: rng.random(rounds))
        self._chance = chance

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        rule = self.compiled(t - t % BLOCK, len(outcome))
        return flips_over_runs(rule, t % BLOCK, served, outcome, utility)

    def compiled(self, begin: int, runs: int) -> FlipRule:
        drawn = self._draws.block(begin // BLOCK) < self._chance
        return FlipRule(drawn, better_only=True, least_leverage=0.0)


def check_corruption(seed: int, *, C: int = 10, spent: int | None = None) -> Checked:
    """dC: among d arms the lies are spent only while the best arm is in the duel; `spent` of C are told."""
    dim, gap = 8, 0.25
    horizon = round(dim * C / (4.0 * gap))
    lies = Masking(budget=C if spent is None else spent, gap=gap)
    finals = [
        regret_of(BasisArms(dim=dim, gap=gap).start(runs=range(200), seed=seed), NoDelay(),
                  horizon=horizon, method=method, lies=lies).sum(axis=1)
        for method in PAPER_FIVE
    ]  # fmt: skip
    best = min(finals, key=lambda final: float(final.mean()))
    return Checked(printed=at_least(best / (dim * C), MASKED_CONSTANT))


def blind_growth(seed: int, arms_of: Callable[[int], Array]) -> Array:
    """(10,) exponents of d of a blind round's regret with Θ* ∈ {±Δ}^d among these arms."""
    dims = (2, 4, 8)
    means: list[Array] = []
    for d in dims:
        theta = 0.25 * signs(range(400), seed, d)
        world = FiniteWorld(points=arms_of(d), theta=theta, runs=range(400), seed=seed)
        regret = blind_regret(world, ConstantDelay(rounds=BLIND))
        means.append(np.array([part.mean() for part in np.array_split(regret, 10)]))
    return exponents(np.array(dims, dtype=float), np.stack(means, axis=1))


def check_basis(seed: int, arms_of: Callable[[int], Array] = np.eye) -> Checked:
    """Arms e_i as the remark says, {±1}^d as the proof does."""
    return Checked(
        printed=at_least(blind_growth(seed, arms_of), 1.0),
        corrected=at_least(blind_growth(seed, sign_vectors), 1.0),
    )


def check_sum(seed: int, *, share: float = 3.0) -> Checked:
    terms = np.random.default_rng([seed, 17]).lognormal(0.0, 2.0, (1000, 3))
    return Checked(printed=always(terms.sum(axis=1) / share / terms.max(axis=1)))


CLAIMS = (
    Claim(
        name="blind-ball",
        labels=("lem:delay_lb", "(C.21)", "(C.23)", "(C.24)", "(C.25)", "(C.26)"),
        statement="On the unit ball a round of the blind phase costs 2√dΔ.",
        measures="mean regret of a blind round, d = 4, Δ = 1/8; 2√dΔ = 0.5",
        because="The proof's regret lacks the ½ of the definition; under the definition a round costs √dΔ.",
        check=check_ball,
    ),
    Claim(
        name="blind-cube",
        labels=("lem:stochastic_delay_lb", "(C.27)", "(C.28)", "(C.29)", "(C.30)", "(C.31)"),
        statement="On the hypercube a round before the first vote costs 2dΔ.",
        measures="mean regret of a blind round, d = 4, Δ = ¼; 2dΔ = 2",
        because="The proof's regret lacks the ½ of the definition; under the definition a round costs dΔ.",
        check=check_cube,
    ),
    Claim(
        name="blind-length",
        labels=("(C.22)",),
        statement="M = ⌊(√(1 + 8Λ) - 1)/2⌋ is the longest blind phase that Λ buys.",
        measures="M(M + 1)/2 over Λ, and Λ over the cost of one round more, the larger, for Λ = 1 … 2000",
        because="The delays M, M - 1, …, 1 sum to M(M + 1)/2.",
        check=check_blind_length,
    ),
    Claim(
        name="hard-instances-fit",
        labels=("thm:lowerbound",),
        statement="The hard instances satisfy the assumptions of the upper bound.",
        measures="‖z‖ over ½ and ‖Θ*‖ over 1, the larger; hypercube d = 8, ball d = 6",
        because="Their arms have length √d and 1, not ½; scaled to fit, a round's regret is at most M, "
        "so no power of d is left in the delay terms.",
        check=check_norms,
    ),
    Claim(
        name="gap-in-dimension",
        labels=("remark:order-wise-optimality",),
        statement="For adversarial delays upper and lower bound differ by √d.",
        measures="exponent of d of the blind phase's regret on the ball with ‖Θ*‖ = 1; √(dΛ) needs ½",
        because="√(dΛ) comes from ‖Θ*‖ = Δ√d, which grows with d; under ‖Θ*‖ ≤ M the blind phase costs "
        "√Λ and the gap is d.",
        check=check_gap_in_dim,
    ),
    Claim(
        name="curvature-in-lower-bound",
        labels=("thm:lowerbound", "(C.33)"),
        statement="The delay term of the lower bound scales with 1/κ.",
        measures="exponent of κ of the blind phase's regret under the link σ(κx)",
        because="Without votes the link plays no part; 1/κ would need Δ ∝ 1/κ, which breaks ‖Θ*‖ ≤ M.",
        check=check_curvature,
    ),
    Claim(
        name="lower-statistical",
        labels=("lem:stat_corr_lb", "thm:lowerbound", "remark:additive-form"),
        statement="Some instance costs every algorithm d√T/28: the hypercube with Δ = 1/(16√T).",
        measures="regret of the best of the five methods over d√T, d = 4, T = 300; 1/28 = 0.036",
        because="T votes cannot tell the sign of a coordinate that moves each vote by 4Δ = 1/(4√T).",
        check=check_statistical,
    ),
    Claim(
        name="lower-corruption",
        labels=("lem:stat_corr_lb", "thm:lowerbound", "remark:additive-form"),
        statement="Some instance costs every algorithm dC/8: one best arm among e_1 … e_d, its lead "
        "hidden by lies.",
        measures="regret of the best of the five methods over dC, d = 8, C = 10; 1/8 = 0.125",
        because="Lies are spent only in duels with the best arm, which a learner that sees no difference "
        "serves in 2/d of the rounds.",
        check=check_corruption,
    ),
    Claim(
        name="lower-in-introduction",
        labels=("thm:lowerbound",),
        statement="The introduction's Ω(√(dT)), where the theorem has Ω(d√T).",
        measures="regret of the best of the five methods over √(dT), d = 4, T = 300; needs 1/28",
        because="The theorem's form is the one proved; the introduction's is weaker by √d.",
        check=check_introduction,
    ),
    Claim(
        name="different-constructions",
        labels=("remark:different-constructions",),
        statement="The stochastic bound Ω(dμ) uses the arms e_1 … e_d.",
        measures="exponent of d of a blind round's regret with Θ* ∈ {±Δ}^d; dμ needs 1",
        because="Among e_1 … e_d a round costs at most Δ whatever d is; the proof itself uses {±1}^d, "
        "where it costs dΔ.",
        check=check_basis,
    ),
    Claim(
        name="sum-of-bounds",
        labels=("(C.32)", "(C.33)", "remark:nature-of-the-lower-bound", "remark:additive-form"),
        statement="max(A, B, C) ≥ (A + B + C)/3 turns three instances into one sum.",
        measures="(A + B + C)/3 over max(A, B, C), 1,000 random triples",
        because="A mean never exceeds a maximum.",
        check=check_sum,
    ),
)

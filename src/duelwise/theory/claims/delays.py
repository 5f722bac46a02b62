"""Votes that are out: how many there can be, and what a budget buys."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from duelwise.lab.play.delays import BlindPhase, DelayModel, NoDelay, StrategicDelay
from duelwise.learning import radii
from duelwise.learning.learner import DuelingLearner
from duelwise.theory.claim import Checked, Claim, Line, Picture
from duelwise.theory.measuring import always, rate
from duelwise.theory.setting import Setting
from duelwise.theory.walking import walk
from duelwise.types import Array, Contexts, IntArray, Votes

BUDGETS = (100, 400, 1600, 6400)  # Λ
MEAN, RUNS, HORIZON, DELTA = 40.0, 1000, 600, 0.05


def out_at_most(delay: IntArray) -> IntArray:
    """(R,) the most votes out at any time: D_t = #{s < t : s + τ_s > t}, delay (R, T) of rounds 1 … T."""
    rounds = delay.shape[1]
    change = np.zeros((len(delay), rounds + 2), dtype=np.int64)
    for s in range(1, rounds + 1):  # a vote is out at t = s + 1 … s + τ - 1
        late = np.flatnonzero(delay[:, s - 1] >= 2)
        change[late, s + 1] += 1
        change[late, np.minimum(s + delay[late, s - 1], rounds + 1)] -= 1
    return np.cumsum(change, axis=1).max(axis=1)


def blind(budget: int, horizon: int) -> IntArray:
    """(1, T) the delays of the blind phase."""
    t = np.arange(1, horizon + 1)
    return np.maximum(0, radii.blind_phase(budget) - t + 1)[None]


def spread(budget: int, horizon: int, seed: int) -> IntArray:
    """(R, T) random delays that spend the budget: other adversaries to try the bound with."""
    random = np.random.default_rng([seed, budget])
    longest = random.integers(1, 2 * math.isqrt(2 * budget), (RUNS, 1))
    delay = random.integers(0, longest + 1, (RUNS, horizon))
    spent = np.cumsum(delay, axis=1)
    return np.where(spent <= budget, delay, 0)


def check_adversarial(seed: int, *, spent: int = BUDGETS[2]) -> Checked:
    """`spent` is what the adversary really spends of the budget."""
    budget = BUDGETS[2]
    bound = radii.pending_bound(budget)
    tried = [out_at_most(blind(spent, HORIZON)), out_at_most(spread(budget, HORIZON, seed))]
    most = tuple(float(out_at_most(blind(b, HORIZON))[0]) for b in BUDGETS)
    budgets = tuple(map(float, BUDGETS))
    picture = Picture(
        title="Votes out in the blind phase against √(2Λ)",
        across="Λ",
        up="votes out",
        lines=(
            Line(name="max D_t", x=budgets, y=most),
            Line(name="√(2Λ)", x=budgets, y=tuple(radii.pending_bound(b) for b in BUDGETS)),
            Line(name="√Λ", x=budgets, y=tuple(math.sqrt(b) for b in BUDGETS)),
        ),
        logarithmic=True,
    )
    return Checked(printed=always(np.concatenate(tried) / bound), pictures=(picture,))


def gaussian_delays(seed: int) -> IntArray:
    """(R, T) delays N(μ, (μ/4)²), rounded."""
    random = np.random.default_rng([seed, 7])
    return np.maximum(np.rint(random.normal(MEAN, MEAN / 4, (RUNS, HORIZON))), 0).astype(np.int64)


def bernstein(mean: float) -> float:
    """The most votes out with independent delays of this mean."""
    return radii.stochastic_pending_bound(mean, horizon=HORIZON, confidence=DELTA)


def check_stochastic(seed: int, bound_of: Callable[[float], float] = bernstein) -> Checked:
    most, bound = out_at_most(gaussian_delays(seed)), bound_of(MEAN)
    return Checked(printed=rate(most > bound, confidence=DELTA))


def check_complexity(seed: int, bound_of: Callable[[float], float] = bernstein) -> Checked:
    """D_t against D itself, as β_t takes it, in both regimes."""
    budget = BUDGETS[2]
    adversarial = np.repeat(out_at_most(blind(budget, HORIZON)), RUNS) / math.sqrt(budget)
    stochastic = out_at_most(gaussian_delays(seed)) / MEAN
    bounded = stochastic * MEAN / bound_of(MEAN)
    worst = np.maximum(adversarial, stochastic)
    mended = np.maximum(adversarial * math.sqrt(budget) / radii.pending_bound(budget), bounded)
    return Checked(
        printed=rate(worst > 1.0, confidence=DELTA), corrected=rate(mended > 1.0, confidence=DELTA)
    )


def spent_in(setting: Setting, delay: DelayModel) -> tuple[Array, Array]:
    """(R,) lies told and (R,) rounds of delay in one play."""
    scenario = setting.scenario().with_delay(delay)
    learner = setting.learner()
    lies, late = np.zeros(setting.runs), np.zeros(setting.runs)
    for _, step, history in walk(learner, scenario, horizon=setting.horizon):
        lies = np.sum((history.told != history.honest) & ~np.isnan(history.told), axis=1)
        late += step.pending  # a vote is out for as many later rounds as it is late
    return lies.astype(float), late


def check_budgets(seed: int, *, granted: int | None = None) -> Checked:
    setting = Setting(seed=seed, horizon=120)
    told = setting if granted is None else Setting(seed=seed, horizon=120, corruption_budget=granted)
    lies, late = spent_in(told, StrategicDelay(budget=setting.delay_budget))
    worst = np.maximum(lies / setting.corruption_budget, late / setting.delay_budget)
    return Checked(printed=always(worst))


def check_weights_ignore_delays(
    seed: int, learners: tuple[DuelingLearner, DuelingLearner] | None = None
) -> Checked:
    """The same duels, once with every vote at once and once with late ones: the weights must not move."""
    setting = Setting(seed=seed, horizon=80)
    one, other = learners or (setting.learner(), setting.learner())
    world, run = setting.world(), np.arange(setting.runs)
    channels = [
        setting.scenario().with_delay(delay).channel() for delay in (NoDelay(), BlindPhase(budget=900))
    ]
    weights: list[dict[tuple[int, int], float]] = [{}, {}]
    for t in range(setting.horizon):
        x = world.contexts(t)
        duel, truth = one.choose(x), world.reveal(t, x)
        y = np.empty((setting.runs, 2, 0))
        outcome = world.vote(t, truth, duel.arms)
        for learner, channel, seen in zip((one, other), channels, weights, strict=True):
            learner.serve(duel)
            learner.observe(Contexts(run, np.full(setting.runs, t), y))
            channel.send(t, learner.served(t), outcome, truth.utility)
            votes = channel.arrivals(t)
            learned = learner.tell(Votes(votes.run, votes.round, votes.outcome))
            keys = zip(learned.run.tolist(), learned.round.tolist(), strict=True)
            seen.update(zip(keys, learned.weight.tolist(), strict=True))
    apart = np.zeros(setting.runs)
    for (r, s), weight in weights[1].items():
        apart[r] = max(apart[r], abs(weight - weights[0][r, s]))
    return Checked(printed=always(apart / 1e-12))


CLAIMS = (
    Claim(
        name="pending-adversarial",
        labels=("lemma:invisible_feedbacks", "eq:D_adversarial"),
        statement="With delays that sum to Λ, at most √(2Λ) votes are out at any time.",
        measures="largest D_t over √(2Λ) in the blind phase and in 1,000 random schedules, Λ = 1600",
        because="D_t votes that are out have delays of at least 2, 3, …, D_t + 1; the blind phase comes "
        "within a few per cent.",
        check=check_adversarial,
    ),
    Claim(
        name="pending-stochastic",
        labels=("lemma:invisible_feedbacks", "eq:D_stochastic"),
        statement="With independent delays of mean μ, D_t ≤ μ + √(2μ ln(T/δ)) + ln(T/δ)/3 for all t with "
        "probability 1 - δ.",
        measures="share of runs that exceed it, N(40, 10²); δ = 0.05",
        because="D_t is a sum of independent 0-1 variables with mean at most μ; Bernstein's inequality "
        "gives the printed order.",
        check=check_stochastic,
    ),
    Claim(
        name="pending-in-radius",
        labels=("eq:D_bound", "lemma:concentration"),
        statement="D_t ≤ D = max(√Λ, μ), as the term αD of β_t takes it.",
        measures="share of runs with D_t > D in the worse regime; δ = 0.05",
        because="The lemma's Õ hides √2 and a deviation: D_t reaches √(2Λ) and passes μ; with those two "
        "bounds for D it holds.",
        check=check_complexity,
    ),
    Claim(
        name="budgets",
        labels=("as:delay",),
        statement="The adversary flips at most C votes and its delays sum to at most Λ.",
        measures="lies over C and delay over Λ, the larger, worst of a run",
        because="The channel grants flips and delays from the budgets in one place.",
        check=check_budgets,
    ),
    Claim(
        name="weights-ignore-delays",
        labels=("eq:adaptive_weight",),
        statement="The weights are fixed at serving: no delay changes them.",
        measures="largest change of a weight over 10⁻¹² between no delay and a blind phase, same duels",
        because="ω is computed in V, which moves when a duel is served, and never when its vote arrives.",
        check=check_weights_ignore_delays,
    ),
)

"""What the votes say of Θ, with an uncertainty that holds although the stream chose the pairs itself.

Neither W⁻¹ nor a sandwich covers under adaptive choice. Here Θ has a prior whose scale is unknown: on a
grid of scales s each has a Gaussian posterior of its own, and they are averaged by their evidence.

    prior of scale s      Θ_j ~ N(0, s² / (k̄ v_j))     v_j: mean Δz_j² of the duels in which j differs,
                                                        k̄: how many features differ in a duel
    news of a duel        ΔzᵀPΔz / ΔzᵀP₀Δz              the share of the prior's variance left along Δz
    a vote                the tilted mean and variance along Δz (assumed density filtering), O(d²)
    evidence of a scale   the product of the chances it gave to each vote before it saw it
    answer                mean Σ w θ_s, covariance Σ w (P_s + (θ_s - mean)(θ_s - mean)ᵀ)

s is the spread of utility differences that the prior expects, so it has no unit, and features may have
any: multiplying one by a thousand changes no answer. v and k̄ follow the votes at 1, 2, 4, 8, … of them, and
the evidence with them. In both means a duel counts by its news: a stream that settles who is best asks about
two or three items again and again, and the units of all features must not hang on those pairs alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from duelwise.learning.core.cholesky import invert
from duelwise.learning.core.jit import compiled, compiled_when_it_pays
from duelwise.types import Array, IntArray, Snapshot

LEAST_SCALE, SCALE_STEP, SCALES = 0.05, 1.8, 12  # up to 32: utilities far beyond what a logit can tell
TINY = 1e-140  # a difference below is none, in a feature or in what a vote can say: squares leave the floats
BEYOND_UNIT = 1e12  # times the square of its unit: what differed before was rounding, or had another unit
FAR = 40.0  # logits: Newton's steps of at most four reach the mode from here
CLOSE = 1e-4  # a step of Newton's that leaves the mode far closer than it matters where the nodes stand
FARTHEST = 300.0  # logits from the mode: exponentials stay in the floats
SMALL_SCALE, TYPICAL_SCALE = 0.9, 4.0  # s is about as likely anywhere between, and less so above;
SMALL_POWER = 0.55  # below, the density of log s is s^0.55: docs/answers.md has how often intervals hold so
NEWS_SCALE = (
    8  # of the grid, s = 5.5: a second look at a pair is 41 % news, a tenth 2 %, a hundred make up 2.2
)

_ALL_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_ALL_CORRECTED = _WEIGHTS * np.exp(
    0.5 * _ALL_NODES**2
)  # for sums of f itself, not of f times the normal density
_CENTRE, _NODES, _CORRECTED = float(_ALL_CORRECTED[3]), _ALL_NODES[4:].copy(), _ALL_CORRECTED[4:].copy()


class Belief(NamedTuple):
    """One posterior for each run and scale, and what the votes so far say of units and foresight."""

    scale: Array  # (G,) s
    prior: Array  # (G,) log prior weight
    evidence: Array  # (R, G) log evidence
    mean: Array  # (R, G, d) θ_s
    covariance: Array  # (R, G, d, d) P_s
    precision: Array  # (R, d) k̄ v: the prior's precision at s = 1
    news: Array  # (R,) of all duels
    square_sum: Array  # (R, d) Σ news Δz_j²
    differing: Array  # (R, d) Σ news over the duels in which j differed
    votes: IntArray  # (R,)


class Posterior(NamedTuple):
    """Θ as the average over scales has it, for one run."""

    mean: Array  # (d,)
    covariance: Array  # (d, d)
    prior_variance: Array  # (d,) of each coefficient before any vote
    votes: int


def belief(*, runs: int, dim: int) -> Belief:
    """Nothing voted yet."""
    scale: Array = np.array([LEAST_SCALE * SCALE_STEP**g for g in range(SCALES)])
    small = np.minimum(scale / SMALL_SCALE, 1.0) ** SMALL_POWER
    prior = np.log(small * np.maximum(scale, SMALL_SCALE)) - np.log1p((scale / TYPICAL_SCALE) ** 2)
    start = (scale**2)[None, :, None, None] * np.eye(dim)
    return Belief(
        scale=scale,
        prior=prior - np.logaddexp.reduce(prior),
        evidence=np.zeros((runs, SCALES)),
        mean=np.zeros((runs, SCALES, dim)),
        covariance=np.repeat(start, runs, axis=0),
        precision=np.ones((runs, dim)),
        news=np.zeros(runs),
        square_sum=np.zeros((runs, dim)),
        differing=np.zeros((runs, dim)),
        votes=np.zeros(runs, dtype=np.int64),
    )


def learn(held: Belief, run: IntArray, dz: Array, outcome: Array, weight: Array | None = None) -> Array:
    """Take votes in, in order: run (n,), dz (n, d), outcome (n,), weight (n,), 1 where not given.

    Returns the chance (n,) of the first of the pair to win, as foreseen before each vote was seen.
    """
    counted = np.ones(len(outcome)) if weight is None else weight
    return _learn(held, run, np.ascontiguousarray(dz), outcome, counted)


def snapshot(held: Belief) -> Snapshot:
    """Copies of all that the votes have moved."""
    return {name: np.array(getattr(held, name)) for name in Belief._fields}


def restore(held: Belief, state: Snapshot) -> None:
    """Take over a snapshot, in place."""
    for name in Belief._fields:
        getattr(held, name)[...] = state[name]


@compiled
def posterior(held: Belief, r: int = 0) -> Posterior:
    """The average of run r's posteriors over the scales, weighted by their evidence."""
    scales, d = held.mean.shape[1], held.mean.shape[2]
    share = np.exp(held.prior + held.evidence[r] - np.max(held.prior + held.evidence[r]))
    share /= share.sum()
    mean, covariance, square = np.zeros(d), np.zeros((d, d)), 0.0
    for g in range(scales):
        square += share[g] * (held.scale[g] * held.scale[g])
        for i in range(d):
            mean[i] += share[g] * held.mean[r, g, i]
    for g in range(scales):
        if share[g] < 1e-12:  # adds nothing to any digit
            continue
        for i in range(d):
            apart = held.mean[r, g, i] - mean[i]
            for j in range(d):
                covariance[i, j] += share[g] * (
                    held.covariance[r, g, i, j] + apart * (held.mean[r, g, j] - mean[j])
                )
    return Posterior(mean, covariance, square / held.precision[r], held.votes[r])


@compiled_when_it_pays
def _learn(held: Belief, run: IntArray, dz: Array, outcome: Array, weight: Array) -> Array:
    foreseen = np.empty(outcome.shape[0])
    for i in range(outcome.shape[0]):
        foreseen[i] = learn_vote(held, run[i], dz[i], outcome[i], weight[i])
    return foreseen


@compiled
def learn_vote(held: Belief, r: int, dz: Array, outcome: float, weight: float) -> float:
    """Run r takes one vote in; returns the chance that it gave to the first of the pair."""
    _note_units(held, r, dz)
    d, scales = dz.shape[0], held.scale.shape[0]
    log_shares = np.empty(scales)
    chances = np.empty(scales)
    highest = -np.inf
    pulled = np.empty(d)
    for g in range(scales):
        log_shares[g] = held.prior[g] + held.evidence[r, g]
        highest = max(highest, log_shares[g])
        theta, covariance = held.mean[r, g], held.covariance[r, g]
        _pull(covariance, dz, pulled)
        m, q = 0.0, 0.0
        for i in range(d):
            q += dz[i] * pulled[i]
            m += theta[i] * dz[i]
        chances[g] = _moderated(m, q)
        if q <= TINY or weight == 0.0:  # a pair of equals says nothing
            continue
        log_chance, mean, variance = _tilted(m, q, outcome, weight)
        held.evidence[r, g] += log_chance
        step, shrink = (mean - m) / q, (q - variance) / (q * q)
        for i in range(d):
            theta[i] += step * pulled[i]
            down = shrink * pulled[i]
            for j in range(d):
                covariance[i, j] -= down * pulled[j]
    total, foreseen = 0.0, 0.0
    for g in range(scales):
        share = math.exp(log_shares[g] - highest)
        total += share
        foreseen += share * chances[g]
    return foreseen / total


@compiled
def _pull(covariance: Array, dz: Array, out: Array) -> None:
    """PΔz (d,) into out, row by row of the symmetric P: several entries at a time, where sums would wait."""
    out[:] = 0.0
    for j in range(dz.shape[0]):
        row, by = covariance[j], dz[j]
        for i in range(dz.shape[0]):
            out[i] += row[i] * by


@compiled
def _moderated(m: float, q: float) -> float:
    """E σ(u) for u ~ N(m, q), to within .01: the probit's, which has a closed form."""
    return 1.0 / (1.0 + math.exp(-m / math.sqrt(1.0 + math.pi * q / 8.0)))


@compiled
def _tilted(m: float, q: float, outcome: float, weight: float) -> tuple[float, float, float]:
    """log E ℓ(u), and mean and variance of u ~ N(m, q) after the vote ℓ(u) = (σ(u)^o σ(-u)^(1-o))^w.

    Gauss-Hermite quadrature about the mode, which Newton's method finds: ℓ is log-concave.
    """
    u = m
    if m < -FAR:  # a sure vote that went the other way: σ is 0 or 1 there, and the mode is far from m
        u = min(m + weight * outcome * q, -FAR)
    elif m > FAR:
        u = max(m - weight * (1.0 - outcome) * q, FAR)
    precision = 1.0 / q
    for _ in range(30):
        p = 1.0 / (1.0 + math.exp(-u))
        gradient = weight * (outcome - p) - (u - m) * precision
        move = gradient / (weight * p * (1.0 - p) + precision)
        move = min(max(move, -4.0), 4.0)
        u += move
        if abs(move) < CLOSE:
            break
    odds = math.exp(-abs(u))
    p, other = 1.0 / (1.0 + odds), odds / (1.0 + odds)  # σ(|u|) and σ(-|u|), neither of them 1 less the other
    if u < 0.0:
        p, other = other, p
    width = 1.0 / math.sqrt(weight * p * other + precision)
    slope, top = weight * outcome - (u - m) * precision, _log_tilted(u, m, q, outcome, weight)
    total, first, second = _CENTRE, 0.0, 0.0
    for k in range(_NODES.shape[0]):  # two at a time: either side of the mode
        at = _NODES[k] * width
        if at < FARTHEST:  # ℓ(u + at)/ℓ(u) = exp(w o at) / (σ(-u) + σ(u) exp(at))^w: no logarithm
            rise, near, tilt = math.exp(at), math.exp(-0.5 * at * at * precision), math.exp(slope * at)
            high, low = other + p * rise, other * rise + p  # the latter is that below, times exp(at)
            if weight == 1.0:
                above, below = near * tilt / high, near * rise / (tilt * low)
            else:
                above = near * tilt * math.exp(-weight * math.log(high))
                below = near / tilt * math.exp(weight * (at - math.log(low)))
        else:
            above = math.exp(_log_tilted(u + at, m, q, outcome, weight) - top)
            below = math.exp(_log_tilted(u - at, m, q, outcome, weight) - top)
        above, below = _CORRECTED[k] * above, _CORRECTED[k] * below
        total += above + below
        first += (above - below) * at
        second += (above + below) * at * at
    first /= total
    second /= total
    log_chance = top + math.log(total * width * math.sqrt(precision / (2.0 * math.pi)))
    return log_chance, u + first, second - first * first


@compiled
def _log_tilted(u: float, m: float, q: float, outcome: float, weight: float) -> float:
    """log of ℓ(u) exp(-(u - m)²/2q)."""
    log_other = -(math.log1p(math.exp(-abs(u))) + max(u, 0.0))  # log σ(-u)
    return weight * (outcome * u + log_other) - (u - m) * (u - m) / (2.0 * q)


@compiled
def _note_units(held: Belief, r: int, dz: Array) -> None:
    """Count a duel's differences by its news; at 1, 2, 4, 8, … votes the priors follow what has been seen,
    and at once where a difference is so far beyond its unit that sums of both would leave the floats."""
    _meet_features(held, r, dz)
    beyond = False
    news = _news(held, r, dz)
    held.votes[r] += 1
    held.news[r] += news
    for j in range(dz.shape[0]):
        if abs(dz[j]) > TINY:
            held.differing[r, j] += news
            held.square_sum[r, j] += news * dz[j] * dz[j]
            beyond = beyond or dz[j] * dz[j] > BEYOND_UNIT * held.precision[r, j]
    n = held.votes[r]
    if beyond or n & (n - 1) == 0:
        _follow_units(held, r)


@compiled
def _meet_features(held: Belief, r: int, dz: Array) -> None:
    """A feature that differs for the first time has its unit from this duel: no vote has told of it yet."""
    typical = 0.0
    for j in range(dz.shape[0]):
        if held.news[r] > 0.0:
            typical += held.differing[r, j] / held.news[r]
        elif abs(dz[j]) > TINY:
            typical += 1.0
    for j in range(dz.shape[0]):
        if abs(dz[j]) > TINY and held.differing[r, j] == 0.0:
            held.precision[r, j] = max(typical, 1.0) * dz[j] * dz[j]
            for g in range(held.scale.shape[0]):
                held.covariance[r, g, j, j] = held.scale[g] * held.scale[g] / held.precision[r, j]


@compiled
def _news(held: Belief, r: int, dz: Array) -> float:
    """ΔzᵀPΔz / ΔzᵀP₀Δz at a middle scale: 1 for what no vote has told of, near 0 for a pair asked often."""
    pulled, prior = np.empty(dz.shape[0]), held.scale[NEWS_SCALE] * held.scale[NEWS_SCALE]
    _pull(held.covariance[r, NEWS_SCALE], dz, pulled)
    left, before = 0.0, 0.0
    for i in range(dz.shape[0]):
        left += dz[i] * pulled[i]
        before += dz[i] * dz[i] * prior / held.precision[r, i]
    return min(max(left / before, 0.0), 1.0) if before > 0.0 else 0.0


@compiled
def _follow_units(held: Belief, r: int) -> None:
    """Replace the prior's precision k̄ v in every posterior; a feature never seen to differ keeps its own.

    With Λ the prior's precision and η = P⁻¹θ what the votes say (it stays), a scale's evidence moves by
    ½ Δlog|Λ| - ½ Δlog|P⁻¹| + ½ Δ ηᵀPη: as if the prior had been the new one all along.
    """
    d = held.precision.shape[1]
    differing = 0.0
    for j in range(d):
        differing += held.differing[r, j]
    typical = max(differing / held.news[r], 1.0) if held.news[r] > 0.0 else 1.0
    change, log_change = np.zeros(d), 0.0
    for j in range(d):
        if held.differing[r, j] > 0.0:
            new = typical * held.square_sum[r, j] / held.differing[r, j]
            change[j] = new - held.precision[r, j]
            log_change += math.log(new / held.precision[r, j])
            held.precision[r, j] = new
    matrix, natural = np.empty((d, d)), np.empty(d)
    for g in range(held.scale.shape[0]):
        theta, covariance = held.mean[r, g], held.covariance[r, g]
        moved = log_change - invert(covariance, matrix)  # log|P|, which is - log|P⁻¹|
        for i in range(d):
            natural[i] = 0.0
            for j in range(d):
                natural[i] += matrix[i, j] * theta[j]
            moved -= natural[i] * theta[i]
        for j in range(d):
            matrix[j, j] += change[j] / (held.scale[g] * held.scale[g])
        moved -= invert(matrix, covariance)
        for i in range(d):
            theta[i] = 0.0
            for j in range(d):
                theta[i] += covariance[i, j] * natural[j]
            moved += natural[i] * theta[i]
        held.evidence[r, g] += 0.5 * moved

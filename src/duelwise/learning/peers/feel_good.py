"""Feel-Good Thompson sampling for pairs (FGTS.CDB), after Li, Zhao and Gu (ICML 2024).

Each arm of a pair is the best under its own draw of Θ, and the two posteriors j = 1, 2 are optimistic:

    p_j(Θ) ∝ exp(-λ‖Θ‖²/2 - Σ_votes loss(Θ) + μ Σ_rounds max_a Θᵀ(z_a - z_other)),

where `other` is the arm that the other draw chose in that round. The paper samples by Langevin steps; so
do we, from a draw of the Gaussian posterior, with W⁻¹ as the metric, so that a few steps are enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.equations import first_arm, second_arm
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.state import Arrivals, Fit
from duelwise.learning.estimation.full_mle import FullMLE, MaximumLikelihood
from duelwise.learning.estimation.maximum_likelihood import RunVotes, record_of, score
from duelwise.learning.selection.rule import View
from duelwise.types import Array, IntArray, Snapshot

STEP = 0.5  # of the Langevin walk, in the metric of the posterior


@compiled
def walk(
    votes: RunVotes, start: Array, inverse: Array, seen: Array, other: IntArray, noise: Array,
    ridge: float, link: int, optimism: float, spread: float,
) -> Array:  # fmt: skip
    """A draw of Θ (d,): Langevin steps from a draw of N(start, spread² inverse).

    seen (m, K, d) are candidates of earlier rounds and other (m,) the arm of the other draw in each;
    `optimism` is μ times the rounds that each of them stands for; noise (steps + 1, d).
    """
    d, root = start.shape[0], np.linalg.cholesky(inverse)
    residual, gradient, theta = np.empty(max(1, votes.held)), np.empty(d), start.copy()
    theta += spread * (root @ noise[0])
    for i in range(1, noise.shape[0]):
        score(votes, theta, ridge, link, residual, gradient)
        for s in range(seen.shape[0]):
            best = first_arm(seen[s], theta)
            for j in range(d):
                gradient[j] -= optimism * (seen[s, best, j] - seen[s, other[s], j])
        theta += -0.5 * STEP * (inverse @ gradient) + math.sqrt(STEP) * spread * (root @ noise[i])
    return theta


@dataclass(frozen=True, kw_only=True)
class FeelGoodDraws:
    """Selection: each of the two is best under its own optimistic draw of Θ."""

    dim: int
    optimism: float  # μ; of order 1/√T
    regularisation: float | Array = 1.0  # λ
    steps: int = 10
    looks_back: int = 64  # rounds, spread evenly over the past, that stand for all of them

    def pairs(self, view: View) -> IntArray:
        posterior, runs = view.estimate, len(view.z)
        if not isinstance(posterior, FeelGoodEstimate):
            raise InvalidInput(
                "FeelGoodDraws looks into its own posterior. Make the learner with estimate=FeelGood()."
            )
        rounds = len(posterior.past)
        past = np.unique(np.arange(self.looks_back) * rounds // self.looks_back)[:rounds]
        each = self.optimism * rounds / max(1, len(past))
        count = (self.steps + 1) * self.dim
        noise = view.noise.normal(view.round, 2 * count).reshape(runs, 2, self.steps + 1, self.dim)
        arms, ridge = np.empty((runs, 2), dtype=np.int64), np.broadcast_to(self.regularisation, runs)
        for r in range(runs):
            votes = record_of(posterior.votes.history, r)
            theta = [
                walk(
                    votes, view.theta[r], view.inverse[r], *posterior.seen(past, r, other=1 - j),
                    noise[r, j], float(ridge[r]), posterior.link, each, float(view.width[r]),
                )
                for j in range(2)
            ]  # fmt: skip
            z = np.ascontiguousarray(view.z[r])
            arms[r, 0] = first_arm(z, theta[0])
            if view.distinct:
                arms[r, 1] = second_arm(z, theta[1], view.inverse[r], arms[r, 0], 0.0, True)
            else:
                arms[r, 1] = first_arm(z, theta[1])
        return arms


@dataclass(frozen=True, kw_only=True)
class FeelGood:
    """Estimation: maximum likelihood over all votes, and a memory of what was offered."""

    def start(
        self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array
    ) -> FeelGoodEstimate:
        votes = FullMLE().start(
            runs=runs, dim=dim, link=link, regularisation=regularisation, curvature=curvature
        )
        return FeelGoodEstimate(votes, link)


class FeelGoodEstimate:
    """The votes, and what was offered and chosen in each round."""

    def __init__(self, votes: MaximumLikelihood, link: int) -> None:
        self.votes, self.link = votes, link
        self.past: list[tuple[Array, IntArray]] = []  # (R, K, d) and (R, 2) for each round

    @property
    def theta(self) -> Array:
        return self.votes.theta

    def learn(self, fit: Fit, r: int, arrivals: Arrivals) -> None:
        self.votes.learn(fit, r, arrivals)

    def offered(self, candidates: Array | None, arms: IntArray) -> None:
        """The next round; one that does not say what was offered makes nobody feel good."""
        if candidates is not None:
            self.past.append((candidates, arms))

    def seen(self, rounds: IntArray, r: int, *, other: int) -> tuple[Array, IntArray]:
        """Candidates (m, K, d) of run r in these rounds, and the arm of the first or second draw in each.

        Where fewer were offered than elsewhere, that arm stands for the rest.
        """
        seen = np.empty((len(rounds), self._most(), self.theta.shape[1]))
        chosen = np.empty(len(rounds), dtype=np.int64)
        for i in range(len(rounds)):
            candidates, arms = self.past[int(rounds[i])]
            chosen[i] = arms[r, other]
            seen[i] = candidates[r, chosen[i]]
            seen[i, : candidates.shape[1]] = candidates[r]
        return seen, chosen

    def _most(self) -> int:
        return max((candidates.shape[1] for candidates, _ in self.past), default=0)

    def snapshot(self) -> Snapshot:
        runs, dim = self.theta.shape
        offered = np.full((len(self.past), runs, self._most(), dim), np.nan)
        for t, (candidates, _) in enumerate(self.past):
            offered[t, :, : candidates.shape[1]] = candidates
        counts = [candidates.shape[1] for candidates, _ in self.past]
        chosen = np.array([arms for _, arms in self.past], dtype=np.int64).reshape(-1, runs, 2)
        held = {"offered": offered, "offers": np.array(counts, dtype=np.int64), "chosen": chosen}
        return self.votes.snapshot() | held

    def restore(self, state: Snapshot) -> None:
        self.votes.restore(state)
        offered, chosen = state["offered"], state["chosen"]
        self.past = [(offered[t, :, :count], chosen[t]) for t, count in enumerate(state["offers"].tolist())]

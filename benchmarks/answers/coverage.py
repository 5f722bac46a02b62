"""How often a 95 % interval holds the truth, though the stream chose the pairs by what it had learned."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.answers.choosing import chooser
from benchmarks.answers.worlds import ITEMS, linear, votes
from duelwise.answers.belief import belief, learn, posterior
from duelwise.types import Array

Z95 = 1.959964
MARKS = (300, 2000)
SANDWICHED = 200  # runs whose votes are kept for the sandwich


def rows(runs: int, seed: int) -> Iterator[dict[str, object]]:
    """A line for each setting; utilities of the usual size first."""
    for scale in (1.0, 1 / 3, 3.0):
        for dim in (5, 20):
            for goal in ("serve", "settle"):
                for fresh in (True, False):
                    yield from measure(goal, dim=dim, fresh=fresh, scale=scale, runs=runs, seed=seed)


def measure(
    goal: str, *, dim: int, fresh: bool, scale: float, runs: int, seed: int
) -> Iterator[dict[str, object]]:
    """Utilities of standard deviation `scale`; candidates anew each round, or one catalogue."""
    rng = np.random.default_rng([dim, fresh, int(10 * scale), goal == "settle", seed])
    world = linear(rng, runs=runs, dim=dim, scale=scale / np.sqrt(dim))
    held, choose = belief(runs=runs, dim=dim), chooser(goal, runs=runs, dim=dim, rng=rng)
    at, items = np.arange(runs), world.items
    nothing_out = np.zeros((runs, 0, dim))
    kept_dz = np.zeros((MARKS[-1], min(SANDWICHED, runs), dim))
    kept_votes = np.zeros((MARKS[-1], min(SANDWICHED, runs)))
    for t in range(MARKS[-1]):
        if fresh:
            items = rng.normal(size=items.shape)
        pairs = choose.pairs(held, items, nothing_out)
        dz = items[at, pairs[:, 0]] - items[at, pairs[:, 1]]
        outcome = votes(rng, dz, world.theta)
        choose.told(outcome)
        learn(held, at, dz, outcome)
        kept_dz[t], kept_votes[t] = dz[: kept_dz.shape[1]], outcome[: kept_dz.shape[1]]
        if t + 1 in MARKS:
            ours = [_covered(*posterior(held, r)[:2], world.theta[r], items[r]) for r in range(runs)]
            usual = [
                _covered(*_sandwich(kept_dz[: t + 1, r], kept_votes[: t + 1, r]), world.theta[r], items[r])
                for r in range(kept_dz.shape[1])
            ]
            yield {
                "goal": goal, "d": dim, "candidates": "fresh" if fresh else "catalogue",
                "scale": round(scale, 2), "votes": t + 1, "runs": runs,
                "coefficients": float(np.mean([one[0] for one in ours])),
                "differences": float(np.mean([one[1] for one in ours])),
                "sandwich_coefficients": float(np.mean([one[0] for one in usual])),
                "sandwich_differences": float(np.mean([one[1] for one in usual])),
            }  # fmt: skip


def _covered(mean: Array, covariance: Array, theta: Array, items: Array) -> tuple[float, float]:
    """Shares of coefficients and of utility differences whose interval holds the truth."""
    own = np.abs(mean - theta) <= Z95 * np.sqrt(np.diagonal(covariance))
    first, second = np.triu_indices(ITEMS, 1)
    apart = items[first] - items[second]
    error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", apart, covariance, apart), 0.0))
    return float(own.mean()), float((np.abs(apart @ (mean - theta)) <= Z95 * error).mean())


def _sandwich(dz: Array, outcome: Array) -> tuple[Array, Array]:
    """The maximum a posteriori with λ = 1, and H⁻¹ (Σ r² ΔzΔzᵀ) H⁻¹."""
    theta = np.zeros(dz.shape[1])
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-dz @ theta))
        hessian = (dz.T * (p * (1 - p))) @ dz + np.eye(dz.shape[1])
        step = np.linalg.solve(hessian, dz.T @ (outcome - p) - theta)
        theta += step
        if np.abs(step).max() < 1e-8:
            break
    p = 1.0 / (1.0 + np.exp(-dz @ theta))
    inverse = np.linalg.inv((dz.T * (p * (1 - p))) @ dz + np.eye(dz.shape[1]))
    return theta, inverse @ ((dz.T * (outcome - p) ** 2) @ dz) @ inverse

"""How often a 95 % interval holds the truth, though the stream chose the pairs by what it had learned."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.answers.choosing import chooser
from benchmarks.answers.resuming import Measured, nothing_measured
from benchmarks.answers.worlds import ITEMS, linear, votes
from duelwise.answers.belief import belief, learn, posterior
from duelwise.types import Array

Z95 = 1.959964
MARKS = (300, 2000)
AT_ONCE = 250  # runs: their posteriors stay in the processor's cache
SANDWICHED = 200  # runs whose votes are kept for the sandwich


class Setting(NamedTuple):
    """Utilities of standard deviation `scale`; candidates anew each round, or one catalogue."""

    goal: str
    dim: int
    fresh: bool
    scale: float

    @property
    def key(self) -> dict[str, object]:
        candidates = "fresh" if self.fresh else "catalogue"
        return {"goal": self.goal, "d": self.dim, "candidates": candidates, "scale": round(self.scale, 2)}


class Covered(NamedTuple):
    """Shares of coefficients and utility differences whose interval holds the truth, a row for each run."""

    ours: list[tuple[float, float]]
    sandwich: list[tuple[float, float]]


def settings() -> list[Setting]:
    """What is hardest to cover first: one catalogue, utilities of the usual size."""
    return [
        Setting(goal, dim, fresh, scale)
        for fresh in (False, True)
        for scale in (1.0, 3.0, 1 / 3)
        for goal in ("settle", "serve")
        for dim in (20, 5)
    ]


def rows(runs: int, seed: int, measured: Measured = nothing_measured) -> Iterator[dict[str, object]]:
    """A line for each setting and number of votes that has none yet."""
    for setting in settings():
        if all(measured({**setting.key, "votes": mark, "runs": runs}) for mark in MARKS):
            continue
        parts: list[list[Covered]] = []
        for first in range(0, runs, AT_ONCE):
            part = min(AT_ONCE, runs - first)
            parts.append(
                measure(setting, runs=part, seed=seed, part=first // AT_ONCE, sandwiched=SANDWICHED - first)
            )
            print(f"{setting.key}: {first + part} of {runs} runs", file=sys.stderr, flush=True)
        for mark, found in zip(MARKS, zip(*parts, strict=True), strict=True):
            ours = np.array([one for part in found for one in part.ours])
            sandwich = np.array([one for part in found for one in part.sandwich])
            yield {
                **setting.key, "votes": mark, "runs": runs,
                "coefficients": float(ours[:, 0].mean()), "differences": float(ours[:, 1].mean()),
                "sandwich_coefficients": float(sandwich[:, 0].mean()),
                "sandwich_differences": float(sandwich[:, 1].mean()),
            }  # fmt: skip


def measure(setting: Setting, *, runs: int, seed: int, part: int, sandwiched: int) -> list[Covered]:
    """What is covered at each mark; the votes of the first `sandwiched` runs are kept."""
    goal, dim, fresh, scale = setting
    rng = np.random.default_rng([dim, fresh, int(10 * scale), goal == "settle", seed, part])
    world = linear(rng, runs=runs, dim=dim, scale=scale / np.sqrt(dim))
    held, choose = belief(runs=runs, dim=dim), chooser(goal, runs=runs, dim=dim, rng=rng)
    at, items = np.arange(runs), world.items
    nothing_out, keep = np.zeros((runs, 0, dim)), min(max(sandwiched, 0), runs)
    kept_dz, kept_votes = np.zeros((MARKS[-1], keep, dim)), np.zeros((MARKS[-1], keep))
    found: list[Covered] = []
    for t in range(MARKS[-1]):
        if fresh:
            items = rng.normal(size=items.shape)
        pairs = choose.pairs(held, items, nothing_out)
        dz = items[at, pairs[:, 0]] - items[at, pairs[:, 1]]
        outcome = votes(rng, dz, world.theta)
        choose.told(outcome)
        learn(held, at, dz, outcome)
        kept_dz[t], kept_votes[t] = dz[:keep], outcome[:keep]
        if t + 1 in MARKS:
            fits = [_sandwich(kept_dz[: t + 1, r], kept_votes[: t + 1, r]) for r in range(keep)]
            found.append(
                Covered(
                    [_covered(*posterior(held, r)[:2], world.theta[r], items[r]) for r in range(runs)],
                    [_covered(*fit, world.theta[r], items[r]) for r, fit in enumerate(fits)],
                )
            )
    return found


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

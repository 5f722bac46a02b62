"""Planted raters: how many of the bad are found, and how many of the good are accused."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.answers.resuming import Measured, nothing_measured
from duelwise.answers.raters import Judged, judge
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.recipes import recipe
from duelwise.types import Array, BoolArray, Contexts, Votes

SOURCES, BAD = 100, 10
HONEST_SLIPS = 0.04  # of the honest raters' votes in the worlds that are nearly deterministic


def rows(runs: int, seed: int, measured: Measured = nothing_measured) -> Iterator[dict[str, object]]:
    """A line for each world and kind of bad rater; `runs` is the number of seeds."""
    for world, votes, how in (
        ("abs", 2000, "half of the time"), ("abs", 2000, "always"), ("abs", 2000, "one side"),
        ("linear", 2000, "one side"), ("linear", 5000, "half of the time"),
    ):  # fmt: skip
        if not measured({"world": world, "votes": votes, "bad": how, "seeds": runs}):
            yield _measure(world, votes, how, range(seed, seed + runs))


def _measure(world: str, votes: int, how: str, seeds: range) -> dict[str, object]:
    found, accused, undecidable, flagged = [], [], [], []
    for seed in seeds:
        judged = planted(world, votes, how, seed)
        raters = judge(judged, sources=SOURCES, prior_variance=np.full(judged.dz.shape[1], 25.0))
        bad = np.array([flag in ("at chance", "against") for flag in raters.flag])
        aside = np.array([flag == "one-sided" for flag in raters.flag])
        found.append((aside if how == "one side" else bad)[:BAD].mean())
        accused.append((bad | aside)[BAD:].mean())
        undecidable.append(np.mean([flag == "undecidable" for flag in raters.flag]))
        flagged.append((bad | aside).mean())
    return {
        "world": world, "votes": votes, "bad": how, "seeds": len(seeds), "found": float(np.mean(found)),
        "accused": float(np.mean(accused)), "undecidable": float(np.mean(undecidable)),
        "flagged": float(np.mean(flagged)),
    }  # fmt: skip


def planted(world: str, votes: int, how: str, seed: int) -> Judged:
    """Pairs that a new stream serves, voted on by a hundred sources of which the first ten are bad."""
    rng = np.random.default_rng([seed, votes])
    made = LinearWorld(runs=1, mapping="abs" if world == "abs" else "none", seed=seed)
    learner = recipe("live")(runs=1, context_dim=made.context_dim, post_dim=made.post_dim, distinct_pair=True)
    dz, outcome = np.empty((votes, made.context_dim + made.post_dim)), np.empty(votes)
    source, first_left = rng.integers(SOURCES, size=votes), rng.random(votes) < 0.5
    slips, at = HONEST_SLIPS if world == "abs" else 0.0, np.zeros(1, dtype=np.int64)
    for t in range(votes):
        x = made.contexts(t)
        truth = made.reveal(t, x)
        duel = learner.choose(x)
        learner.serve(duel)
        y = truth.y[:, duel.arms[0]]
        learner.observe(Contexts(at, np.array([t]), y))
        z = np.concatenate((duel.x[0], y[0]), axis=1)
        honest = made.vote(t, truth, duel.arms)
        dz[t] = z[0] - z[1]
        outcome[t] = _spoiled(rng, honest, source[t : t + 1] < BAD, first_left[t : t + 1], how, slips)[0]
        learner.tell(Votes(at, np.array([t]), outcome[t : t + 1]))
    return Judged(dz, outcome, source, np.where(first_left, outcome, 1 - outcome))


def _spoiled(
    rng: np.random.Generator, outcome: Array, bad: BoolArray, first_left: BoolArray, how: str, slips: float
) -> Array:
    chance = rng.random(len(outcome))
    turned = np.where(~bad & (chance < slips), 1 - outcome, outcome)
    if how == "one side":
        return np.where(bad, first_left.astype(np.float64), turned)
    share = 1.0 if how == "always" else 0.5
    return np.where(bad & (chance < share), 1 - outcome, turned)

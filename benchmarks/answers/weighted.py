"""What `sources="weighted"` saves where a tenth of the raters lie, and what it costs where nobody does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypedDict

import numpy as np

from benchmarks.answers.resuming import Measured, nothing_measured
from duelwise.answers.trust import distrusted
from duelwise.lab.play.regret import pair_regret
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.recipes import recipe
from duelwise.stream.weighted_sources import next_judgement
from duelwise.types import Array, BoolArray, Contexts, Duel, Votes

SOURCES, VOTES, LATE = 100, 2000, 500
CASES = (("abs", 10), ("abs", 0), ("linear", 10), ("linear", 0))
AT = np.zeros(1, dtype=np.int64)


class Past(NamedTuple):
    """A duel with its vote."""

    duel: Duel
    y: Array
    outcome: Array
    source: int


class Line(TypedDict):
    """What was measured in one world with so many liars."""

    world: str
    liars: int
    seeds: int
    regret: float
    weighted: float
    ratio: tuple[float, float]  # and its standard error
    late: tuple[float, float]  # the same, once votes enough have come
    liars_out: float | None
    honest_out: float


def rows(runs: int, seed: int = 0, measured: Measured = nothing_measured) -> Iterator[Line]:
    """A line for each world and number of liars; `runs` is the number of seeds."""
    for world, liars in CASES:
        if measured({"world": world, "liars": liars, "seeds": runs}):
            continue
        played = [
            [play(world, liars, one, weighted=weighted) for one in range(seed, seed + runs)]
            for weighted in (0, 1)
        ]
        equal, weighed = (np.array([regret for regret, _ in each]) for each in played)
        left_out = np.array([out for _, out in played[1]])
        yield {
            "world": world, "liars": liars, "seeds": runs, "regret": float(equal.sum(axis=1).mean()),
            "weighted": float(weighed.sum(axis=1).mean()),
            "ratio": _ratio(weighed.sum(axis=1), equal.sum(axis=1)),
            "late": _ratio(weighed[:, LATE:].sum(axis=1), equal[:, LATE:].sum(axis=1)),
            "liars_out": float(left_out[:, :liars].mean()) if liars else None,
            "honest_out": float(left_out[:, liars:].mean()),
        }  # fmt: skip


def play(world: str, liars: int, seed: int, *, weighted: bool | int) -> tuple[Array, BoolArray]:
    """Regret (T,) against the best two, and which sources are left out in the end; the first always lie."""
    rng = np.random.default_rng([seed, VOTES])
    made = LinearWorld(runs=1, mapping="abs" if world == "abs" else "none", seed=seed)
    learner = _learner(made)
    source = rng.integers(SOURCES, size=VOTES)
    left_out = np.zeros(SOURCES, dtype=np.bool_)
    past: list[Past] = []
    dz, outcome, regret = np.empty((VOTES, learner.theta.shape[1])), np.empty(VOTES), np.empty(VOTES)
    due = next_judgement(0)
    for t in range(VOTES):
        x = made.contexts(t)
        truth, duel = made.reveal(t, x), learner.choose(x)
        y = truth.y[:, duel.arms[0]]
        honest = made.vote(t, truth, duel.arms)
        past.append(Past(duel, y, 1 - honest if source[t] < liars else honest, int(source[t])))
        z = np.concatenate((duel.x[0], y[0]), axis=1)
        dz[t], outcome[t] = z[0] - z[1], past[-1].outcome[0]
        regret[t] = pair_regret(truth.expected[0], int(duel.arms[0, 0]), int(duel.arms[0, 1]))[1]
        _live(learner, past[-1], left_out)
        if weighted and t + 1 >= due:
            due = next_judgement(t + 1)
            found = distrusted(dz[: t + 1], outcome[: t + 1], source[: t + 1], SOURCES)
            if (found != left_out).any():  # as a stream does: all again, without their votes
                left_out, learner = found, _learner(made)
                for one in past:
                    _live(learner, one, left_out)
    return regret, left_out


def _learner(world: LinearWorld) -> DuelingLearner:
    return recipe("live")(runs=1, context_dim=world.context_dim, post_dim=world.post_dim, distinct_pair=True)


def _live(learner: DuelingLearner, one: Past, left_out: BoolArray) -> None:
    round = np.array([one.duel.round])
    learner.serve(one.duel)
    learner.observe(Contexts(AT, round, one.y))
    if left_out[one.source]:
        learner.forget(0, one.duel.round)
    else:
        learner.tell(Votes(AT, round, one.outcome))


def _ratio(one: Array, other: Array) -> tuple[float, float]:
    """The ratio of means, and its standard error by leaving seeds out in turn."""
    n = len(one)
    without = np.array([np.delete(one, k).sum() / np.delete(other, k).sum() for k in range(n)])
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()) if n > 1 else float("nan")
    return float(one.sum() / other.sum()), float(error)

"""One live decision after another: ask, observe, tell, against libraries that serve single items."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.timing import Row, compare
from duelwise.learning.recipes import rcdp_ucb
from duelwise.types import Array, Contexts, Votes

ARMS, DIM, STEPS = 10, 20, 3000


def decisions() -> Array:
    """(STEPS, K, d) what is known of the candidates."""
    return np.random.default_rng(0).normal(size=(STEPS, ARMS, DIM))


def ours() -> Callable[[], None]:
    """RCDP-UCB, one pass, in memory."""
    learner, x = rcdp_ucb(context_dim=DIM, estimate="one-pass", distinct_pair=True), decisions()[:, None]
    run, nothing, won = np.zeros(1, dtype=np.int64), np.zeros((1, 2, 0)), np.ones(1)

    def steps() -> None:
        for candidates in x:
            duel = learner.choose(candidates)
            learner.serve(duel)
            round = np.array([duel.round])
            learner.observe(Contexts(run, round, nothing))
            learner.tell(Votes(run, round, won))

    return steps


def mabwiser() -> Callable[[], None]:
    """LinUCB: one context of the same size for all its arms."""
    from mabwiser.mab import MAB, LearningPolicy  # pyright: ignore[reportMissingImports]

    rng, x = np.random.default_rng(0), decisions()
    model = MAB(arms=list(range(ARMS)), learning_policy=LearningPolicy.LinUCB(alpha=1.0))
    model.fit(rng.integers(0, ARMS, 100), rng.random(100), rng.normal(size=(100, DIM)))

    def steps() -> None:
        for candidates in x[: STEPS // 60]:
            arm = model.predict(candidates[:1])
            model.partial_fit([arm], [1.0], candidates[:1])

    return steps


def vowpal_wabbit() -> Callable[[], None]:
    """--cb_explore_adf with its text examples made beforehand, so that only predict and learn are timed."""
    from vowpalwabbit import Workspace  # pyright: ignore[reportMissingImports]

    workspace = Workspace("--cb_explore_adf --quiet --random_seed 1")
    plain = [[_line(row) for row in candidates] for candidates in decisions()]
    labelled = [[("0:-1:0.1 " if k == 3 else "") + line for k, line in enumerate(lines)] for lines in plain]

    def steps() -> None:
        for ask, tell in zip(plain, labelled, strict=True):
            workspace.predict(ask)
            workspace.learn(tell)

    return steps


def _line(features: Array) -> str:
    return "| " + " ".join(f"f{j}:{value:.6g}" for j, value in enumerate(features))


def against_mabwiser(repeats: int) -> Row:
    return compare(
        f"live ask + observe + tell, one pass, K = {ARMS}, d = {DIM}, {STEPS} times",
        "MABWiser LinUCB predict + partial_fit", "≥ 30×", ours(), mabwiser(),
        repeats=repeats, theirs_times=60.0,
    )  # fmt: skip


def against_vowpal_wabbit(repeats: int) -> Row:
    return compare(
        f"live ask + observe + tell, one pass, K = {ARMS}, d = {DIM}, {STEPS} times",
        "Vowpal Wabbit --cb_explore_adf predict + learn", "≥ 4×", ours(), vowpal_wabbit(), repeats=repeats,
    )  # fmt: skip

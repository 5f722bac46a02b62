"""`duelwise bench`: what the common sizes cost on this machine."""

from __future__ import annotations

import time
from statistics import median
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from duelwise.cli.app import app
from duelwise.lab.play.compiled_loop import play
from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import GaussianDelay
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.recipes import rcdp_ucb
from duelwise.types import Contexts, Votes

SIZES = ((5, 10), (10, 10), (20, 10), (10, 50))  # (features before serving, candidates)
MODELS = ("none", "ridge", "spline", "fourier", "knn", "mlp-replay")


@app.command()
def bench(
    rounds: Annotated[int, typer.Option(help="Rounds of each measurement; more is steadier.")] = 500,
) -> None:
    """Time live decisions and simulation at common sizes, and say which settings are cheap."""
    console = Console()
    console.print(
        "Compiled code is loaded before it is timed; the first time ever it takes a minute to make."
    )
    console.print(_live(rounds))
    console.print(_models(rounds))
    console.print(_simulation(rounds))
    console.print(
        "One pass costs the same however many votes came before, and keeps none of them; the full MLE's cost "
        "and memory grow with the votes learned. The spline suits maps that act on each coordinate by itself."
    )


def _live(rounds: int) -> Table:
    """One decision after another, without post-serving context."""
    table = Table(
        "features", "candidates", "one pass", "full MLE", title=f"Live: µs per ask + tell, {rounds} of them"
    )
    for dim, arms in SIZES:
        times = [_decision(rounds, dim, arms, estimate=name) for name in ("one-pass", "full-mle")]
        table.add_row(str(dim), str(arms), *(f"{value:.0f}" for value in times))
    return table


def _models(rounds: int) -> Table:
    """The same with as many features known after serving."""
    table = Table(
        "φ̂", "µs per ask + tell", title="Live with post-serving context, 10 + 10 features, one pass"
    )
    for name in MODELS:
        post = 0 if name == "none" else 10
        table.add_row(name, f"{_decision(rounds, 10, 10, post_dim=post, post_serving=name):.0f}")
    return table


def _simulation(rounds: int) -> Table:
    """Many runs at once."""
    table = Table("estimate", "rounds × runs per second", title="Laboratory: 10 runs, d = K = 10")
    for estimate in ("one-pass", "full-mle"):
        speeds: list[float] = []
        for _ in range(4):
            world = LinearWorld(runs=10)
            scenario = world.with_delay(GaussianDelay(mean=100, std=100)).with_corruption(
                StrategicCorruption(budget=25)
            )
            learner = rcdp_ucb(runs=10, context_dim=10, estimate=estimate)
            begun = time.perf_counter()
            play(learner, scenario, horizon=rounds)
            speeds.append(10 * rounds / (time.perf_counter() - begun))
        table.add_row(estimate, f"{median(speeds[1:]):,.0f}")
    return table


def _decision(
    rounds: int,
    dim: int,
    arms: int,
    *,
    estimate: str = "one-pass",
    post_dim: int = 0,
    post_serving: str = "none",
) -> float:
    """µs per choose, serve, observe and tell of a learner in memory."""
    learner = rcdp_ucb(
        context_dim=dim, post_dim=post_dim, post_serving=post_serving, estimate=estimate, distinct_pair=True
    )
    x = np.random.default_rng(0).normal(size=(rounds + 20, 1, arms, dim))
    y, run, won = np.ones((1, 2, post_dim)), np.zeros(1, dtype=np.int64), np.ones(1)
    begun = 0.0
    for t, candidates in enumerate(x):
        if t == 20:  # loaded and warm
            begun = time.perf_counter()
        duel = learner.choose(candidates)
        learner.serve(duel)
        learner.observe(Contexts(run, np.array([t]), y))
        learner.tell(Votes(run, np.array([t]), won))
    return 1e6 * (time.perf_counter() - begun) / rounds

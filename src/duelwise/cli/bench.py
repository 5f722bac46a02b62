"""`duelwise bench`: what the common sizes cost on this machine."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from duelwise.cli.app import app
from duelwise.cli.interrupting import interruptible
from duelwise.cli.outputs import (
    HtmlOption,
    JsonOption,
    PlotOption,
    QuietOption,
    check_outputs,
    console,
    write_json,
)
from duelwise.lab.play.checks import check_whole
from duelwise.lab.play.compiled_loop import play
from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import GaussianDelay
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.core.deferred_compilation import patience
from duelwise.learning.recipes import rcdp_ucb
from duelwise.types import Contexts, Votes

SIZES = ((5, 10), (10, 10), (20, 10), (10, 50))  # (features before serving, candidates)
UNIT = "µs per ask + tell"
MODELS = ("none", "ridge", "spline", "fourier", "knn", "mlp-replay")


@app.command()
def bench(
    rounds: Annotated[int, typer.Option(help="Rounds of each measurement; more is steadier.")] = 500,
    json_file: JsonOption = None,
    plot: PlotOption = None,
    html: HtmlOption = None,
    quiet: QuietOption = False,
) -> None:
    """Time live decisions and simulation at common sizes, and say which settings are cheap."""
    check_whole("rounds", rounds, least=1)
    check_outputs(json=json_file, plot=plot, html=html)
    out = console(quiet=quiet, json=json_file)
    out.print("Compiled code is loaded before it is timed; the first time ever it has to be made first.")
    measured: dict[str, float] = {}
    with interruptible("Nothing is kept of measurements; compiled code is."), patience(0.0):
        for made in (_live(rounds, measured), _models(rounds, measured), _simulation(rounds, measured)):
            out.print(made)
    out.print(
        "One pass costs the same however many votes came before, and keeps none of them; the full MLE's cost "
        "and memory grow with the votes learned. The spline suits maps that act on each coordinate by itself."
    )
    write_json(json_file, lambda: dict(measured))
    _draw(measured, plot, html)


def _draw(measured: dict[str, float], plot: Path | None, html: Path | None) -> None:
    """Decisions only: speeds of simulation have another unit."""
    if plot is None and html is None:
        return
    from duelwise.lab.report.pictures import Bar, save_bars, save_bars_page

    bars = [Bar(name, value) for name, value in measured.items() if not name.startswith("simulation")]
    title = "A live decision on this machine"
    if plot is not None:
        save_bars(plot, bars, title=title, unit=UNIT)
    if html is not None:
        save_bars_page(html, bars, title=title, unit=UNIT, head=("decision", UNIT))


def _live(rounds: int, measured: dict[str, float]) -> Table:
    """One decision after another, without post-serving context."""
    table = Table("features", "candidates", "one pass", "full MLE", title=f"Live: {UNIT}, {rounds} of them")
    for dim, arms in SIZES:
        times = {name: _decision(rounds, dim, arms, estimate=name) for name in ("one-pass", "full-mle")}
        measured |= {f"{name}, {dim} features, {arms} candidates": value for name, value in times.items()}
        table.add_row(str(dim), str(arms), *(f"{value:.0f}" for value in times.values()))
    return table


def _models(rounds: int, measured: dict[str, float]) -> Table:
    """The same with as many features known after serving."""
    table = Table("φ̂", UNIT, title="Live with post-serving context, 10 + 10 features, one pass")
    for name in MODELS:
        post = 0 if name == "none" else 10
        measured[f"φ̂ {name}"] = value = _decision(rounds, 10, 10, post_dim=post, post_serving=name)
        table.add_row(name, f"{value:.0f}")
    return table


def _simulation(rounds: int, measured: dict[str, float]) -> Table:
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
        measured[f"simulation, {estimate}, rounds × runs per second"] = median(speeds[1:])
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

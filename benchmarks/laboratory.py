"""Simulation: the library against the literal algorithm, and against itself at other sizes."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from statistics import mean, median

import numpy as np

from benchmarks.floors import look_at_nothing
from benchmarks.literal import literal
from benchmarks.timing import Row, compare, seconds
from duelwise.lab.play.compiled_loop import play
from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import GaussianDelay
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.simulation import Trajectory
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.core.state_pointer import handle
from duelwise.learning.recipes import rcdp_ucb
from duelwise.types import Contexts, Duel

RUNS, HORIZON = 10, 2000
LITERAL = "literal Algorithm 1"


def scenario(runs: int | list[int], *, mapping: str = "none", dim: int = 10) -> Scenario:
    """The paper's stochastic setting."""
    world = LinearWorld(runs=runs, mapping=mapping, context_dim=dim)
    return world.with_delay(GaussianDelay(mean=100, std=100)).with_corruption(StrategicCorruption(budget=25))


def ours(
    *, runs: int = RUNS, horizon: int = HORIZON, mapping: str = "none", dim: int = 10,
    post_serving: str = "none", estimate: str = "full-mle", watched: bool = False,
) -> Trajectory:  # fmt: skip
    """RCDP-UCB with the published settings."""
    played = scenario(runs, mapping=mapping, dim=dim)
    world = played.world
    learner = rcdp_ucb(
        runs=runs, context_dim=dim, post_dim=world.post_dim, post_serving=post_serving, estimate=estimate
    )
    if watched:
        learner.watch()
    return play(learner, played, horizon=horizon)


def theirs(*, runs: int, mapping: str = "none") -> None:
    """The literal algorithm, one run after another."""
    for run in range(runs):
        literal(scenario([run], mapping=mapping), horizon=HORIZON, seed=run)


def compile_all() -> None:
    """Everything the rows call, once."""
    for estimate in ("full-mle", "one-pass"):
        ours(runs=2, horizon=20, estimate=estimate)
    for post_serving in ("spline", "mlp", "mlp-replay"):
        ours(runs=2, horizon=20, mapping="abs", post_serving=post_serving)


def monitors_on(repeats: int) -> Row:
    """Of four times the runs, so that a few per cent show."""
    return compare(
        "linear run, monitors on, processor time", "the same, off", "> 0.95",
        lambda: ours(runs=4 * RUNS, watched=True), lambda: ours(runs=4 * RUNS),
        repeats=5 * repeats, clock=time.process_time,
    )  # fmt: skip


def monitors_off(repeats: int) -> Row:
    """What is left of the monitors in a run without them: a look for each duel."""
    learner = rcdp_ucb(runs=1, context_dim=10)
    looked_at = handle(learner.monitors), handle(learner.pending), learner.theta[0], RUNS * HORIZON
    look_at_nothing(*looked_at)
    return compare(
        "monitors off: a look for each duel", "the linear run it is part of", "> 100",
        lambda: look_at_nothing(*looked_at), ours,
        repeats=repeats,
    )  # fmt: skip


def linear(repeats: int) -> Row:
    return compare(
        "linear, exact MLE each round", LITERAL, "≥ 30×", ours, lambda: theirs(runs=RUNS), repeats=repeats
    )


def spline(repeats: int) -> Row:
    return compare(
        "abs, spline φ̂, exact MLE", f"{LITERAL}, paper's MLP", "≥ 200×",
        lambda: ours(mapping="abs", post_serving="spline"), lambda: theirs(runs=1, mapping="abs"),
        repeats=repeats, theirs_times=RUNS,
    )  # fmt: skip


def network(repeats: int) -> Row:
    return compare(
        "abs, paper's MLP, full replay", f"{LITERAL}, paper's MLP", "≥ 4×",
        lambda: ours(mapping="abs", post_serving="mlp"), lambda: theirs(runs=1, mapping="abs"),
        repeats=repeats, theirs_times=RUNS,
    )  # fmt: skip


def replay(repeats: int) -> Row:
    return compare(
        "abs, paper's MLP, replay of 256", f"{LITERAL}, paper's MLP", "≥ 25×",
        lambda: ours(mapping="abs", post_serving="mlp-replay"), lambda: theirs(runs=1, mapping="abs"),
        repeats=repeats, theirs_times=RUNS,
    )  # fmt: skip


def endless(repeats: int) -> Row:
    """Time per round at 10⁶ rounds over that at 10⁴, and what memory grew by."""
    long, short, plays = 1_000_000, 10_000, 20  # the short side is repeated until it is no less steady

    def played(rounds: int) -> float:
        return seconds(lambda: ours(runs=1, horizon=rounds, estimate="one-pass"))

    set_up = median(played(1) for _ in range(plays))

    def play(rounds: int) -> float:
        return (played(rounds) - set_up) / rounds

    pairs: list[tuple[float, float]] = []
    for _ in range(repeats):
        earlier = [play(short) for _ in range(plays)]
        slow = play(long)
        pairs.append((slow, mean(earlier + [play(short) for _ in range(plays)])))
    one_pass = "runs=1, estimate='one-pass'"
    grown = peak_memory(f"{one_pass}, horizon={long}") - peak_memory(f"{one_pass}, horizon={short}")
    ratios = [slow / fast for slow, fast in pairs]
    return Row(
        f"linear, one pass, 10⁶ rounds, one run (memory grew by {grown:.0f} MB)", "itself at 10⁴ rounds",
        "≤ 1.2×, ≤ 50 MB", median(ratios), min(ratios), max(ratios),
        ours=f"{1e6 * median(slow for slow, _ in pairs):.3g} µs a round",
        theirs=f"{1e6 * median(fast for _, fast in pairs):.3g} µs a round",
    )  # fmt: skip


def dimension(repeats: int) -> Row:
    """How time grows from d = 10 to 90, in units of d²: 1 is as d²."""
    pairs = [(seconds(lambda: ours(dim=90)), seconds(ours)) for _ in range(repeats)]
    ratios = [large / small / 81.0 for large, small in pairs]
    return Row(
        "linear, exact MLE, d = 90", "d = 10, in units of (90/10)²", "≤ 1×",
        median(ratios), min(ratios), max(ratios), ours=f"{pairs[0][0]:.3g} s", theirs=f"{pairs[0][1]:.3g} s",
    )  # fmt: skip


def peak_memory(arguments: str) -> float:
    """MB at the peak of a process of its own that calls `ours` so."""
    # Not ru_maxrss: a child's begins at what its parent held.
    code = (
        f"from benchmarks.laboratory import ours; ours({arguments}); "
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(told.stdout) / 1024


@dataclass(frozen=True)
class Agreement:
    """How near the library is to the literal algorithm on the same duels and votes."""

    pairs: float  # share of rounds with the same pair
    theta: float  # largest difference of Θ̂


def agreement() -> Agreement:
    """Feed the learner the literal one's duels, contexts and votes."""
    played = scenario([0])
    record = literal(played, horizon=HORIZON)
    learner = rcdp_ucb(runs=[0], context_dim=10)
    run, nothing, same, apart = np.zeros(1, dtype=np.int64), np.zeros((1, 2, 0)), 0, 0.0
    for t in range(HORIZON):
        chosen = learner.choose(record.x[t][None])
        same += bool((chosen.arms[0] == record.arms[t]).all())
        pair = record.x[t][record.arms[t]][None]
        learner.serve(Duel(t, record.arms[t][None], pair, nothing))
        learner.observe(Contexts(run, np.array([t]), nothing))
        learner.tell(record.told[t])
        apart = max(apart, float(np.abs(learner.theta[0] - record.theta[t]).max()))
    return Agreement(same / HORIZON, apart)


@dataclass(frozen=True)
class Regrets:
    """Mean final regrets of the literal algorithm and of the library, each with its own network."""

    literal: float
    library: float
    standard_errors: float  # their difference, in combined standard errors


def network_regrets() -> Regrets:
    """Ten runs of abs with the paper's network on both sides; the networks start from other weights."""
    slow = np.array(
        [
            literal(scenario([run], mapping="abs"), horizon=HORIZON, seed=run).regret.sum()
            for run in range(RUNS)
        ]
    )
    fast = ours(mapping="abs", post_serving="mlp").final
    error = np.sqrt((slow.var(ddof=1) + fast.var(ddof=1)) / RUNS)
    return Regrets(float(slow.mean()), float(fast.mean()), float(abs(slow.mean() - fast.mean()) / error))

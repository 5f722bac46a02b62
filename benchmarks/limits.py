"""What limits each row: the part of the work that cannot be left out, timed by itself on this machine.

    python -m benchmarks.limits [--page docs/performance.md]

Each line sets a floor beside the work that contains it, timed in turns, on one playing thread unless it
says otherwise (a simulation's main thread draws the next rounds meanwhile). Times are medians, the share
is the median of floor over work with its least and most: 100 % would be as fast as the floor allows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import live
from benchmarks.floors import HIDDEN, absorb_all, exponentials, moves, products, readings, scores, touch
from benchmarks.laboratory import HORIZON, RUNS, ours, scenario
from benchmarks.timing import seconds, write_between_marks
from duelwise.lab.play.compiled_loop import play
from duelwise.learning.core.deferred_compilation import patience
from duelwise.learning.estimation import MaximumLikelihood
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.post_serving import KernelModel
from duelwise.learning.post_serving.network import train
from duelwise.learning.recipes import rcdp_ucb
from duelwise.types import Array, IntArray

REPEATS = 9
NEAR = 400  # votes whose features stay in the first cache at d = 10
Work = Callable[[], object]


@dataclass(frozen=True)
class Limit:
    """A floor and the work that contains it, in seconds, turn by turn."""

    work: str
    floor: str
    alone: tuple[float, ...]
    taken: tuple[float, ...]

    def cells(self) -> tuple[str, ...]:
        shares = [floor / work for floor, work in zip(self.alone, self.taken, strict=True)]
        share = f"{median(shares):.0%} ({min(shares):.0%} to {max(shares):.0%})"
        return self.work, self.floor, _shown(median(self.alone)), _shown(median(self.taken)), share


def limits() -> list[Limit]:
    """Every line, in the order of the page."""
    with _threads(1):
        small = _played()
        passes = [_pass(10, small), _sums(small), _pass(90, _played(dim=90))]
        linear = _limit(
            "linear, exact MLE: ten runs", "their passes over the history",
            [_passes(_played(runs=RUNS))], ours,
        )  # fmt: skip
        others = [*_spline(), *_network(), _one_pass(), _live()]
    return [*passes, linear, _shared_by_threads(), *others]


def _limit(
    work: str, floor: str, alone: list[Work], taken: Work, *, times: float = 1.0, per: int = 1,
    repeats: int = REPEATS,
) -> Limit:  # fmt: skip
    """Time the floor's parts and the work in turns; `times` scales the floor, `per` divides both."""
    for part in (*alone, taken):
        part()
    turns = [
        (times * sum(seconds(part) for part in alone) / per, seconds(taken) / per) for _ in range(repeats)
    ]
    return Limit(work, floor, *zip(*turns, strict=True))


@contextmanager
def _threads(number: int) -> Generator[None]:
    before = numba.get_num_threads()
    numba.set_num_threads(number)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _shared_by_threads() -> Limit:
    """Not by the clock: with one playing thread the main thread is at work too."""
    threads = numba.get_num_threads()

    def turn() -> tuple[float, float]:
        begun = process_time()
        with _threads(1):
            ours()
        return (process_time() - begun) / threads, seconds(ours)

    turn()
    turns = [turn() for _ in range(REPEATS)]
    return Limit(
        f"linear, exact MLE: ten runs, {threads} threads", "the processor time of one, divided",
        *zip(*turns, strict=True),
    )  # fmt: skip


def _shown(duration: float) -> str:
    if duration >= 1.0:
        return f"{duration:.2f} s"
    return f"{1e3 * duration:.3g} ms" if duration >= 1e-3 else f"{1e6 * duration:.3g} µs"


# Exact maximum likelihood: passes over the history.


def _played(
    mapping: str = "none", post_serving: str = "none", *, runs: int = 1, dim: int = 10
) -> DuelingLearner:
    """The learner after its last round."""
    played = scenario(runs, mapping=mapping, dim=dim)
    post_dim = played.world.post_dim
    learner = rcdp_ucb(runs=runs, context_dim=dim, post_dim=post_dim, post_serving=post_serving)
    play(learner, played, horizon=HORIZON)
    return learner


def _history(learner: DuelingLearner, run: int = 0) -> tuple[Array, Array, Array, IntArray]:
    """Δz, weights and votes, and the lengths of history that the run's passes met, spread evenly."""
    assert isinstance(learner.estimate, MaximumLikelihood)
    held = learner.estimate.history
    lengths = np.linspace(1, held.held[run], held.passes[run]).astype(np.int64)
    return held.z[run], held.weight[run], held.outcome[run], lengths


def _passes(learner: DuelingLearner) -> Work:
    """As many passes as the learner's runs took, one run after another."""
    held = [(_history(learner, run), learner.theta[run]) for run in range(learner.runs)]

    def work() -> None:
        for (z, weight, outcome, lengths), theta in held:
            scores(z, weight, outcome, theta, lengths, np.empty_like(weight))

    return work


def _sums(learner: DuelingLearner) -> Limit:
    """The sums read the whole history; as many products in the first cache wait for no memory."""
    z, weight, _, lengths = _history(learner)
    out = np.empty_like(learner.theta[0])
    near, columns = np.ascontiguousarray(z[:, :NEAR]), weight[:NEAR].copy()
    times = np.full(int(lengths.sum()) // NEAR, NEAR, dtype=np.int64)
    return _limit(
        f"linear, d = {len(out)}: a pass's sums", f"as many products on {NEAR} votes",
        [lambda: readings(near, columns, times, out)], lambda: readings(z, weight, lengths, out),
        per=2 * len(lengths),
    )  # fmt: skip


def _pass(dim: int, learner: DuelingLearner) -> Limit:
    z, weight, _, lengths = _history(learner)
    room, out = np.empty_like(weight), np.empty_like(learner.theta[0])
    return _limit(
        f"linear, d = {dim}: a pass over the history", "its exponentials and two sums, each by itself",
        [lambda: exponentials(weight, lengths, room), lambda: readings(z, weight, lengths, out)],
        _passes(learner), per=len(lengths),
    )  # fmt: skip


# The spline: one pair after another into the inverse.


def _spline() -> list[Limit]:
    learner = _played("abs", "spline", runs=RUNS)
    model = learner.post_serving
    assert isinstance(model, KernelModel)
    inverse, coefficients = model.state.inverse[0, 0], model.state.coefficients[0]
    width, dim = len(coefficients), learner.context_dim
    knots = width // dim
    place = np.arange(dim) * knots + knots // 2
    position = np.repeat(np.stack([place, place + 1], axis=1).reshape(1, -1), 2, axis=0)
    value, y = np.full(position.shape, 0.5), np.zeros((2, coefficients.shape[1]))

    def absorbing(pairs: int) -> Work:
        return lambda: absorb_all(inverse, coefficients, position, value, y, pairs)

    return [
        _limit(
            f"spline: a pair absorbed, {width} coefficients", "reading and writing the inverse once",
            [lambda: touch(inverse, HORIZON)], absorbing(HORIZON), per=HORIZON,
        ),
        _limit(
            "abs, spline φ̂: ten runs", "their pairs absorbed and their passes",
            [absorbing(RUNS * HORIZON), _passes(learner)], lambda: ours(mapping="abs", post_serving="spline"),
        ),
    ]  # fmt: skip


# The network: matrix products.


def _network() -> list[Limit]:
    return [
        *_training("full replay", "mlp", most=2 * HORIZON),
        *_training("replay of 256", "mlp-replay", most=256),
    ]


def _training(name: str, model: str, *, most: int) -> list[Limit]:
    held = _played("abs", model).post_serving.snapshot()
    rows = min(most, int(held["count"][0]) // 2)  # the mean over the rounds
    steps = 200
    return [
        _limit(
            f"network, {name}: a step on {rows} rows", "its matrix products",
            [lambda: products(rows, steps)], _training_steps(rows, steps), per=steps,
        ),
        _limit(
            f"abs, paper's MLP, {name}: a run", "two such steps a round",
            [_training_steps(rows, steps)], lambda: _played("abs", model),
            times=2 * HORIZON / steps, repeats=3,
        ),
    ]  # fmt: skip


def _training_steps(count: int, steps: int) -> Work:
    """So many steps of Adam on so many rows."""
    dim, parameters = 10, 11 * HIDDEN + HIDDEN * HIDDEN + HIDDEN + HIDDEN * 10 + 10
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(1, parameters)).astype(np.float32) * np.float32(0.1)
    first, second = np.zeros_like(theta), np.zeros_like(theta)  # Adam's moments
    rows = rng.normal(size=(1, count, dim + 1 + 10)).astype(np.float32)
    weight, take = np.ones((1, count), np.float32), np.empty((1, steps, 0), np.int64)
    one, step, counts = np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([count])
    return lambda: train(
        one, theta, first, second, step, rows, weight, take, counts, HIDDEN, dim, steps, 1e-3
    )


# One pass and live decisions: small matrices, and the way to them.


def _one_pass() -> Limit:
    rounds = 100_000
    return _limit(
        "linear, one pass: a round", "its challenger and the moves of V, W and H",
        [lambda: moves(np.eye(10), np.eye(10), np.ones((10, 10)), 0.01 * np.ones(10), rounds)],
        lambda: ours(runs=1, horizon=rounds, estimate="one-pass"), per=rounds,
    )  # fmt: skip


def _live() -> Limit:
    world = scenario(1, dim=live.DIM)

    def compiled_rounds() -> object:
        learner = rcdp_ucb(runs=1, context_dim=live.DIM, estimate="one-pass", distinct_pair=True)
        return play(learner, world, horizon=live.STEPS)

    return _limit(
        f"live, K = {live.ARMS}, d = {live.DIM}: a decision", "the same round in the compiled loop",
        [compiled_rounds], live.ours(), per=live.STEPS,
    )  # fmt: skip


def write_limits(page: Path, lines: list[Limit]) -> None:
    """Put the table where the page has its marks."""
    head = "| work | what it cannot do without | that alone | the work | share |\n|---|---|---|---|---|\n"
    write_between_marks(page, "limits", head + "".join(f"| {' | '.join(line.cells())} |\n" for line in lines))


def limits_table(lines: list[Limit]) -> Table:
    table = Table("work", "what it cannot do without", "that alone", "the work", "share")
    for line in lines:
        table.add_row(*line.cells())
    return table


@patience(0.0)  # what is timed is compiled
def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", type=Path, default=None)
    options = parser.parse_args()
    lines = limits()
    Console(width=160).print(limits_table(lines))
    if options.page is not None:
        write_limits(options.page, lines)


if __name__ == "__main__":
    main()

"""What limits each row: the part of the work that cannot be left out, timed by itself on this machine.

    python -m benchmarks.limits [--page docs/performance.md]

Each line sets a floor beside the work that contains it, both on one thread unless it says otherwise
and both the least of several timings, interleaved. The share is floor over work: 100 % would be as
fast as the floor allows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import live
from benchmarks.laboratory import HORIZON, ours, scenario
from benchmarks.timing import seconds, write_between_marks
from duelwise.lab.rollout import play
from duelwise.learning.compiled import compiled
from duelwise.learning.equations import add_duel, second_arm
from duelwise.learning.estimation import MaximumLikelihood
from duelwise.learning.intrinsics import row_sums
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.links import LOGISTIC, logistic
from duelwise.learning.maximum_likelihood import score
from duelwise.learning.post_serving.network import train
from duelwise.learning.post_serving.recursive import absorb
from duelwise.learning.post_serving.spline import SplineModel
from duelwise.learning.recipes import rcdp_ucb
from duelwise.types import Array, IntArray

REPEATS = 7
HIDDEN = 64  # of the paper's network


@dataclass(frozen=True)
class Limit:
    """A floor and the work that contains it, in seconds."""

    work: str
    floor: str
    alone: float
    taken: float

    def cells(self) -> tuple[str, ...]:
        share = f"{self.alone / self.taken:.0%}"
        return self.work, self.floor, _shown(self.alone), _shown(self.taken), share


def limits() -> list[Limit]:
    """Every line, in the order of the page."""
    with _one_thread():
        linear, spline = _played("none", "none"), _played("abs", "spline")
        one_run = _least(lambda: ours(runs=1))
        lines = [
            _pass("linear, d = 10", linear),
            _pass("linear, d = 90", _played("none", "none", dim=90)),
            Limit("linear, exact MLE: a run", "its passes over the history", _passes(linear), one_run),
            *_spline(spline),
            *_network(),
            _one_pass(),
            _live(),
        ]
        alone = _least(ours) / numba.config.NUMBA_NUM_THREADS
    threads = Limit("linear, exact MLE: ten runs, all cores", "one thread's time shared", alone, _least(ours))
    return [*lines[:3], threads, *lines[3:]]


@contextmanager
def _one_thread() -> Iterator[None]:
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def _least(*works: Callable[[], object]) -> float:
    """The least time of the works one after another."""
    for work in works:
        work()
    return min(sum(seconds(work) for work in works) for _ in range(REPEATS))


def _shown(duration: float) -> str:
    return f"{duration:.3g} s" if duration >= 0.1 else f"{1e6 * duration:.4g} µs"


# Exact maximum likelihood: passes over the history.


def _played(mapping: str, post_serving: str, *, dim: int = 10) -> DuelingLearner:
    """The learner of one run after its last round."""
    played = scenario(1, mapping=mapping, dim=dim)
    post_dim = played.world.post_dim
    learner = rcdp_ucb(runs=1, context_dim=dim, post_dim=post_dim, post_serving=post_serving)
    play(learner, played, horizon=HORIZON)
    return learner


def _history(learner: DuelingLearner) -> tuple[MaximumLikelihood, IntArray]:
    """The arrived votes, and the lengths of the history that the run's passes met, spread evenly."""
    estimate = learner.estimate
    assert isinstance(estimate, MaximumLikelihood)
    return estimate, np.linspace(1, estimate.count[0], estimate.passes[0]).astype(np.int64)


def _passes(learner: DuelingLearner) -> float:
    """As many passes as the run took."""
    held, lengths = _history(learner)
    z, weight, outcome, theta = held.z[0], held.weight[0], held.outcome[0], learner.theta[0]
    return _least(lambda: _scores(z, weight, outcome, theta, lengths, np.empty_like(weight)))


def _pass(name: str, learner: DuelingLearner) -> Limit:
    held, lengths = _history(learner)
    z, weight, outcome, theta = held.z[0], held.weight[0], held.outcome[0], learner.theta[0]
    room, out = np.empty_like(weight), np.empty_like(theta)
    floor = _least(lambda: _exponentials(weight, lengths, room), lambda: _readings(z, weight, lengths, out))
    taken = _least(lambda: _scores(z, weight, outcome, theta, lengths, room))
    return Limit(
        f"{name}: a pass over the history", "one exponential a vote, two readings of the history",
        floor / len(lengths), taken / len(lengths),
    )  # fmt: skip


@compiled
def _scores(z: Array, weight: Array, outcome: Array, theta: Array, lengths: IntArray, room: Array) -> float:
    out, total = np.empty_like(theta), 0.0
    for n in lengths:
        total += score(z, weight, outcome, n, theta, 1.0, LOGISTIC, room, out)
    return total


@compiled
def _exponentials(margins: Array, lengths: IntArray, out: Array) -> None:
    for n in lengths:
        for i in range(n):
            out[i] = logistic(margins[i])


@compiled
def _readings(z: Array, residual: Array, lengths: IntArray, out: Array) -> None:
    for n in lengths:
        for _ in range(2):
            row_sums(z, residual, n, out)


# The spline: one pair after another into the inverse.


def _spline(learner: DuelingLearner) -> list[Limit]:
    model = learner.post_serving
    assert isinstance(model, SplineModel)
    inverse, coefficients = model.fit.inverse[0].copy(), model.fit.coefficients[0].copy()
    width, dim = len(inverse), learner.context_dim
    knots = width // dim
    place = np.arange(dim) * knots + knots // 2
    position = np.repeat(np.stack([place, place + 1], axis=1).reshape(1, -1), 2, axis=0)
    value, y = np.full(position.shape, 0.5), np.zeros((2, coefficients.shape[1]))
    absorbing = _least(lambda: _absorb_all(inverse, coefficients, position, value, y, HORIZON))
    touching = _least(lambda: _touch(inverse, HORIZON))
    run = _least(lambda: ours(runs=1, mapping="abs", post_serving="spline"))
    return [
        Limit(
            f"spline: a pair absorbed, {width} coefficients", "reading and writing the inverse once",
            touching / HORIZON, absorbing / HORIZON,
        ),
        Limit("abs, spline φ̂: a run", "its pairs absorbed and its passes", absorbing + _passes(learner), run),
    ]  # fmt: skip


@compiled
def _absorb_all(A: Array, B: Array, position: IntArray, value: Array, y: Array, times: int) -> None:
    for _ in range(times):
        absorb(A, B, position, value, y)


@compiled
def _touch(matrix: Array, times: int) -> None:
    flat = matrix.ravel()
    for _ in range(times):
        for i in range(flat.shape[0]):
            flat[i] = -flat[i]


# The network: matrix products.


def _network() -> list[Limit]:
    return [
        *_training("full replay", "mlp", most=2 * HORIZON),
        *_training("replay of 256", "mlp-replay", most=256),
    ]


def _training(name: str, model: str, *, most: int) -> list[Limit]:
    held = _played("abs", model).post_serving.snapshot()
    rows = min(most, int(held["count"][0]) // 2)  # the mean over the rounds
    step, products = _step(rows), _least(lambda: _products(rows))
    run = min(seconds(lambda: _played("abs", model)) for _ in range(2))
    return [
        Limit(f"network, {name}: a step on {rows} rows", "its matrix products", products, step),
        Limit(f"abs, paper's MLP, {name}: a run", "two such steps a round", 2 * HORIZON * step, run),
    ]


def _step(count: int) -> float:
    """One step of Adam on so many rows."""
    dim, parameters = 10, 11 * HIDDEN + HIDDEN * HIDDEN + HIDDEN + HIDDEN * 10 + 10
    rng = np.random.default_rng(0)
    state = [rng.normal(size=(1, parameters)).astype(np.float32) * scale for scale in (0.1, 0.0, 0.0)]
    rows = rng.normal(size=(1, count, dim + 1 + 10)).astype(np.float32)
    weight, take = np.ones((1, count), np.float32), np.empty((1, 1, 0), np.int64)
    one, step = np.zeros(1, np.int64), np.zeros(1, np.int64)
    return _least(
        lambda: train(one, *state, step, rows, weight, take, np.array([count]), HIDDEN, dim, 1, 1e-3)
    )


@compiled
def _products(count: int) -> None:
    """The eight products of a step, chunk by chunk as the network takes its rows."""
    x, h, e = np.ones((64, 11), np.float32), np.ones((64, HIDDEN), np.float32), np.ones((64, 10), np.float32)
    W1, W2 = np.ones((11, HIDDEN), np.float32), np.ones((HIDDEN, HIDDEN), np.float32)
    W3, W3_back = np.ones((HIDDEN, 10), np.float32), np.ones((10, HIDDEN), np.float32)
    out, back = np.empty((64, HIDDEN), np.float32), np.empty((64, HIDDEN), np.float32)
    P1, P2, P3 = np.empty_like(W1), np.empty_like(W2), np.empty_like(W3)
    for _ in range(0, count, 64):
        np.dot(x, W1, out)
        np.dot(h, W2, out)
        np.dot(h, W3, e)
        np.dot(h.T, e, P3)
        np.dot(e, W3_back, back)
        np.dot(h.T, back, P2)
        np.dot(back, W2, out)
        np.dot(x.T, out, P1)


# One pass and live decisions: small matrices, and the way to them.


def _one_pass() -> Limit:
    rounds = 100_000
    alone = _least(lambda: _moves(np.eye(10), np.ones((10, 10)), 0.01 * np.ones(10), rounds))
    taken = _least(lambda: ours(runs=1, horizon=rounds, estimate="one-pass"))
    return Limit(
        "linear, one pass: a round",
        "its challenger and the moves of V, W and H",
        alone / rounds,
        taken / rounds,
    )


@compiled
def _moves(inverse: Array, z: Array, dz: Array, times: int) -> int:
    matrix, other = np.linalg.inv(inverse), inverse.copy()
    total = 0
    for _ in range(times):
        total += second_arm(z, dz, inverse, 0, 1.0, True)
        for _ in range(3):
            add_duel(matrix, other, dz, 1e-9)
    return total


def _live() -> Limit:
    rounds, steps = 20_000, live.ours()
    world = scenario(1, dim=live.DIM)

    def compiled_rounds() -> object:
        learner = rcdp_ucb(runs=1, context_dim=live.DIM, estimate="one-pass", distinct_pair=True)
        return play(learner, world, horizon=rounds)

    return Limit(
        f"live, K = {live.ARMS}, d = {live.DIM}: a decision", "the same round in the compiled loop",
        _least(compiled_rounds) / rounds, _least(steps) / live.STEPS,
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

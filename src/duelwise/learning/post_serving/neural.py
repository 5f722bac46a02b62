"""φ̂ as the paper's network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.post_serving.network import Floats, predict, train, train_over_runs
from duelwise.learning.post_serving.order import waves
from duelwise.learning.post_serving.replay import Rows, Sampler
from duelwise.randomness import generator
from duelwise.types import Array, IntArray, Snapshot


@dataclass(frozen=True, kw_only=True)
class Neural:
    """Two hidden layers with ReLU; after each pair, `steps` of Adam on the mean squared error of past rows.

    The defaults are the paper's: 64 units, rate 10⁻³, two full-batch steps on all rows
    seen so far. With `replay`, a step takes that many rows drawn at random (with
    replacement, as a function of seed, run and step) and costs the same at any horizon;
    the rows to draw from are still all kept.
    """

    hidden: int = 64
    learning_rate: float = 1e-3
    steps: int = 2  # "2 epochs per round"
    replay: int | None = None

    def __post_init__(self) -> None:
        if min(self.hidden, self.steps) < 1 or self.learning_rate <= 0:
            raise InvalidInput(f"A network needs hidden ≥ 1, steps ≥ 1 and learning_rate > 0; got {self}.")
        if self.replay is not None and self.replay < 1:
            raise InvalidInput(f"replay is a number of rows, or None for all of them; got {self.replay}.")

    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> NeuralModel:
        return NeuralModel(self, runs=runs, context_dim=context_dim, post_dim=post_dim, seed=seed)


class NeuralModel:
    """Parameters, Adam's moments and the rows seen, for R runs."""

    def __init__(
        self, settings: Neural, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int
    ) -> None:
        self._settings = settings
        self._shape = context_dim, settings.hidden, post_dim
        self._parameters = np.stack([_initial(*self._shape, seed, run) for run in runs])  # (R, P)
        self._mean = np.zeros_like(self._parameters)
        self._square = np.zeros_like(self._parameters)
        self._step = np.zeros(len(runs), dtype=np.int64)  # (R,) steps of Adam taken
        merge = settings.replay is None
        self._rows = Rows(runs=len(runs), context_dim=context_dim, post_dim=post_dim, merge=merge)
        self._sampler = Sampler(size=settings.replay or 0, runs=runs, seed=seed)

    @property
    def post_dim(self) -> int:
        return self._shape[2]

    def predict(self, x: Array) -> Array:
        rows = np.ones((*x.shape[:2], x.shape[2] + 1), dtype=np.float32)
        rows[:, :, :-1] = x
        return predict(self._parameters, rows, *self._shape[1:]).astype(np.float64)

    def learn(self, run: IntArray, x: Array, y: Array) -> None:
        if self.post_dim == 0:
            return
        for wave in waves(run):
            self._rows.add(run[wave], x[wave], y[wave])
            self._train(run[wave])

    def snapshot(self) -> Snapshot:
        own = {"parameters": self._parameters, "mean": self._mean, "square": self._square, "step": self._step}
        return {name: array.copy() for name, array in own.items()} | self._rows.snapshot()

    def restore(self, state: Snapshot) -> None:
        self._parameters, self._mean = state["parameters"].copy(), state["mean"].copy()
        self._square, self._step = state["square"].copy(), state["step"].copy()
        self._rows.restore(state)

    def _train(self, run: IntArray) -> None:
        """The steps that follow one new pair in each of these runs: run (n,)."""
        settings, rows = self._settings, self._rows
        count = rows.count[run]
        size = count if settings.replay is None else np.minimum(count, settings.replay)
        take = [self._sampler.places(run, self._step[run] + s, count) for s in range(settings.steps)]
        learn = train if len(self._parameters) == 1 else train_over_runs
        learn(
            run,
            self._parameters,
            self._mean,
            self._square,
            self._step,
            rows.values,
            rows.weight,
            np.stack(take, axis=1),
            size,
            settings.hidden,
            self._shape[0],
            settings.steps,
            settings.learning_rate,
        )
        self._step[run] += settings.steps


def _initial(inputs: int, hidden: int, outputs: int, seed: int, run: int) -> Floats:
    """PyTorch's default for linear layers, weights and biases ~ U(±1/√fan in): (P,)."""
    random = generator(seed, "network initialisation", run)
    drawn = [
        random.uniform(-1, 1, (fan_in + 1) * fan_out) / np.sqrt(fan_in)
        for fan_in, fan_out in ((inputs, hidden), (hidden, hidden), (hidden, outputs))
    ]
    return np.concatenate(drawn).astype(np.float32)

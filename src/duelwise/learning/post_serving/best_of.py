"""φ̂ as the best of several, judged by how well each predicted what it had not yet seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.state import under
from duelwise.learning.post_serving.model import PostServing, PostServingModel
from duelwise.learning.post_serving.order import waves
from duelwise.types import Array, IntArray, Snapshot


@dataclass(frozen=True)
class BestOf:
    """Per run the candidate with the lowest prequential (predict, then learn) squared error.

    E_m ← 2^(-1/half_life)·E_m + ‖φ̂_m(x) - y‖², so that a model that learns late can
    overtake one that learns fast; ties go to the first. All candidates learn all pairs.
    """

    candidates: Sequence[PostServing]
    half_life: float = 100.0  # pairs after which an error counts half

    def __post_init__(self) -> None:
        if len(self.candidates) == 0 or self.half_life <= 0:
            raise InvalidInput(f"BestOf needs at least one candidate and half_life > 0; got {self}.")

    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> BestOfModel:
        models = [
            c.start(runs=runs, context_dim=context_dim, post_dim=post_dim, seed=seed) for c in self.candidates
        ]
        return BestOfModel(models, len(runs), keep=2.0 ** (-1.0 / self.half_life))


class BestOfModel:
    """The candidates and their recent errors for R runs."""

    def __init__(self, models: Sequence[PostServingModel], runs: int, *, keep: float) -> None:
        self._models, self._keep = models, keep
        self._error = np.zeros((len(models), runs))

    @property
    def post_dim(self) -> int:
        return self._models[0].post_dim

    @property
    def chosen(self) -> IntArray:
        """(R,) the position of the candidate each run trusts now."""
        return np.argmin(self._error, axis=0)

    def predict(self, x: Array) -> Array:
        predictions = np.stack([model.predict(x) for model in self._models])  # (M, R, K, dy)
        return predictions[self.chosen, np.arange(x.shape[0])]

    def learn(self, run: IntArray, x: Array, y: Array) -> None:
        for wave in waves(run):
            self._judge(run[wave], x[wave], y[wave])
            for model in self._models:
                model.learn(run[wave], x[wave], y[wave])

    def snapshot(self) -> Snapshot:
        state: Snapshot = {"error": self._error.copy()}
        for m, model in enumerate(self._models):
            state |= {f"{m}.{name}": array for name, array in model.snapshot().items()}
        return state

    def restore(self, state: Snapshot) -> None:
        self._error = state["error"].copy()
        for m, model in enumerate(self._models):
            model.restore(under(state, f"{m}."))

    def _judge(self, run: IntArray, x: Array, y: Array) -> None:
        """Charge each candidate for pairs it has not learned yet; each run at most once."""
        asked = np.zeros((self._error.shape[1], *x.shape[1:]))
        asked[run] = x
        for error, model in zip(self._error, self._models, strict=True):
            miss = model.predict(asked)[run] - y
            error[run] = self._keep * error[run] + np.sum(miss**2, axis=(1, 2))

"""φ̂ from any regressor in the manner of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np

from duelwise.errors import InvalidInput, require
from duelwise.randomness import generator
from duelwise.types import AnyArray, Array, IntArray, Snapshot


class Regressor(Protocol):
    """What is asked of an estimator: fit on (n, dx), (n, dy) and predict (n, dx) → (n, dy)."""

    def fit(self, X: Array, y: Array, /) -> Self: ...
    def predict(self, X: Array, /) -> AnyArray: ...
    def get_params(self) -> dict[str, object]: ...
    def set_params(self, **params: int) -> Self: ...


@runtime_checkable
class IncrementalRegressor(Protocol):
    """A regressor that learns from new rows alone."""

    def partial_fit(self, X: Array, y: Array, /) -> Self: ...


@dataclass(frozen=True)
class SklearnModel:
    """One clone of `estimator` per run, by `partial_fit` if it has that, else by `fit` on all rows.

    `fit` is called again at every `refit_every`-th pair. With several outputs the
    estimator must take them; wrap one that does not in `MultiOutputRegressor`.
    """

    estimator: Regressor
    refit_every: int = 1

    def __post_init__(self) -> None:
        if self.refit_every < 1:
            raise InvalidInput(f"refit_every counts pairs, so it is at least 1; got {self.refit_every}.")

    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> SklearnRuns:
        require("sklearn", extra="sklearn", purpose="SklearnModel")
        return SklearnRuns(self, runs, context_dim, post_dim, seed)


class SklearnRuns:
    """The clones of R runs.

    An estimator's fitted state has no common form but pickle, so the rows it
    learned are the state: restoring fits fresh clones on them, in the same order.
    """

    def __init__(
        self, settings: SklearnModel, runs: Sequence[int], context_dim: int, post_dim: int, seed: int
    ) -> None:
        self._settings, self._runs, self._seed = settings, tuple(runs), seed
        self._context_dim, self._post_dim = context_dim, post_dim
        self._x: list[list[Array]] = [[] for _ in runs]  # pairs (2, dx)
        self._y: list[list[Array]] = [[] for _ in runs]  # pairs (2, dy)
        self._clones = [self._clone(run) for run in runs]
        self._fitted = [False] * len(runs)

    @property
    def post_dim(self) -> int:
        return self._post_dim

    def predict(self, x: Array) -> Array:
        out = np.zeros((*x.shape[:2], self._post_dim))
        for r, clone in enumerate(self._clones):
            if self._fitted[r]:
                out[r] = np.reshape(clone.predict(x[r]), out[r].shape)
        return out

    def learn(self, run: IntArray, x: Array, y: Array) -> None:
        if self.post_dim == 0:
            return
        for i, r in enumerate(run):
            self._learn_pair(int(r), x[i], y[i])

    def snapshot(self) -> Snapshot:
        x = [pair for pairs in self._x for pair in pairs]
        y = [pair for pairs in self._y for pair in pairs]
        return {
            "pairs": np.array([len(pairs) for pairs in self._x]),
            "x": np.reshape(np.array(x, dtype=np.float64), (len(x), 2, self._context_dim)),
            "y": np.reshape(np.array(y, dtype=np.float64), (len(y), 2, self._post_dim)),
        }

    def restore(self, state: Snapshot) -> None:
        self._x, self._y = [[] for _ in self._runs], [[] for _ in self._runs]
        self._clones, self._fitted = [self._clone(run) for run in self._runs], [False for _ in self._runs]
        self.learn(np.repeat(np.arange(len(self._runs)), state["pairs"]), state["x"], state["y"])

    def _learn_pair(self, r: int, x: Array, y: Array) -> None:
        self._x[r].append(x.copy())
        self._y[r].append(y.copy())
        clone = self._clones[r]
        if isinstance(clone, IncrementalRegressor):
            clone.partial_fit(x, self._target(y))
            self._fitted[r] = True
        elif len(self._x[r]) % self._settings.refit_every == 0:
            clone.fit(np.concatenate(self._x[r]), self._target(np.concatenate(self._y[r])))
            self._fitted[r] = True

    def _target(self, y: Array) -> Array:
        """(n, dy), or (n,) for one output, which many estimators insist on."""
        return y[:, 0] if self._post_dim == 1 else y

    def _clone(self, run: int) -> Regressor:
        """A fresh estimator whose own randomness, if any, follows from the seed and the run."""
        from sklearn.base import clone

        fresh = clone(self._settings.estimator)
        draws = generator(self._seed, "sklearn", run)
        seeds = {
            name: int(draws.integers(2**31))
            for name in sorted(fresh.get_params())
            if name == "random_state" or name.endswith("__random_state")
        }
        return fresh.set_params(**seeds)

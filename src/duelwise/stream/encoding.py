"""Features that are no plain numbers: categories become indicators, long vectors are projected.

{"model": ["a", "b", "c"]}              model="b" → model=a 0, model=b 1, model=c 0
{"text": {"length": 768, "dim": 16}}    768 numbers → text[0] … text[15], by a projection (projections.py)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import cast

import numpy as np

from duelwise.errors import InvalidInput, unknown_name
from duelwise.stream.events import Projected
from duelwise.stream.projections import Projection, main_axes, projection_of
from duelwise.types import JSON, Array

MOST_LEVELS = 1000


class Encoder:
    """Turns features by name, some of them raw, into features by name that are all numbers."""

    def __init__(self, encodings: Mapping[str, JSON], seed: int) -> None:
        self._levels: dict[str, tuple[str, ...]] = {}
        self._projections: dict[str, Projection] = {}
        for name, rule in encodings.items():
            if isinstance(rule, list):
                self._levels[name] = _levels(name, rule)
            else:
                self._projections[name] = projection_of(name, rule, seed)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that all encoded features become, in order."""
        levels = [f"{name}={level}" for name, known in self._levels.items() for level in known]
        vectors = [f"{name}[{i}]" for name, p in self._projections.items() for i in range(p.dim)]
        return (*levels, *vectors)

    @property
    def in_vectors(self) -> int:
        """How many numbers the vectors have that are projected."""
        return sum(one.length for one in self._projections.values())

    @property
    def to_fit(self) -> Mapping[str, Projection]:
        """Projections that are fitted to items, and are not yet."""
        return {name: one for name, one in self._projections.items() if one.axes is None}

    def fit(self, items: Sequence[tuple[str, object]]) -> list[Projected]:
        """Projections fitted to items, id and features each, where some are due and come by name."""
        found: list[Projected] = []
        for name, projection in self.to_fit.items():
            vectors = [
                self._vector(name, cast("Mapping[str, object]", features)[name], f"item {id!r}")
                for id, features in items
                if isinstance(features, Mapping) and name in features
            ]
            if vectors:
                found.append(Projected(name, *main_axes(name, projection, vectors)))
        return found

    def fitted(self, projected: Projected) -> Encoder:
        """The same with a projection that was fitted."""
        other = copy(self)
        found = self._projections[projected.name]._replace(axes=projected.axes, centre=projected.centre)
        other._projections = self._projections | {projected.name: found}
        return other

    def encode(self, features: Mapping[str, object], owner: str) -> Mapping[str, object]:
        """The same features with numbers for whatever is declared."""
        if not any(name in features for name in (*self._levels, *self._projections)):
            return features
        encoded: dict[str, object] = {}
        for name, value in features.items():
            if name in self._levels:
                encoded |= self._indicators(name, value, owner)
            elif name in self._projections:
                encoded |= self._projected(name, value, owner)
            else:
                encoded[name] = value
        return encoded

    def _indicators(self, name: str, value: object, owner: str) -> dict[str, object]:
        known = self._levels[name]
        if value not in known:
            raise unknown_name(f"level of {name!r} for {owner}", str(value), known)
        return {f"{name}={level}": float(level == value) for level in known}

    def _projected(self, name: str, value: object, owner: str) -> dict[str, object]:
        projection, vector = self._projections[name], self._vector(name, value, owner)
        if projection.axes is None:
            raise InvalidInput(
                f"The projection of {name!r} is fitted to the items that are put first, and none are. "
                f"Put more than {projection.dim} items with it, then ask."
            )
        return {f"{name}[{i}]": float(part) for i, part in enumerate(projection.of(vector))}

    def _vector(self, name: str, value: object, owner: str) -> Array:
        length = self._projections[name].length
        try:
            vector = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            vector = np.empty(0)
        if vector.shape != (length,) or not np.isfinite(vector).all():
            raise InvalidInput(f"The feature {name!r} of {owner} is no vector of {length} finite numbers.")
        return vector


NO_ENCODER = Encoder({}, 0)
"""All features are numbers already."""


def encoder_of(encodings: Mapping[str, JSON], seed: int) -> Encoder:
    """The encoder of these rules; made once."""
    return _made(json.dumps(dict(encodings), sort_keys=False), seed)


@lru_cache(maxsize=256)
def _made(encodings: str, seed: int) -> Encoder:
    return Encoder(json.loads(encodings), seed)


def _levels(name: str, rule: Sequence[JSON]) -> tuple[str, ...]:
    good = all(isinstance(level, str) and 0 < len(level) <= 100 for level in rule)
    if not good or len(set(map(str, rule))) != len(rule) or not 2 <= len(rule) <= MOST_LEVELS:
        raise InvalidInput(
            f"The levels of {name!r} are {rule!r:.80}; expected 2 to {MOST_LEVELS} different words."
        )
    return tuple(cast("Sequence[str]", rule))

"""Features that are no plain numbers: categories become indicators, long vectors are projected.

    {"model": ["a", "b", "c"]}              model="b" → model=a 0, model=b 1, model=c 0
    {"text": {"length": 768, "dim": 16}}    768 numbers → text[0] … text[15], by a fixed random projection

The projection is drawn from the stream's seed, so it is kept with the stream and needs no storage; by
Johnson and Lindenstrauss it keeps distances to within about √(log n / dim).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

import numpy as np

from duelwise.errors import InvalidInput, unknown_name
from duelwise.randomness import generator
from duelwise.types import JSON, Array

LONGEST_VECTOR = 100_000
MOST_LEVELS = 1000


class Encoder:
    """Turns features by name, some of them raw, into features by name that are all numbers."""

    def __init__(self, encodings: Mapping[str, JSON], seed: int) -> None:
        self._levels: dict[str, tuple[str, ...]] = {}
        self._projections: dict[str, Array] = {}  # (length, dim)
        for name, rule in encodings.items():
            if isinstance(rule, list):
                self._levels[name] = _levels(name, rule)
            else:
                self._projections[name] = _projection(name, rule, seed)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that all encoded features become, in order."""
        levels = [f"{name}={level}" for name, known in self._levels.items() for level in known]
        vectors = [f"{name}[{i}]" for name, p in self._projections.items() for i in range(p.shape[1])]
        return (*levels, *vectors)

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
        projection = self._projections[name]
        try:
            vector = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            vector = np.empty(0)
        if vector.shape != projection.shape[:1] or not np.isfinite(vector).all():
            raise InvalidInput(
                f"The feature {name!r} of {owner} is no vector of {projection.shape[0]} finite numbers."
            )
        return {f"{name}[{i}]": float(part) for i, part in enumerate(vector @ projection)}


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


class _Vector(NamedTuple):
    length: int
    dim: int


def _projection(name: str, rule: JSON, seed: int) -> Array:
    given = rule if isinstance(rule, dict) else {}
    try:
        vector = _Vector(**cast("dict[str, int]", given))
        fits = 1 <= int(vector.dim) <= int(vector.length) <= LONGEST_VECTOR
    except (TypeError, ValueError):
        fits, vector = False, _Vector(1, 1)
    if not fits:
        raise InvalidInput(
            f"The encoding of {name!r} is {rule!r:.80}; expected levels such as ['a', 'b'], or "
            "{'length': 768, 'dim': 16} for a vector to be projected."
        )
    drawn = generator(seed, f"projection/{name}", 0).standard_normal((vector.length, vector.dim))
    return drawn / math.sqrt(vector.dim)

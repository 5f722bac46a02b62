"""Candidates as they come from a caller: arrays, or records with ids and features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.stream.encoding import NO_ENCODER, Encoder
from duelwise.types import AnyArray, Array, BoolArray

LARGEST = 1e6
"""Features beyond this leave no digits for the others in λI + Σ Δz Δzᵀ: scale them."""

LONGEST_NAME = 200
_NAME_RULE = f"text of 1 to {LONGEST_NAME} printable ASCII characters"

Features = Sequence[float] | Mapping[str, float | str | Sequence[float]] | Array
"""In the order of the stream's names, or by name; by name also a level or a vector that was declared."""

PartialFeatures = Sequence[float | None] | Mapping[str, float | None] | Array
"""None, NaN or left out: not known yet."""


class CandidateSet(NamedTuple):
    """Candidates that were checked."""

    x: Array  # (K, dx)
    ids: Sequence[str] | None
    y: Array | None = None  # (K, dy) post-serving values of items, where they are known
    known: BoolArray | None = None  # (K,) whether they are

    def expected(self, predicted: Array) -> Array:
        """(K, dy) post-serving values: those that are known, else as φ̂ predicts them."""
        if self.y is None or self.known is None:
            return predicted
        return np.where(self.known[:, None], self.y, predicted)


Candidates = Array | Sequence[Mapping[str, object]] | Sequence[Sequence[float]] | CandidateSet


def is_name(text: object) -> bool:
    """Whether this can name a stream, a candidate, a request or a source, in any database and URL."""
    return isinstance(text, str) and 0 < len(text) <= LONGEST_NAME and text.isascii() and text.isprintable()


def check_name(what: str, name: str | None) -> None:
    if name is not None and not is_name(name):
        raise InvalidInput(f"The {what} is {name!r:.80}; expected {_NAME_RULE}.")


def check_source(source: str) -> None:
    """The name of a source of which something is said: votes without one have none in common."""
    if source is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise InvalidInput(
            f"The source is None; expected {_NAME_RULE}. Take votes without one back by ticket."
        )
    check_name("source", source)


def check_stream_name(name: str) -> None:
    """A stream's name goes into paths and addresses: no slash, and nothing that means another folder."""
    check_name("name of the stream", name)
    if name.startswith(".") or "/" in name or "\\" in name:
        raise InvalidInput(
            f"The name of the stream is {name!r:.80}; it must not begin with a dot or hold a slash."
        )


def read_candidates(
    candidates: Candidates, names: Sequence[str], encoder: Encoder = NO_ENCODER
) -> CandidateSet:
    """Check a candidate set: at least two, ids that differ, features that are finite."""
    if isinstance(candidates, CandidateSet):
        return candidates
    try:
        count = len(candidates)
        first = candidates[0] if count else None
    except (TypeError, LookupError) as error:
        raise InvalidInput(
            f"The candidates are of the type {type(candidates).__name__}; expected an array of a row each, "
            'or a list of records {"id": ..., "features": ...}.'
        ) from error
    if count < 2:
        raise InvalidInput(f"There are {count} candidates; a duel needs at least two.")
    if not isinstance(candidates, np.ndarray) and isinstance(first, Mapping):
        records = cast("Sequence[Mapping[str, object]]", candidates)
        ids = _ids(records)
        rows = [record.get("features") for record in records]
        return CandidateSet(_matrix(rows, names, count, lambda i: f"candidate {ids[i]!r}", encoder), ids)
    return CandidateSet(_matrix(candidates, names, count, lambda i: f"candidate {i}", encoder), None)


def read_features(features: object, names: Sequence[str], owner: str, encoder: Encoder = NO_ENCODER) -> Array:
    """(n,) the features of one thing, given in order or by name."""
    return _matrix([features], names, 1, lambda _: owner, encoder)[0]


def read_rows(
    rows: Sequence[object], names: Sequence[str], owner: Callable[[int], str], encoder: Encoder
) -> Array:
    """(n, len(names)) the features of many things, each in order or by name."""
    return _matrix(rows, names, len(rows), owner, encoder)


def read_partial(features: object, names: Sequence[str], owner: str) -> Array:
    """(n,) some features of one thing, given in order or by name; NaN where they are not known."""
    if features is None:
        return np.full(len(names), np.nan)
    if isinstance(features, Mapping):
        given = cast("Mapping[str, object]", features)
        for name in given:
            if name not in names:
                raise InvalidInput(
                    f"There is a feature {name!r} of {owner}; this stream knows {', '.join(names)}."
                )
        values: list[object] = [given.get(name) for name in names]
    else:
        row: object = cast("AnyArray", features).tolist() if isinstance(features, np.ndarray) else features
        listed = isinstance(row, Sequence) and not isinstance(row, str | bytes)
        if not listed or len(cast("Sequence[object]", row)) != len(names):
            raise InvalidInput(
                f"The features of {owner} are {row!r:.80}; expected {len(names)} numbers, null where one is "
                f"not known: {', '.join(names[:8])}."
            )
        values = list(cast("Sequence[object]", row))
    known = [value is not None and value == value for value in values]
    return np.array(
        [
            _number(v, name, owner) if there else np.nan
            for v, name, there in zip(values, names, known, strict=True)
        ],
        dtype=np.float64,
    )


def _ids(records: Sequence[object]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    for position, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise InvalidInput(
                f"Candidate {position} is no record; expected an id and features, like the first."
            )
        id = cast("Mapping[str, object]", record).get("id")
        if not isinstance(id, str) or not is_name(id):
            raise InvalidInput(f"Candidate {position} has the id {id!r:.80}; expected {_NAME_RULE}.")
        if id in seen:
            raise InvalidInput(
                f"Candidates {seen[id]} and {position} share the id {id!r}; a candidate can be offered once."
            )
        seen[id] = position
    return tuple(seen)


def _matrix(
    rows: object, names: Sequence[str], count: int, owner: Callable[[int], str], encoder: Encoder
) -> Array:
    """(count, len(names)); the quick way for good input, the slow one to say what is wrong."""
    try:
        x = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        x = np.empty(0)
    if x.shape == (count, len(names)) and (np.abs(x) <= LARGEST).all():
        return x
    each = [_row(row, names, owner(i), encoder) for i, row in enumerate(cast("Sequence[object]", rows))]
    return np.array(each, dtype=np.float64).reshape(count, len(names))


def _row(row: object, names: Sequence[str], owner: str, encoder: Encoder) -> list[float]:
    if isinstance(row, Mapping):
        row = _by_name(encoder.encode(cast("Mapping[str, object]", row), owner), names, owner)
    if isinstance(row, np.ndarray):
        row = cast("AnyArray", row).tolist()
    if isinstance(row, str | bytes) or not isinstance(row, Sequence):
        raise InvalidInput(f"The features of {owner} are {row!r}; expected {len(names)} numbers.")
    values = cast("Sequence[object]", row)
    if len(values) != len(names):
        raise InvalidInput(
            f"The features of {owner} are {len(values)} numbers; "
            f"expected {len(names)}: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}."
        )
    return [_number(value, name, owner) for value, name in zip(values, names, strict=True)]


def _by_name(features: Mapping[str, object], names: Sequence[str], owner: str) -> list[object]:
    for name in features:
        if name not in names:
            raise InvalidInput(
                f"There is a feature {name!r} of {owner}; this stream knows {', '.join(names)}."
            )
    for name in names:
        if name not in features:
            raise InvalidInput(f"The feature {name!r} of {owner} is missing; give all of {', '.join(names)}.")
    return [features[name] for name in names]


def _number(value: object, name: str, owner: str) -> float:
    if isinstance(value, np.generic):
        value = cast("object", value.item())
    if not isinstance(value, int | float):
        raise InvalidInput(f"The feature {name!r} of {owner} is {value!r}; expected a number.")
    if not abs(value) <= LARGEST:
        raise InvalidInput(
            f"The feature {name!r} of {owner} is {value}; expected a finite number within ±{LARGEST:g}. "
            "Scale large features."
        )
    return float(value)

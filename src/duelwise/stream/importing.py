"""Warm start: past duels from CSV or JSON lines.

JSON lines: {"left": [...], "right": [...], "left_context": [...], "right_context": [...],
"winner": "left", "source": "...", "event_id": "..."}; features in order or by name.
CSV: a column `left.<feature>` and `right.<feature>` for every feature, those known after
serving too, then `winner` and, if you like, `source` and `event_id`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, cast

from duelwise.errors import Conflict, DuelwiseError, InvalidInput
from duelwise.receipts import Receipt
from duelwise.stream.asking import past_features
from duelwise.stream.candidates import CandidateSet, Features, check_name
from duelwise.stream.csv_files import csv_rows
from duelwise.stream.decision_stream import DecisionStream
from duelwise.stream.events import Asked, decode
from duelwise.stream.lifecycle import WINNERS
from duelwise.stream.operations import Import
from duelwise.stream.repeating import check_repeated, digest_of
from duelwise.stream.settings import StreamSettings
from duelwise.text_files import opened_text
from duelwise.types import Array

AT_ONCE = 200  # duels in one transaction


def import_duels(
    stream: DecisionStream, path: Path, *, on_progress: Callable[[int, int], None] | None = None
) -> int:
    """Learn from past duels; returns how many were new. The whole file is checked before the first.

    Give each an `event_id`, and an import that was interrupted can be run again. `on_progress` hears
    how many of how many are done.
    """
    total = _check_all(stream, path)
    new = done = 0
    duels = read_duels(path, stream.settings)
    while chunk := list(islice(duels, AT_ONCE)):
        for (number, _), answer in zip(chunk, stream.run([duel for _, duel in chunk]), strict=True):
            if isinstance(answer, DuelwiseError):
                raise type(answer)(f"{path.name}, line {number}: {answer}")
            new += isinstance(answer, Receipt) and answer.changed
        done += len(chunk)
        if on_progress is not None:
            on_progress(done, total)
    return new


def read_duels(path: Path, settings: StreamSettings) -> Iterator[tuple[int, Import]]:
    """The duels of a file with their line numbers."""
    if path.suffix == ".csv":
        return _from_csv(path, settings)
    if path.suffix in (".jsonl", ".ndjson"):
        return _from_jsonl(path)
    raise InvalidInput(f"{path.name} ends in {path.suffix!r}; expected .csv or .jsonl.")


def _from_jsonl(path: Path) -> Iterator[tuple[int, Import]]:
    with opened_text(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise TypeError("it is another kind of JSON")
                yield number, Import(**cast("dict[str, Any]", record))
            except (ValueError, TypeError, RecursionError) as error:
                raise InvalidInput(
                    f"{path.name}, line {number} is no duel: {error}. Expected an object with "
                    f"{', '.join(Import._fields)}."
                ) from error


def _from_csv(path: Path, settings: StreamSettings) -> Iterator[tuple[int, Import]]:
    features = [f"{side}.{name}" for side in ("left", "right") for name in settings.feature_names]
    for number, row in csv_rows(path, needed=[*features, "winner"], optional=("source", "event_id")):
        yield number, _duel(row, settings, f"{path.name}, line {number}")


def _duel(row: Mapping[str, str | None], settings: StreamSettings, where: str) -> Import:
    def side(which: str, names: tuple[str, ...]) -> Features:
        return [_number(row[f"{which}.{name}"], f"{which}.{name}", where) for name in names]

    return Import(
        left=side("left", settings.context_names),
        right=side("right", settings.context_names),
        left_context=side("left", settings.post_names),
        right_context=side("right", settings.post_names),
        winner=row["winner"] or "",
        source=row.get("source") or None,
        event_id=row.get("event_id") or None,
    )


def _number(text: str | None, column: str, where: str) -> float:
    try:
        return float(text or "")
    except ValueError as error:
        raise InvalidInput(f"{where}: the column {column!r} holds {text!r}; expected a number.") from error


def _check_all(stream: DecisionStream, path: Path) -> int:
    """How many duels a file holds, all of which can be recorded."""
    total, here = 0, dict[str, str]()  # digests of the duels with an event_id
    duels = read_duels(path, stream.settings)
    while chunk := list(islice(duels, AT_ONCE)):
        read = [(duel, *_check(duel, stream, f"{path.name}, line {number}")) for number, duel in chunk]
        ids = {duel.event_id for duel, _, _ in read if duel.event_id is not None}
        before = stream.replica.store.named(stream.replica.row.id, list(ids))
        for (number, _), (duel, x, y) in zip(chunk, read, strict=True):
            id, digest = duel.event_id, digest_of(x, y, duel.winner)
            if id is None:
                continue
            try:
                if id in before:
                    asked = cast("Asked", decode(before[id]).event)  # only asks carry an event_id
                    check_repeated(asked, digest, CandidateSet(x, None), id)
                if here.setdefault(id, digest) != digest:
                    raise Conflict(f"The event_id {id!r} stands above with another duel; give each its own.")
            except Conflict as error:
                raise Conflict(f"{path.name}, line {number}: {error} Nothing was imported.") from error
        total += len(chunk)
    return total


def _check(duel: Import, stream: DecisionStream, where: str) -> tuple[Array, Array]:
    """x (2, dx) and y (2, dy) of a duel that can be recorded."""
    try:
        x, y = past_features(duel, stream.settings, stream.encoder)
        check_name("source", duel.source)
        check_name("event_id", duel.event_id)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error} Nothing was imported.") from error
    if duel.winner == "skip" or duel.winner not in WINNERS:
        raise InvalidInput(
            f"{where}: the winner is {duel.winner!r}; expected left, right or tie. Nothing was imported."
        )
    return x, y

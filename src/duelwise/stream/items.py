"""Items as they come from a caller: records, files and tables, checked whole before anything changes."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from duelwise.errors import InvalidInput, require
from duelwise.storage import JSON
from duelwise.stream.candidates import check_name, read_rows
from duelwise.stream.catalogue import Catalogue
from duelwise.stream.csv_files import csv_rows
from duelwise.stream.encoding import Encoder
from duelwise.stream.events import ItemsPut
from duelwise.stream.settings import StreamSettings
from duelwise.text_files import opened_text

CHUNK = 2000  # items in one event
LONGEST_CONTENT = 100_000  # characters of an item's content as JSON
FIELDS = ("id", "features", "group", "post", "content")

Record = Mapping[str, object]


class Put(NamedTuple):
    """What a put has done."""

    added: int
    changed: int
    same: int


def read_items(records: Sequence[Record], settings: StreamSettings, encoder: Encoder) -> list[ItemsPut]:
    """Check records {"id", "features", "group"?, "post"?, "content"?} and turn them into events."""
    ids = [_id(record, number) for number, record in enumerate(records)]
    if len(set(ids)) != len(ids):
        twice = next(id for id, times in Counter(ids).items() if times > 1)
        raise InvalidInput(f"Two of the items share the id {twice!r}; give every item its own.")
    return [
        _event(records[start : start + CHUNK], ids[start : start + CHUNK], settings, encoder)
        for start in range(0, len(records), CHUNK)
    ]


def _event(records: Sequence[Record], ids: list[str], settings: StreamSettings, encoder: Encoder) -> ItemsPut:
    x = read_rows(
        [record.get("features") for record in records],
        settings.context_names,
        lambda i: f"item {ids[i]!r}",
        encoder,
    )
    known = [record.get("post") is not None for record in records]
    y = None
    if any(known):
        nothing = [0.0] * settings.post_dim
        rows = [record["post"] if has else nothing for record, has in zip(records, known, strict=True)]
        y = read_rows(rows, settings.post_names, lambda i: f"item {ids[i]!r}, known after serving", encoder)
    groups = [_group(record, id) for record, id in zip(records, ids, strict=True)]
    contents = [_content(record, id) for record, id in zip(records, ids, strict=True)]
    return ItemsPut(
        ids, x, y, known if y is not None else None,
        groups if any(group is not None for group in groups) else None,
        contents if any(content is not None for content in contents) else None,
    )  # fmt: skip


def features_by_id(records: Sequence[object]) -> list[tuple[str, object]]:
    """Id and features of records that are not checked yet."""
    named = [cast("Record", record) for record in records if isinstance(record, Mapping)]
    return [(str(record.get("id")), record.get("features")) for record in named]


def news(put: ItemsPut, catalogue: Catalogue) -> tuple[ItemsPut | None, Put]:
    """The items of a put that are new or differ from what the catalogue has, and how many of each."""
    added = changed = 0
    kept: list[int] = []
    for row, id in enumerate(put.ids):
        if id not in catalogue:
            added += 1
            kept.append(row)
        elif not _is_same(put, row, catalogue):
            changed += 1
            kept.append(row)
    counts = Put(added, changed, len(put.ids) - len(kept))
    if not kept:
        return None, counts

    def some(values: Sequence[Any] | None) -> Sequence[Any] | None:
        return None if values is None else [values[row] for row in kept]

    return ItemsPut(
        [put.ids[row] for row in kept], put.x[kept], None if put.y is None else put.y[kept],
        some(put.known), some(put.groups), some(put.contents),
    ), counts  # fmt: skip


def records_of(items: object, settings: StreamSettings) -> list[Record]:
    """Records from a .csv, .jsonl or .parquet file, a DataFrame, an Arrow table or a list of records.

    A table has a column `id`, one for each feature by its name, and if wanted `group` and `content`.
    """
    if isinstance(items, str | Path):
        return _from_file(Path(items), settings)
    if hasattr(items, "to_pylist"):
        return _from_rows(cast("Any", items).to_pylist(), settings)
    if hasattr(items, "to_dict") and hasattr(items, "columns"):
        return _from_rows(cast("Any", items).to_dict("records"), settings)
    return list(cast("Iterable[Record]", items))


def _from_file(path: Path, settings: StreamSettings) -> list[Record]:
    if path.suffix == ".csv":
        return _from_rows([row for _, row in csv_rows(path)], settings)
    if path.suffix in (".jsonl", ".ndjson"):
        with opened_text(path) as file:
            return [_line(text, number) for number, text in enumerate(file, start=1) if text.strip()]
    if path.suffix == ".parquet":
        require("pyarrow", extra="tables", purpose="Reading Parquet")
        import pyarrow.parquet as parquet

        try:
            table = parquet.read_table(path)
        except ValueError as error:
            raise InvalidInput(f"{path.name} is no Parquet: {error}.") from error
        return _from_rows(table.to_pylist(), settings)
    raise InvalidInput(f"{path.name} ends in {path.suffix!r}; expected .csv, .jsonl or .parquet.")


def _line(text: str, number: int) -> Record:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"Line {number} is no JSON: {error}. Expected an item a line.") from error
    if not isinstance(record, dict):
        raise InvalidInput(f"Line {number} is no item; expected an object with id and features.")
    return cast("Record", record)


def _from_rows(rows: Sequence[Record], settings: StreamSettings) -> list[Record]:
    """Items from the rows of a table."""
    raw = [*settings.context_names, *settings.encodings]
    known = {*raw, *settings.post_names, "id", "group", "content"}
    records: list[Record] = []
    for number, given in enumerate(rows):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise InvalidInput(
                f"The table has a column {unknown[0]!r}; this stream knows id, group, content, "
                f"{', '.join([*settings.feature_names, *settings.encodings][:12])}."
            )
        row = {name: value for name, value in given.items() if not _is_empty(value)}
        post = {name: _number(row[name]) for name in settings.post_names if name in row}
        records.append(
            {
                "id": str(row.get("id", "" if "id" in given else number)),
                "features": {
                    name: _feature(row[name], settings.encodings.get(name)) for name in raw if name in row
                },
                "group": row.get("group"),
                "content": row.get("content"),
                "post": post or None,
            }
        )
    return records


def _is_empty(cell: object) -> bool:
    """As tables have it where nothing is: a frame has NaN."""
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell))


def _feature(cell: object, rule: JSON) -> object:
    """A cell as the feature's rule takes it: levels are text, though they may look like numbers."""
    return str(cell) if isinstance(rule, list) else _number(cell)


def _number(value: object) -> object:
    """A cell that may be a number written as text."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _id(record: object, number: int) -> str:
    if not isinstance(record, Mapping):
        raise InvalidInput(f"Item {number} is no record; expected an id and features.")
    for name in cast("Record", record):
        if name not in FIELDS:
            raise InvalidInput(f"Item {number} has a field {name!r:.80}; expected {', '.join(FIELDS)}.")
    id = cast("Record", record).get("id")
    if not isinstance(id, str):
        raise InvalidInput(f"Item {number} has the id {id!r:.80}; expected text.")
    check_name(f"id of item {number}", id)
    return id


def _group(record: Record, id: str) -> str | None:
    group = record.get("group")
    if group is not None:
        if not isinstance(group, str):
            raise InvalidInput(f"The group of item {id!r} is {group!r:.80}; expected text.")
        check_name(f"group of item {id!r}", group)
    return group


def _content(record: Record, id: str) -> JSON:
    content = cast("JSON", record.get("content"))
    if content is None:
        return None
    try:
        length = len(json.dumps(content, allow_nan=False))
        json.dumps(content, ensure_ascii=False).encode()  # half a character is in no UTF-8
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"The content of item {id!r} is no JSON: {error}.") from error
    if length > LONGEST_CONTENT:
        raise InvalidInput(
            f"The content of item {id!r} is {length} characters; expected at most {LONGEST_CONTENT}. "
            "Keep long content elsewhere and give its address."
        )
    return content


def _is_same(put: ItemsPut, row: int, catalogue: Catalogue) -> bool:
    kept = catalogue.item(put.ids[row])
    has = put.known is not None and put.known[row]
    same_y = not has and kept.y is None
    if has and kept.y is not None and put.y is not None:
        same_y = np.array_equal(put.y[row], kept.y)
    group = None if put.groups is None else put.groups[row]
    content = None if put.contents is None else put.contents[row]
    return np.array_equal(put.x[row], kept.x) and same_y and group == kept.group and content == kept.content

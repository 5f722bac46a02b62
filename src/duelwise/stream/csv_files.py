"""Tables as CSV: read by the names of their columns, and written so that no spreadsheet runs a cell."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from duelwise.errors import InvalidInput
from duelwise.text_files import opened_text

_QUOTED = ("=", "+", "-", "@", "\t", "\r", "'")  # a spreadsheet would run a cell that begins so; or a quote


def csv_rows(
    path: Path, *, needed: Sequence[str] = (), optional: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, str | None]]]:
    """The rows of a CSV file with their line numbers, by the names of the columns."""
    with opened_text(path) as file:
        reader = csv.DictReader(file)
        names = reader.fieldnames or ()
        missing = [name for name in needed if name not in names]
        if missing:
            raise InvalidInput(
                f"{path.name} lacks the column {missing[0]!r}; expected {', '.join([*needed, *optional])}."
            )
        if len(set(names)) != len(names):
            raise InvalidInput(f"{path.name} has two columns of one name; names must differ.")
        for row in map(plain_row, reader):
            if None in row:
                raise InvalidInput(f"{path.name}, line {reader.line_num} has more cells than the first line.")
            yield reader.line_num, row


def quoted(text: str) -> str:
    """Text that a spreadsheet would run is made plain by a quote before it."""
    return f"'{text}" if text.startswith(_QUOTED) else text


def unquoted(cell: str) -> str:
    """The text that `quoted` made a cell of."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_QUOTED) else cell


def plain_row(row: Mapping[Any, Any]) -> dict[Any, Any]:
    """A row of CSV, its cells as they were before `quoted`; cells too many are a list."""
    return {name: unquoted(cell) if isinstance(cell, str) else cell for name, cell in row.items()}

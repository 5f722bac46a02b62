"""Text files that people bring, as spreadsheets and other programs write them."""

from __future__ import annotations

import csv
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from duelwise.errors import InvalidInput


@contextmanager
def opened_text(path: Path) -> Generator[TextIO]:
    """A file for `csv`, or to take lines from. A mark that it is UTF-8 is not taken for text."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            yield file
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{path.name} is not in UTF-8: {error.reason} at byte {error.start}. Save it as UTF-8."
            ) from error
        except csv.Error as error:
            raise InvalidInput(
                f"{path.name} is no CSV: {error}. Expected cells between separators: check its quotes."
            ) from error

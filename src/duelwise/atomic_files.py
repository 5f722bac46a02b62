"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the place, force it to disk, then move it there in one step.

    No two can meet; a leftover of a killed one is never read. A link stays a link, and what is no file,
    such as /dev/stdout, is written to as it is.
    """
    if path.exists() and not path.is_file():
        write(path)
        return
    path = path.resolve()
    with suppress(FileExistsError):  # of a folder that is none writing says so, with the whole path
        path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.partial")
    try:
        write(partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)  # the move itself is a change of the folder
    os.fsync(folder)
    os.close(folder)


def write_text(path: Path, text: str) -> None:
    """A text file in UTF-8, whole or not at all."""
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))

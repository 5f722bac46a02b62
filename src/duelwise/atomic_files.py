"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

OPENED = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the place, force it to disk, then move it there in one step.

    No two can meet; a leftover of a killed one is never read. A link stays a link. What is no file, or is
    whatever /dev/stdout was led to, gets the whole content behind what it has.
    """
    if _is_no_file(path):
        write(path)
        return
    if is_open_elsewhere(path):
        with TemporaryDirectory() as folder:
            made = Path(folder) / path.name
            write(made)
            with made.open("rb") as content, path.open("ab") as end:
                shutil.copyfileobj(content, end)
        return
    path = path.resolve()
    with suppress(FileExistsError):  # of a folder that is none writing says so, with the whole path
        path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.partial")
    try:
        write(partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):  # who may read what was there may read this, and nobody else
            shutil.copymode(path, partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)  # the move itself is a change of the folder
    os.fsync(folder)
    os.close(folder)


def is_open_elsewhere(path: Path) -> bool:
    """Whether it is a pipe, a device or a file that a shell has opened, which must not be replaced."""
    return _is_no_file(path) or str(path.absolute()).startswith(OPENED)


def _is_no_file(path: Path) -> bool:
    return path.exists() and not path.is_file()


def write_text(path: Path, text: str) -> None:
    """A text file in UTF-8, whole or not at all."""
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))

"""Writing a file whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the place, force it to disk, then move it there in one step.

    The temporary name holds the process's number, so that two sweeps in one folder
    cannot meet; a leftover of a killed one is never read.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    write(temporary)
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)  # the move itself is a change of the folder
    os.fsync(folder)
    os.close(folder)


def write_text(path: Path, text: str) -> None:
    """A text file in UTF-8, whole or not at all."""
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))

"""The package's own source files, and a digest of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

Source = tuple[str, Traversable]
"""Its path inside the package, and the file."""


def source(name: str) -> Source:
    """One file of the package."""
    return name, files("duelwise").joinpath(name)


def sources(folder: str) -> list[Source]:
    """Every source file below a folder of the package; none where the package has no files of its own."""
    return _below(files("duelwise").joinpath(folder), folder)


def digest(chosen: Iterable[Source]) -> str:
    """sha256 over names and contents, in the order of the names."""
    total = hashlib.sha256()
    for name, file in sorted(chosen, key=lambda found: found[0]):
        total.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return total.hexdigest()


def _below(folder: Traversable, prefix: str) -> list[Source]:
    found: list[Source] = []
    if not folder.is_dir():
        return found
    for entry in folder.iterdir():
        name = f"{prefix}/{entry.name}"
        if entry.is_dir() and entry.name != "__pycache__":
            found += _below(entry, name)
        elif entry.name.endswith(".py") and entry.is_file():  # an editor's lock may be a link to nothing
            found.append((name, entry))
    return found

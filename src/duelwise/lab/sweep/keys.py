"""A cell's key: the hash of what it is, of the code that plays it and of what that code stands on."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

from duelwise.lab.cells.experiment import Cell
from duelwise.lab.cells.playing import versions
from duelwise.sources import digest, source, sources

NUMBERS = ("learning", "lab/play", "lab/worlds", "lab/cells")
"""The packages that make numbers; the others decide what is played and what is made of it."""
SHARED = ("garbage_collection.py", "randomness.py", "types.py", "errors.py", "sources.py", "text_files.py")


@lru_cache(maxsize=1)
def code_digest() -> str:
    """sha256 over the source files on the simulated path."""
    making = [file for package in NUMBERS for file in sources(package)]
    return digest([*making, *map(source, SHARED)])


def provenance(cell: Cell) -> dict[str, str]:
    """What a cell's numbers stand on besides its own settings."""
    return {"code": code_digest(), "data": cell.problem.world.data_digest(), **versions()}


def key(cell: Cell) -> str:
    """The cell's key under the code and libraries at hand."""
    return key_of(cell.canonical(), provenance(cell))


def key_of(canonical: str, stands_on: dict[str, str]) -> str:
    """sha256 of a cell's canonical text and of what it stands on."""
    return hashlib.sha256(f"{canonical}\n{json.dumps(stands_on, sort_keys=True)}".encode()).hexdigest()

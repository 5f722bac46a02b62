"""A cell's key: the hash of what it is, of the code that plays it and of what that code stands on."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

from duelwise.lab.experiment import Cell
from duelwise.lab.play import versions
from duelwise.sources import digest, source, sources

AFTER = (
    "captions.py", "claims.py", "comparison.py", "contest.py", "costs.py", "figures.py", "files.py",
    "interactive.py", "keys.py", "orphans.py", "paper.py", "protocols.py", "published.py", "records.py",
    "report.py", "results.py", "runner.py", "store.py", "study.py", "style.py", "summary.py", "tables.py",
)  # fmt: skip
"""Files of the laboratory that decide what is played and what is made of it, not how it is played."""
SHARED = ("randomness.py", "types.py", "errors.py", "sources.py")


@lru_cache(maxsize=1)
def code_digest() -> str:
    """sha256 over the source files on the simulated path; a new file counts until it is known not to."""
    laboratory = [found for found in sources("lab") if found[1].name not in AFTER]
    return digest([*sources("learning"), *laboratory, *map(source, SHARED)])


def provenance(cell: Cell) -> dict[str, str]:
    """What a cell's numbers stand on besides its own settings."""
    return {"code": code_digest(), "data": cell.problem.world.data_digest(), **versions()}


def key(cell: Cell) -> str:
    """The cell's key under the code and libraries at hand."""
    return key_of(cell.canonical(), provenance(cell))


def key_of(canonical: str, stands_on: dict[str, str]) -> str:
    """sha256 of a cell's canonical text and of what it stands on."""
    return hashlib.sha256(f"{canonical}\n{json.dumps(stands_on, sort_keys=True)}".encode()).hexdigest()

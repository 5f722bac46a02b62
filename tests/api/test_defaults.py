"""Results and callers rest on defaults: one that moves was meant to, and the listing says so."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from tools.defaults import PACKAGES, listing

KEPT = Path(__file__).with_name("defaults.txt")
MODULE = r"""
LIMIT, SPREAD = 1, 2
FEW = 3
MANY = 2 * 1024
TABLE = {"a": (4, -5), "b": wait, "c": "word"}
TEXT = "many\nlines"
_hidden = 5


class Part:
    size: float = 6.0
    name = "a class's own"
    _kept: int = 7

    def play(self, first, second=8, /, third=9, *, last="ten", needed) -> None: ...

    def _private(self, a=11) -> None: ...


async def wait(seconds: float = 12.0) -> None: ...
"""


def moved(root: Path, kept: str) -> list[str]:
    """Lines of the listing that were added, or taken away."""
    lines = difflib.unified_diff(kept.splitlines(), listing(root).splitlines(), n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def test_no_default_has_moved() -> None:
    differing = "\n".join(moved(KEPT.parents[2], KEPT.read_text(encoding="utf-8")))
    if differing:
        pytest.fail(
            f"Defaults differ from those that are kept:\n{differing}\n"
            "If it is meant: python -m tools.defaults > tests/api/defaults.txt, and a line in CHANGELOG.md."
        )


def test_the_listing_holds_parameters_fields_and_constants(tmp_path: Path) -> None:
    folder = tmp_path / "src" / "duelwise" / PACKAGES[0]
    folder.mkdir(parents=True)
    (folder / "part.py").write_text(MODULE)
    (folder / "empty.py").write_text("def f(a): ...\n")
    assert listing(tmp_path).splitlines() == [
        f"duelwise/{PACKAGES[0]}/part.py",
        "    (LIMIT, SPREAD) = (1, 2)",
        "    FEW = 3",
        "    MANY = 2 * 1024",
        "    TABLE['a'] = (4, -5)",
        "    TABLE['c'] = 'word'",
        "    Part.size = 6.0",
        "    Part.play(second=8, third=9, last='ten')",
        "    wait(seconds=12.0)",
    ]
    before = listing(tmp_path).replace("FEW = 3", "FEW = 4")
    assert moved(tmp_path, before) == ["-    FEW = 4", "+    FEW = 3"]

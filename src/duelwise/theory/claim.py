"""A claim of the paper, its check, and what the check found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from duelwise.theory.measuring import Measured

Verdict = Literal[
    "holds",
    "holds with room",
    "fails as printed, holds corrected",
    "does not apply as stated",
    "fails",
]
"""`fails`: neither the printed form nor a corrected one withstands. No claim of the paper ends there."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One curve of a picture."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """What a check saw, to be drawn."""

    title: str
    across: str
    up: str
    lines: tuple[Line, ...]
    logarithmic: bool = False


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What a simulation says of the printed claim and, where there is one, of its correction."""

    printed: Measured
    corrected: Measured | None = None
    applies: bool = True  # the claim's own premises hold where it is used
    pictures: tuple[Picture, ...] = field(default=(), repr=False)

    @property
    def verdict(self) -> Verdict:
        if not self.applies:
            return "does not apply as stated"
        if self.printed.kept:
            return "holds with room" if self.printed.room else "holds"
        if self.corrected is not None and self.corrected.kept:
            return "fails as printed, holds corrected"
        return "fails"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of the paper."""

    name: str
    labels: tuple[str, ...]  # of the paper, as listed in labels.txt
    statement: str
    measures: str  # what the statistic is
    because: str  # one sentence: why the verdict is what it is
    check: Callable[[int], Checked] = field(repr=False)  # of a seed


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A claim after its check."""

    claim: Claim
    checked: Checked
    seconds: float  # of processor time

    @property
    def verdict(self) -> Verdict:
        return self.checked.verdict

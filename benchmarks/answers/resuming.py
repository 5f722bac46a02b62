"""Lines measured before are not measured again: studies take long, and may be stopped at any time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

Measured = Callable[[Mapping[str, object]], bool]
"""Whether a line with these entries is there already."""


def nothing_measured(key: Mapping[str, object]) -> bool:
    return False


def lines_of(file: Path) -> list[dict[str, object]]:
    """All lines of a file; none where there is no file."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def measured_in(file: Path, part: str, seed: int) -> Measured:
    """What a file has of one part, measured with this seed."""
    lines = [line for line in lines_of(file) if line["part"] == part and line.get("seed") == seed]

    def measured(key: Mapping[str, object]) -> bool:
        return any(all(line.get(name) == value for name, value in key.items()) for line in lines)

    return measured

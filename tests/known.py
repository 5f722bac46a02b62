"""What a test knows to be there, for the type checker too."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def known(value: T | None) -> T:
    """The value, which is there."""
    assert value is not None
    return value


def inside(answer: object, *path: str | int) -> Any:
    """What stands in an answer at these names and places."""
    found: Any = answer
    for step in path:
        found = found[step]
    return found

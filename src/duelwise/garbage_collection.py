"""Long work without Python's collector, which would look at all that it keeps again and again."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Generator[None]:
    """What is dropped meanwhile is freed at once all the same, but for cycles: those wait for the end."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

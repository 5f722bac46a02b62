"""Long walks over a log without Python's collector, which would look at all they keep again and again."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Generator[None]:
    """Events and votes hold no cycles: what is dropped meanwhile is freed at once all the same."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

"""How long was spent compiling, so that no algorithm is charged with it."""

# numba's events have no types to check against.
# pyright: basic

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event


class CompileTime(event.Listener):
    """Seconds by the clock and of the processor, of whatever is compiled while it listens."""

    def __init__(self, hear: Callable[[bool], None] | None) -> None:
        self.seconds = self.processor_seconds = 0.0
        self._hear, self._depth = hear, 0

    def on_start(self, event: event.Event) -> None:
        self._depth += 1
        if self._depth == 1:
            self._began, self._processor_began = time.perf_counter(), time.process_time()
            if self._hear is not None:
                self._hear(True)

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._began
            self.processor_seconds += time.process_time() - self._processor_began
            if self._hear is not None:
                self._hear(False)


@contextmanager
def compile_time(hear: Callable[[bool], None] | None = None) -> Iterator[CompileTime]:
    """Listen to the compiler; `hear` is told when it begins and when it ends."""
    spent = CompileTime(hear)
    with event.install_listener("numba:compile", spent):
        yield spent

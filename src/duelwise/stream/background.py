"""Work that no request waits for: snapshots and rebuilds, one after the other in one thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

log = logging.getLogger("duelwise.stream")


class Background:
    """Starts its thread with the first task; a task that fails is logged and kept as a problem."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._given, self._lock = 0, threading.Lock()  # tasks so far
        self.problem: str | None = None  # the last failure

    def do(self, task: Callable[[], object]) -> int:
        """Queue a task; gives its number."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"duelwise {self._name}", daemon=True)
                self._thread.start()
            self._given += 1
            self._tasks.put(task)
            return self._given

    def finish(self) -> None:
        """Do what is queued, then end."""
        if self._thread is not None:
            self._tasks.put(None)
            self._thread.join()
            self._thread = None

    def wait(self) -> None:
        """Return when everything queued so far is done, and what that has queued in turn."""
        while True:
            reached = threading.Event()
            last = self.do(reached.set)
            reached.wait()
            if last == self._given:
                return

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                task()
            except Exception as error:
                self.problem = f"{type(error).__name__}: {error}"
                log.exception("background work of stream %r failed", self._name)

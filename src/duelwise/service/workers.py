"""Several processes of one service: started, watched, and started again when one ends."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import TypeVar

from duelwise.errors import DuelwiseError

FIRST_WAIT, LONGEST_WAIT = 0.1, 10.0  # seconds before a process that ended at once is started again
GRACE_SECONDS = 15.0  # for the processes to end, then they are killed
STEADY_SECONDS = 30.0  # who lived this long did not end at once

T = TypeVar("T")
Work = Callable[[T, int], None]

log = logging.getLogger("duelwise.service")


def keep_alive(work: Work[T], arguments: T, count: int) -> None:
    """Run `work(arguments, number)` in so many processes until this one is told to end."""
    workers = [_Worker(work, arguments, number) for number in range(count)]
    ended = threading.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:
        ended.set()

    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, end)
    for worker in workers:
        worker.start()
    while not ended.is_set():
        wait([worker.sentinel for worker in workers], timeout=0.2)
        for worker in workers:
            if not ended.is_set():
                worker.look_after()
    deadline = time.monotonic() + GRACE_SECONDS
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))


class _Worker:
    """One place in the row, whichever process fills it at the moment."""

    def __init__(self, work: Callable[..., None], arguments: object, number: int) -> None:
        self._work, self._arguments, self._number = work, arguments, number
        self._wait = FIRST_WAIT
        self._process: BaseProcess
        self._began = 0.0
        self._again_at: float | None = None  # it has ended, and is started again then

    @property
    def sentinel(self) -> int:
        return self._process.sentinel

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(
            target=_until_orphaned, args=(self._work, self._arguments, self._number), daemon=True
        )
        self._process.start()
        self._began, self._again_at = time.monotonic(), None

    def look_after(self) -> None:
        if self._process.is_alive():
            return
        now = time.monotonic()
        if self._again_at is None:
            self._wait = FIRST_WAIT if now - self._began > STEADY_SECONDS else self._wait
            log.error(
                "worker %d (process %s) ended with %s; another is started in %.1f s", self._number,
                self._process.pid, _cause(self._process.exitcode), self._wait,
                extra={"worker": self._number},
            )  # fmt: skip
            self._again_at = now + self._wait
            self._wait = min(2 * self._wait, LONGEST_WAIT)
        elif now >= self._again_at:
            self.start()
        else:
            time.sleep(0.05)  # its sentinel is ready at once, and would not be waited for

    def terminate(self) -> None:
        self._process.terminate()

    def join(self, seconds: float) -> None:
        self._process.join(seconds)
        if self._process.is_alive():
            self._process.kill()


def _until_orphaned(work: Callable[..., None], arguments: object, number: int) -> None:
    """The work of one process, which also ends when the one that started it does."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, name="duelwise parent", daemon=True).start()
    try:
        work(arguments, number)
    except Exception as error:  # such as a database that is down; the log has one JSON object a line
        is_known = isinstance(error, DuelwiseError)
        log.error("worker %d failed: %s", number, error, exc_info=not is_known, extra={"worker": number})
        sys.exit(1)


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"

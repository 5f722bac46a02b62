"""Workers that end with the process that started them, however it ends: they hear no Ctrl-C of their own."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing import resource_tracker

EVERY = 2.0  # seconds between two looks


@lru_cache(maxsize=1)
def end_with(parent: int) -> None:
    """End this process soon after `parent` is gone; one watch for each process, none in the parent itself."""
    if os.getpid() != parent:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


@contextmanager
def deaf_to_interrupts() -> Generator[None]:
    """Processes started in here leave Ctrl-C, which a terminal sends to all, to the one that started them.

    So they die in silence, by its hand or by `end_with`. One that comes meanwhile is heard at the end.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # now: starting it unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(EVERY)
    os._exit(1)  # nobody is left to hear of anything

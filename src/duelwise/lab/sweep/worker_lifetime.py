"""Workers that end with the process that started them, even when it was killed."""

from __future__ import annotations

import os
import threading
import time
from functools import lru_cache

EVERY = 2.0  # seconds between two looks


@lru_cache(maxsize=1)
def end_with(parent: int) -> None:
    """End this process soon after `parent` is gone; one watch for each process, none in the parent itself."""
    if os.getpid() != parent:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(EVERY)
    os._exit(1)  # nobody is left to hear of anything

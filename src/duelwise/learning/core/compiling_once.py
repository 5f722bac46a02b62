"""Two processes that need the same kernel at once: one compiles it, the other waits for it."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # not a Unix: each compiles for itself
    fcntl = None

LONGEST_WAIT = 240.0  # seconds; then the kernel is compiled here too


class Turns:
    """The locks of one kernel, a file each beside its compiled code; a process that ends lets go."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder, self._name = Path(folder), name
        self._held: dict[Path, int] = {}

    def take(self, key: object) -> bool:
        """Wait until nobody compiles this; True where one has to look again."""
        path = self._path(key)
        if fcntl is None or path in self._held:
            return False
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:  # nothing can be written here, so nobody will find anything either
            return False
        waited, until = False, time.monotonic() + LONGEST_WAIT
        while not _locked(lock):
            waited = True
            if time.monotonic() > until:
                os.close(lock)
                return False
            time.sleep(0.05)
        self._held[path] = lock
        return waited

    def give_back(self, key: object) -> None:
        """It is on disk, or was found there."""
        path = self._path(key)
        lock = self._held.pop(path, None)
        if lock is not None:
            path.unlink(missing_ok=True)
            os.close(lock)

    def _path(self, key: object) -> Path:
        return self._folder / f"{self._name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.lock"


def _locked(lock: int) -> bool:
    assert fcntl is not None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True

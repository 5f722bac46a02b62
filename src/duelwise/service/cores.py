"""Whether the machine's cores are short: how long this thread was ready to run and had to wait for one."""

from __future__ import annotations

from pathlib import Path

LOOK_SECONDS = 0.1  # between two looks
SHORT = 0.2  # measured: one process and its clients wait for .00 to .06, two beside PostgreSQL for .29 to .37
LINUX_TELLS = Path("/proc/thread-self/schedstat")  # nanoseconds run, nanoseconds waited, times run


class Cores:
    """What of its time the calling thread has waited for a core of late; without Linux, none."""

    def __init__(self, told: Path = LINUX_TELLS) -> None:
        self._told = told
        self._until, self._ran, self._waited = 0.0, 0, 0
        self._are_short = False

    def are_short(self, now: float) -> bool:
        """Whether it was more than a fifth, between the last two looks."""
        if now >= self._until:
            self._until = now + LOOK_SECONDS
            self._look()
        return self._are_short

    def _look(self) -> None:
        try:
            ran, waited = map(int, self._told.read_bytes().split()[:2])
        except (OSError, ValueError):
            return
        since = ran - self._ran + waited - self._waited
        self._are_short = waited - self._waited > SHORT * since
        self._ran, self._waited = ran, waited

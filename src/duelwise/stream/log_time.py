"""The time of a log: what its own events say, so that a clock that jumps closes nothing.

A jump of more than a day is believed when the events of the next hour agree with it, or when
an operator confirms it. A server that was off for weeks therefore closes what is due an hour
after it is back; one whose clock was wrong for a moment closes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

HOUR = 3600.0
DAY = 24 * HOUR


class LogTime:
    """A fold over the times of events."""

    def __init__(self, believed: float | None = None, doubted: float | None = None) -> None:
        self.believed = believed  # the time that the log has reached
        self.doubted = doubted  # where a jump led that is not believed yet

    def take(self, at: float) -> None:
        """The time of the next event."""
        if at == self.believed and self.doubted is None:
            return  # events of one transaction share their time
        if self.believed is None:
            self.believed = at
        elif abs(at - self.believed) <= DAY:
            self.believed, self.doubted = max(self.believed, at), None
        elif self.doubted is None or abs(at - self.doubted) > DAY:
            self.doubted = at
        elif at - self.doubted >= HOUR:
            self.believed, self.doubted = at, None

    def take_all(self, at: Sequence[float]) -> None:
        """The times of the next events: nearly always all lie within a day."""
        self.take(at[0])
        believed = self.believed
        if believed is not None and max(*at, believed) - min(*at, believed) <= DAY:
            self.believed, self.doubted = max(*at, believed), None
        else:
            for one in at[1:]:
                self.take(one)

    def confirm(self, at: float) -> None:
        """An operator says that this is the time."""
        self.believed, self.doubted = at, None

    def now(self, clock: float) -> float:
        """The time to act upon: the clock's, unless it is more than a day ahead of the log."""
        return clock if self.believed is None or clock <= self.believed + DAY else self.believed

    def jump(self, clock: float) -> float:
        """By how many seconds the clock is ahead of the time that is acted upon."""
        return clock - self.now(clock)

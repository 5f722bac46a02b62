"""No key asks more often than the service allows: so many requests in each second."""

from __future__ import annotations

from collections.abc import Callable

from duelwise.errors import TooManyRequests
from duelwise.service.settings import variable_of


class RateLimit:
    """Counts the requests of the present second by who sent them; a limit of 0 counts nothing."""

    def __init__(self, limit: int, clock: Callable[[], float]) -> None:
        self._limit, self._clock = limit, clock
        self._second = 0
        self._counts: dict[str, int] = {}

    def count(self, who: str) -> None:
        """One request more, or a refusal."""
        if not self._limit:
            return
        second = int(self._clock())
        if second != self._second:
            self._second = second
            self._counts.clear()
        count = self._counts[who] = self._counts.get(who, 0) + 1
        if count > self._limit:
            raise TooManyRequests(
                f"{who} sent more than {self._limit} requests in a second ({variable_of('rate_limit')})."
            )

    def take_back(self, who: str) -> None:
        """The last one of these will be counted again."""
        if self._counts.get(who):
            self._counts[who] -= 1

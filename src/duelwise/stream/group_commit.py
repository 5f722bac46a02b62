"""Many threads, one transaction: whoever comes first commits for all who wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST_AT_ONCE = 512  # requests in one transaction


class _Entry(Generic[Item, Answer]):
    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.answers: list[Answer] | None = None
        self.error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self.answers is not None or self.error is not None


class GroupCommit(Generic[Item, Answer]):
    """Callers queue up, then wait for the lock; the one who gets it serves the whole queue.

    `commit` takes requests and gives one answer for each. The lock is the stream's own:
    whoever holds it may look at the learner.
    """

    def __init__(self, commit: Callable[[list[Item]], list[Answer]], lock: threading.Lock) -> None:
        self._commit, self._lock = commit, lock
        self._queue: deque[_Entry[Item, Answer]] = deque()

    def submit(self, items: Sequence[Item]) -> list[Answer]:
        """The answers to these requests, once they are durable."""
        entry: _Entry[Item, Answer] = _Entry(items)
        self._queue.append(entry)
        with self._lock:
            while not entry.done:
                self._serve(self._take())
        if entry.error is not None:
            raise entry.error
        assert entry.answers is not None
        return entry.answers

    def _take(self) -> list[_Entry[Item, Answer]]:
        """The oldest entries, as many as fit into one transaction; at least one."""
        taken: list[_Entry[Item, Answer]] = []
        count = 0
        while self._queue and (not taken or count + len(self._queue[0].items) <= MOST_AT_ONCE):
            taken.append(self._queue.popleft())
            count += len(taken[-1].items)
        return taken

    def _serve(self, entries: list[_Entry[Item, Answer]]) -> None:
        try:
            answers = self._commit([item for entry in entries for item in entry.items])
        except BaseException as error:
            for entry in entries:
                entry.error = error
            return
        start = 0
        for entry in entries:
            entry.answers = answers[start : start + len(entry.items)]
            start += len(entry.items)

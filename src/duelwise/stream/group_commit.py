"""Many threads, one transaction: whoever comes first commits for all who wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from duelwise.errors import StorageFailure

Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST_AT_ONCE = 512  # requests in one transaction


class _Entry(Generic[Item, Answer]):
    """One caller's requests. The caller sleeps until they are answered, or until it is to lead."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.answers: list[Answer] | None = None
        self.error: Exception | None = None
        self.leads = False
        self._sleep = threading.Lock()
        self._sleep.acquire()

    @property
    def done(self) -> bool:
        return self.answers is not None or self.error is not None

    def wait(self) -> None:
        self._sleep.acquire()

    def wake(self) -> None:
        self._sleep.release()


class GroupCommit(Generic[Item, Answer]):
    """Callers queue up; one of them leads, serves the queue, and appoints the next.

    `commit` takes requests and gives one answer for each. `lock` is the stream's own: whoever
    holds it may look at the learner. While a leader commits, the queue for the next one grows.
    """

    def __init__(self, commit: Callable[[list[Item]], list[Answer]], lock: threading.Lock) -> None:
        self._commit, self._lock = commit, lock
        self._queue: deque[_Entry[Item, Answer]] = deque()
        self._led = False
        self._mutex = threading.Lock()  # of the queue and the leadership

    def submit(self, items: Sequence[Item]) -> list[Answer]:
        """The answers to these requests, once they are durable."""
        entry: _Entry[Item, Answer] = _Entry(items)
        with self._mutex:
            self._queue.append(entry)
            entry.leads = not self._led
            self._led = True
        try:
            if not entry.leads:
                entry.wait()
            if not entry.done:
                with self._lock:
                    while not entry.done:
                        self._serve(self._take())
        finally:
            self._leave(entry)
        if entry.error is not None:
            raise entry.error
        assert entry.answers is not None
        return entry.answers

    def _leave(self, entry: _Entry[Item, Answer]) -> None:
        """Hand the leadership on, if this caller has it; an interrupted one takes its requests back."""
        with self._mutex:
            if not entry.done and entry in self._queue:
                self._queue.remove(entry)
            if not entry.leads:
                return
            if self._queue:
                self._queue[0].leads = True
                self._queue[0].wake()
            else:
                self._led = False

    def _take(self) -> list[_Entry[Item, Answer]]:
        """The oldest entries, as many as fit into one transaction; at least one."""
        taken: list[_Entry[Item, Answer]] = []
        count = 0
        with self._mutex:
            while self._queue and (not taken or count + len(self._queue[0].items) <= MOST_AT_ONCE):
                taken.append(self._queue.popleft())
                count += len(taken[-1].items)
        return taken

    def _serve(self, entries: list[_Entry[Item, Answer]]) -> None:
        try:
            answers = self._commit([item for entry in entries for item in entry.items])
        except Exception as error:
            self._settle(entries, error)
            return
        except BaseException:  # this thread is being stopped; the others must not be left waiting
            self._settle(entries, StorageFailure("The transaction was interrupted. Send the request again."))
            raise
        start = 0
        for entry in entries:
            entry.answers = answers[start : start + len(entry.items)]
            start += len(entry.items)
            self._wake(entry)

    def _settle(self, entries: list[_Entry[Item, Answer]], error: Exception) -> None:
        for entry in entries:
            entry.error = error
            self._wake(entry)

    def _wake(self, entry: _Entry[Item, Answer]) -> None:
        if not entry.leads:
            entry.wake()

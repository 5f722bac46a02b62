"""How far a long fold has come, for whoever waits for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from duelwise.stream.events import Recorded

LOOK_EVERY = 1000  # events between two looks at the time
SAY_SECONDS = 5.0  # between two lines of the program's log

log = logging.getLogger("duelwise.stream")


class Progress:
    """The share of a fold that is done."""

    def __init__(self) -> None:
        self.share = 0.0

    @contextmanager
    def shown(self) -> Generator[None]:
        """Folds of this thread tell here how far they are."""
        token = _SHOWN.set(self)
        try:
            yield
        finally:
            _SHOWN.reset(token)


_SHOWN: ContextVar[Progress | None] = ContextVar("duelwise_progress", default=None)


def watched(events: Iterable[Recorded], *, upto: int) -> Iterator[Recorded]:
    """The same events, counted on their way; a fold that takes long says so in the program's log."""
    shown, said = _SHOWN.get(), time.monotonic()
    for recorded in events:
        yield recorded
        if recorded.seq % LOOK_EVERY == 0:
            if shown is not None:
                shown.share = recorded.seq / upto
            if time.monotonic() - said > SAY_SECONDS:
                said = time.monotonic()
                log.info("folded %d of %d events", recorded.seq, upto)

"""How far a long fold has come, for whoever waits for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from duelwise.storage.rows import EventColumns
from duelwise.stream.events import Recorded

T = TypeVar("T", bound=Recorded | EventColumns)

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


def counted(chunks: Iterable[T], *, upto: int) -> Iterator[T]:
    """The same events, counted on their way; a fold that takes long says so in the program's log."""
    shown, said, looked = _SHOWN.get(), time.monotonic(), 0
    for chunk in chunks:
        yield chunk
        seq = chunk.seq[-1] if isinstance(chunk, EventColumns) else chunk.seq
        if seq // LOOK_EVERY > looked:
            looked = seq // LOOK_EVERY
            if shown is not None:
                shown.share = seq / upto
            if time.monotonic() - said > SAY_SECONDS:
                said = time.monotonic()
                log.info("folded %d of %d events", seq, upto)

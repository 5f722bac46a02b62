"""Whether the service is ready: the kernels are compiled and the database answers in time."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from duelwise.errors import Compiling, StorageFailure
from duelwise.storage import Store
from duelwise.stream import StreamSettings
from duelwise.stream.warming import kinds, warm_once

DEADLINE = 2.0  # seconds that a look at the database may take

log = logging.getLogger("duelwise.service")


class Readiness:
    """Has a thread of its own, so that a stuck database is noticed and not waited for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="duelwise readiness")
        self._compiled = False

    def compile_in_background(self) -> None:
        """Compile what the streams of this store run, and what a stream runs by default."""
        threading.Thread(target=self._compile, name="duelwise compiling", daemon=True).start()

    async def check(self) -> int:
        """The number of streams; an error that says what is missing."""
        if not self._compiled:
            raise Compiling("The learner is still being compiled; it is ready in a moment.")
        looking = asyncio.get_running_loop().run_in_executor(self._pool, self._store.count)
        try:
            return await asyncio.wait_for(looking, DEADLINE)
        except TimeoutError:
            raise StorageFailure(f"The database did not answer within {DEADLINE:g} seconds.") from None

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _compile(self) -> None:
        began = time.perf_counter()
        try:
            found = kinds(row.settings for row in self._store.streams())
            for number, text in enumerate(found, start=1):
                log.info("compiling the learner, kind %d of %d", number, len(found))
                self._warm(text)
        except Exception:
            log.exception("compiling ahead failed; the first requests will take longer")
        # What is in memory now stays: a look through all of it would hold everybody up for a while.
        gc.collect()
        gc.freeze()
        self._compiled = True
        log.info("ready: the learner was compiled in %.1f s", time.perf_counter() - began)

    def _warm(self, text: str) -> None:
        try:
            warm_once(StreamSettings.from_json(text))
        except Exception:  # a stream that cannot be made is its own problem, and no reason to be unready
            log.exception("a stream cannot be made of its settings: %s", text[:200])

"""A process that serves a store says so, and refuses one that others serve with another arithmetic."""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from importlib.metadata import version

from duelwise.errors import Conflict, StorageFailure
from duelwise.storage import Store
from duelwise.storage.rows import ServerRow
from duelwise.stream.arithmetic import ARITHMETIC

VERSION = version("duelwise")
BEAT_SECONDS = 10.0
LIFE_SECONDS = 45.0  # a process not heard of for so long is taken for dead

log = logging.getLogger("duelwise.stream")


def check_arithmetic(store: Store, *, besides: str = "") -> None:
    """Refuse to mix two kinds of floats: every living server must fold as this process does."""
    for server in store.servers.living(within=LIFE_SECONDS):
        if server.arithmetic != ARITHMETIC and server.id != besides:
            raise Conflict(
                f"The store is served by {server.place} with Duelwise {server.version}, arithmetic "
                f"{server.arithmetic}; this is {VERSION}, arithmetic {ARITHMETIC}. Together they would "
                f"mix two kinds of floats. Stop that server, wait {LIFE_SECONDS:g} seconds if it was "
                "killed, and start again (docs/upgrading.md)."
            )


class Heartbeat:
    """Beats in a thread of its own until it is stopped."""

    def __init__(self, store: Store) -> None:
        self._store = store
        place = f"{socket.gethostname()}, process {os.getpid()}"
        self._row = ServerRow(uuid.uuid4().hex, place, VERSION, ARITHMETIC, 0.0)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="duelwise heartbeat", daemon=True)

    def start(self) -> None:
        """Say that this process serves the store; an error where others serve it differently."""
        self._store.servers.beat(
            self._row
        )  # first say, then look: of two that start at once, one sees the other
        try:
            check_arithmetic(self._store, besides=self._row.id)
        except Conflict:
            self._store.servers.leave(self._row.id)
            raise
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        try:
            self._store.servers.leave(self._row.id)
        except StorageFailure as error:  # the row will be taken for dead soon
            log.warning("the heartbeat could not be taken back: %s", error)

    def _beat(self) -> None:
        while not self._stopped.wait(BEAT_SECONDS):
            try:
                self._store.servers.beat(self._row)
            except StorageFailure as error:
                log.warning("a heartbeat was not written: %s", error)

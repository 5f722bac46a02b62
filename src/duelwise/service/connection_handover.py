"""Connections that move to another process of the service.

A client that keeps to streams of one process is best served by that process: a request that another one reads
for it costs both of them, and comes too late for the group that is being decided. So the connection itself is
handed over, between two requests; to the client it stays the same one. It goes as an open file, in a datagram
with the secret that only the processes of this service know.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import socket
from array import array
from collections.abc import Callable, Coroutine
from typing import Any

MOST_FILES = 4  # that a datagram may bring; ours bring one

log = logging.getLogger("duelwise.service")

Adopt = Callable[[socket.socket], Coroutine[Any, Any, object]]
"""Serves a connection that was accepted elsewhere, from here on."""


class ConnectionHandover:
    """Where connections come in from other processes, and go out to them."""

    def __init__(self, address: Callable[[int], str], secret: bytes) -> None:
        self._address, self._secret = address, secret
        self._door: socket.socket | None = None
        self._adopt: Adopt | None = None
        self._adopting: set[asyncio.Task[object]] = set()

    def open(self, number: int, adopt: Adopt) -> None:
        """Take connections as process `number`, and let others go."""
        self._adopt = adopt
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._door.bind(self._address(number))
        asyncio.get_running_loop().add_reader(self._door, self._receive)

    def close(self) -> None:
        """Whatever is on its way is closed with the door."""
        if self._door is not None:
            asyncio.get_running_loop().remove_reader(self._door)
            self._door.close()
            self._door = None

    def send(self, number: int, connection: int) -> bool:
        """Hand an open connection to process `number`; False where it cannot take it now.

        Afterwards it is closed here, which the client does not notice.
        """
        if self._door is None:
            return False
        try:
            # Not socket.send_fds: until Python 3.12 it forgets the address.
            files = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [connection]))
            self._door.sendmsg([self._secret], [files], 0, self._address(number))
        except OSError:  # it is gone, or has no room for more
            return False
        return True

    def _receive(self) -> None:
        assert self._door is not None
        try:
            said, files, _, _ = socket.recv_fds(self._door, len(self._secret) + 1, MOST_FILES)
        except OSError:
            return
        if hmac.compare_digest(said, self._secret) and len(files) == 1:
            task = asyncio.get_running_loop().create_task(self._take_in(files[0]))
            self._adopting.add(task)
            task.add_done_callback(self._adopting.discard)
            return
        for file in files:  # a stranger's
            os.close(file)

    async def _take_in(self, file: int) -> None:
        assert self._adopt is not None
        connection = socket.socket(fileno=file)
        try:
            await self._adopt(connection)
        except Exception:
            log.exception("a connection of another process could not be taken over")
            connection.close()

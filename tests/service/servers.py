"""Real servers in processes of their own, and clients that keep account of what was acknowledged."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Thread
from typing import Any

import httpx

from duelwise.client import Candidate, Client, RemoteStream
from duelwise.errors import StorageFailure

COMMAND = "from duelwise.cli import main; main()"
START_SECONDS = 180  # the first one on a machine compiles


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`duelwise serve` on a store; can be killed and started again."""

    def __init__(self, store: str, *flags: str, files: int | None = None, log: Path | None = None) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._arguments = ["serve", "--store", store, "--port", str(self.port), *flags]
        self._files, self._log = files, log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        limit = [] if self._files is None else ["prlimit", f"--nofile={self._files}:{self._files}"]
        with self._log.open("ab") if self._log is not None else nullcontext() as log:
            self._process = subprocess.Popen(
                [*limit, sys.executable, "-c", COMMAND, *self._arguments],
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
            assert self._process.poll() is None, "the server ended by itself"
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        """As a power cut would: no chance to finish anything."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, how)
            self._process.wait(30)
            self._process = None


@contextmanager
def serving(store: str, *flags: str, **further: Any) -> Iterator[Server]:
    server = Server(store, *flags, **further)
    try:
        server.start()
        yield server
    finally:
        server.kill()


class Shopper:
    """Asks, observes and tells, one after another; a request without an answer is sent again."""

    def __init__(self, number: int, streams: list[RemoteStream]) -> None:
        self.number, self.streams = number, streams
        self.acknowledged: list[tuple[str, str]] = []  # (kind, ticket)
        self._count = 0
        self._ticket: str | None = None
        self._step = "ask"
        self._stop = False

    def shop(self) -> None:
        """Until told to stop, or until the server is gone."""
        self._stop = False
        try:
            while not self._stop:
                self._next()
        except StorageFailure:
            pass

    def finish(self) -> None:
        """Bring the duel under way to its end."""
        while self._step != "ask":
            self._next()

    def stop(self) -> None:
        self._stop = True

    def _next(self) -> None:
        stream = self.streams[self._count % len(self.streams)]
        if self._step == "ask":
            features = [((self.number + 1) * 7 + self._count * 3) % 11 / 11, self.number / 10, 1.0]
            offered: list[Candidate] = [
                {"id": f"c{i}", "features": [i / 5 * f for f in features]} for i in range(4)
            ]
            duel = stream.ask(offered, event_id=f"{self.number}/{self._count}")
            self._ticket = duel.ticket
            self._done("asked", "observe")
        elif self._step == "observe":
            assert self._ticket is not None
            stream.observe(self._ticket, left=[self._count % 7, 1.5], right=[self._count % 5, 0.25])
            self._done("observed", "tell")
        else:
            assert self._ticket is not None
            stream.tell(self._ticket, "left" if self._count % 3 else "right", source=f"shopper {self.number}")
            self._done("told", "ask")
            self._count += 1

    def _done(self, kind: str, following: str) -> None:
        assert self._ticket is not None
        self.acknowledged.append((kind, self._ticket))
        self._step = following


class Crowd:
    """Shoppers at work in threads."""

    def __init__(self, urls: list[str], size: int, stream: str = "meals") -> None:
        self._clients = [Client(url, retries=0, timeout=30) for url in urls]
        streams = [client.stream(stream) for client in self._clients]
        self.shoppers = [
            Shopper(number, streams[number % len(urls) :] + streams[: number % len(urls)])
            for number in range(size)
        ]
        self._threads: list[Thread] = []

    def start(self) -> None:
        self._threads = [Thread(target=shopper.shop) for shopper in self.shoppers]
        for thread in self._threads:
            thread.start()

    def wait_for_more(self, count: int = 1) -> None:
        """Until so many further events are acknowledged: a fresh server takes a while to warm up."""
        wanted = len(self.acknowledged()) + count
        deadline = time.monotonic() + START_SECONDS
        while len(self.acknowledged()) < wanted:
            assert time.monotonic() < deadline, "nothing is acknowledged"
            time.sleep(0.02)

    def join(self) -> None:
        """When the server is gone, or after `stop`."""
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()

    def stop(self) -> None:
        for shopper in self.shoppers:
            shopper.stop()
        self.join()

    def finish(self) -> None:
        for shopper in self.shoppers:
            shopper.finish()

    def acknowledged(self) -> list[tuple[str, str]]:
        return [one for shopper in self.shoppers for one in shopper.acknowledged]

    def close(self) -> None:
        for client in self._clients:
            client.close()

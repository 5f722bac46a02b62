"""Running the service on a socket, in one process or several on one store."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import sys
from dataclasses import dataclass

import uvicorn

from duelwise.errors import InvalidInput
from duelwise.service.app import Application, create_app
from duelwise.service.auth import is_loopback
from duelwise.service.connections import IDLE_SECONDS, GuardedProtocol, most_connections
from duelwise.service.homes import Homes, new_secret
from duelwise.service.logs import log_to_stderr
from duelwise.service.settings import ServiceSettings
from duelwise.service.workers import keep_alive
from duelwise.storage import open_store

SWITCH_SECONDS = 0.0005  # the interpreter's default, 5 ms, is longer than writing a group takes
GARBAGE_THRESHOLDS = (20_000, 20, 20)  # requests leave no cycles behind: look for them less often
GRACE_SECONDS = 10  # for requests under way when the service is told to end
BACKLOG = 1024  # connections that wait to be accepted

log = logging.getLogger("duelwise.service")


@dataclass(frozen=True, kw_only=True)
class ProcessArguments:
    """What every process of a service has to know."""

    store: str
    settings: ServiceSettings
    host: str
    port: int
    workers: int
    secret: str


def serve(store: str, settings: ServiceSettings, *, host: str, port: int, workers: int) -> None:
    """Serve until told to end; `workers` processes share the store and the port.

    `check_reach` first: a service on an open address needs keys.
    """
    arguments = ProcessArguments(
        store=store, settings=settings, host=host, port=port, workers=workers, secret=new_secret()
    )  # fmt: skip
    log_to_stderr()
    _listening(arguments, shared=False).close()  # a port that is taken is refused here, in words
    if workers == 1:
        work(arguments, 0)
    else:
        keep_alive(work, arguments, workers)


def work(arguments: ProcessArguments, number: int) -> None:
    """One process: serve until told to end."""
    log_to_stderr()
    # A thread that writes to the database must not wait long for the thread that reads requests.
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    GuardedProtocol.most = most_connections()
    homes = Homes(number, arguments.workers, arguments.secret)
    server = Server(configured(create_app(arguments.store, arguments.settings, homes)))
    homes.take_connections(server.adopt)
    server.run(sockets=[_listening(arguments, shared=arguments.workers > 1)])


class Server(uvicorn.Server):
    """uvicorn's own, which also serves connections that another process has accepted."""

    async def adopt(self, connection: socket.socket) -> None:
        """Go on where the other process has left off, between two requests."""
        if self.should_exit:
            connection.close()
            return
        protocol = GuardedProtocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, connection)
        protocol.wait_as_idle()


def configured(app: Application) -> uvicorn.Config:
    """The server as it runs here."""
    return uvicorn.Config(
        app,
        loop="uvloop",
        http=GuardedProtocol,
        ws="none",
        proxy_headers=False,  # who the caller is decides what may be done: no header can say it
        access_log=False,  # the counters under /metrics say it for less
        log_config=None,
        server_header=False,
        date_header=False,
        timeout_keep_alive=int(IDLE_SECONDS),
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _listening(arguments: ProcessArguments, *, shared: bool) -> socket.socket:
    """A socket at the address; with `shared` the kernel spreads connections over all who have one."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        arguments.host, arguments.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise InvalidInput(
            f"{arguments.host}, port {arguments.port} cannot be listened on: {error.strerror}. "
            "Is a service running there already? Choose another with --port."
        ) from error
    listener.listen(BACKLOG)
    return listener


def check_reach(store: str, host: str) -> None:
    """Refuse to be reachable from elsewhere without keys."""
    opened = open_store(store)
    try:
        has_key = any(key.revoked_at is None for key in opened.keys.all())
    finally:
        opened.close()
    if not has_key and not is_loopback(host):
        raise InvalidInput(
            f"Serving on {host} would let anyone on the network in: this store has no keys. "
            "Make one with `duelwise keys add`, or serve this machine alone with --host 127.0.0.1."
        )

"""Running the service on a socket, in one process or several on one store."""

from __future__ import annotations

import os
import sys
import tempfile

import uvicorn
from fastapi import FastAPI

from duelwise.errors import InvalidInput
from duelwise.service.app import create_app
from duelwise.service.auth import is_loopback
from duelwise.service.metrics import SHARED_FOLDER
from duelwise.service.settings import DEFAULT_STORE, ServiceSettings
from duelwise.storage import open_store

STORE = "DUELWISE_STORE"
SWITCH_SECONDS = 0.0005  # the interpreter's default, 5 ms, is longer than writing a group takes
GRACE_SECONDS = 10  # for requests under way when the service is told to end


def serve(store: str, settings: ServiceSettings, *, host: str, port: int, workers: int) -> None:
    """Serve until told to end; `workers` processes share the store and the port.

    `check_reach` first: a service on an open address needs keys.
    """
    os.environ.update(settings.to_environment() | {STORE: store})
    with tempfile.TemporaryDirectory(prefix="duelwise-metrics-") as folder:
        if workers > 1:
            os.environ[SHARED_FOLDER] = folder
        uvicorn.run(
            "duelwise.service.serving:app_from_environment",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            access_log=False,  # the counters under /metrics say it for less
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )


def app_from_environment() -> FastAPI:
    """What each process serves."""
    # A thread that writes to the database must not wait long for the thread that reads requests.
    sys.setswitchinterval(SWITCH_SECONDS)
    return create_app(os.environ.get(STORE, DEFAULT_STORE), ServiceSettings.from_environment())


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

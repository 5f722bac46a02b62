"""Files, stores and ports that a command is pointed at, checked before anything is done."""

from __future__ import annotations

import socket
from pathlib import Path

from duelwise.errors import InvalidInput

SQLITE = "sqlite:///"


def existing(file: Path) -> Path:
    """The file, or a refusal that names it."""
    if not file.is_file():
        raise InvalidInput(f"There is no file {file}. Expected one that can be read: check its name.")
    return file


def refuse_absent(address: str) -> None:
    """Refuse to make a store by looking into one that is not there."""
    file = address.removeprefix(SQLITE).partition("?")[0]
    if address.startswith(SQLITE) and file and file != ":memory:" and not Path(file).exists():
        raise InvalidInput(
            f"There is no store {address}. Expected one that exists: check --store, or make one with "
            f"`duelwise create NAME --context-dim N --store {address}`."
        )


def refuse_taken(host: str, port: int) -> None:
    """Refuse a port on which somebody listens already, or that may not be had."""
    if not 0 <= port <= 65535:
        raise InvalidInput(f"--port is {port}. Expected a number from 1 to 65535: choose another.")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
            trial.bind(place)
    except OSError as error:
        raise InvalidInput(
            f"Nothing can listen on {host}, port {port}: {error.strerror or error}. "
            "Expected a free port: end what listens there, or choose another with --port."
        ) from error

"""The command line. Each module registers its commands with `app`."""

from __future__ import annotations

import sys

from rich.console import Console

from duelwise.cli import advise, bench, demo, listing, reproduce, run, serve, streams, theory
from duelwise.cli.app import app
from duelwise.errors import DuelwiseError

__all__ = [
    "advise",
    "app",
    "bench",
    "demo",
    "listing",
    "main",
    "reproduce",
    "run",
    "serve",
    "streams",
    "theory",
]


def main() -> None:
    """Run a command; what goes wrong on purpose is one message and exit code 2, not a traceback."""
    try:
        app()
    except DuelwiseError as error:
        Console(stderr=True).print(
            f"[bold red]{type(error).__name__}:[/] {error}", highlight=False, soft_wrap=True
        )
        sys.exit(2)

"""The command line's root, which every command registers with."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="duelwise",
    help="Learning from which of two people prefer: a laboratory and an engine around one learner.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

"""The command line's root, which every command registers with, and the panels of its help."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    name="duelwise",
    help="Learning from which of two people prefer: a laboratory and an engine around one learner.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(asked: bool) -> None:
    if asked:
        import duelwise

        typer.echo(f"duelwise {duelwise.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Say which version this is."),
    ] = False,
) -> None:
    """Options that stand before any command."""


RESEARCH, STREAMS, SERVICE = "Research", "Streams", "Service"
PANELS = {
    "bench": RESEARCH,
    "demo": RESEARCH,
    "listing": RESEARCH,
    "reproduce": RESEARCH,
    "run": RESEARCH,
    "theory": RESEARCH,
    "advise": RESEARCH,
    "streams": STREAMS,
    "answers": STREAMS,
    "whatif": STREAMS,
    "serve": SERVICE,
}
"""The panel of every command in the help, by the module that defines it."""


def fill_panels() -> None:
    """Put every registered command and group into its panel of the help."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.rich_help_panel = panel_of(command.callback.__module__)
    for group in app.registered_groups:
        first = group.typer_instance.registered_commands[0] if group.typer_instance else None
        if first is not None and first.callback is not None:
            group.rich_help_panel = panel_of(first.callback.__module__)


def panel_of(module: str) -> str:
    """The panel of a module's commands; a module without one is listed apart."""
    return PANELS.get(module.rpartition(".")[2], "More")

"""What was typed, so that an option that would change nothing is refused."""

from __future__ import annotations

import typer


def given_options(context: typer.Context) -> dict[str, object]:
    """What was typed, by the names of the parameters."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {
        name: context.params[name]
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    }


def option(name: str) -> str:
    """A parameter's name as it is typed."""
    return f"--{name.replace('_', '-')}"

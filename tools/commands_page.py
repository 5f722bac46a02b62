"""Write docs/commands.md from the help of every command: python -m tools.commands_page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer.main import get_command

from duelwise.cli import app
from duelwise.cli.app import RESEARCH, SERVICE, STREAMS

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
INTRODUCTION = """# Commands

`duelwise --help` lists the commands, `duelwise COMMAND --help` every option with its default. This
page is made of those texts by `python -m tools.commands_page`.

A command that goes wrong says so in one message, which names the value, what was expected and what to do, and
ends with code 2; nothing is changed then. Ctrl-C ends it within two seconds with code 130, and says what is
kept. `--quiet` prints nothing but errors. For a program to read, `--json FILE` writes everything to a file,
and `--json -` prints it and nothing else; commands about a stream's answers have a plain `--json`, which
prints JSON instead of a table.

`duelwise --install-completion` teaches your shell (bash, zsh, fish, PowerShell) the commands, options and
names.
"""


def page() -> str:
    """The whole page."""
    root = get_command(app)
    panels: dict[str, list[str]] = {RESEARCH: [], STREAMS: [], SERVICE: []}
    for name, command in sorted(vars(root)["commands"].items()):
        inner = vars(command).get("commands") or {"": command}
        panel = panels.setdefault(command.rich_help_panel, [])
        panel += [_section(f"{name} {sub}".strip(), one) for sub, one in sorted(inner.items())]
    parts = [INTRODUCTION]
    for panel, sections in panels.items():
        parts += [f"## {panel}\n", *sections]
    return "\n".join(parts)


def _section(name: str, command: Any) -> str:
    arguments = [one for one in command.params if not one.opts[0].startswith("-")]
    options = [one for one in command.params if one.opts[0].startswith("-") and not one.hidden]
    words = " ".join(one.name.upper() + ("…" if one.nargs == -1 else "") for one in arguments)
    lines = [f"### `duelwise {name}{' ' + words if words else ''}`\n", f"{_flat(command.help)}\n"]
    rows = [(f"`{one.name.upper()}`", "", _flat(one.help)) for one in arguments]
    rows += [(_names(one), _default(one), _flat(one.help)) for one in options]
    if rows:
        lines += ["| | default | |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows), ""]
    return "\n".join(lines)


def _names(option: Any) -> str:
    return ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))


def _default(option: Any) -> str:
    if option.required:
        return "needed"
    if option.default is None or option.default is False or option.default == "":
        return ""
    said = "yes" if option.default is True else f"`{option.default}`"
    return f"{said}, or `{option.envvar}`" if option.envvar else said


def _flat(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page())

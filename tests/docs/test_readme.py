"""The README runs, and no command is left out of the pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from duelwise.cli import app
from duelwise.cli.app import RESEARCH, SERVICE, STREAMS
from tools import commands_page

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_python_of_the_readme_runs(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[number], f"README block {number}", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out


def test_the_first_block_is_short() -> None:
    lines = [line for line in BLOCKS[0].splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 20


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def commands() -> list[str]:
    """Every command, those of groups as `group command`."""
    root = get_command(app)
    names: list[str] = []
    for name, command in sorted(vars(root)["commands"].items()):
        inner = vars(command).get("commands")
        names += [f"{name} {sub}" for sub in sorted(inner)] if inner else [name]
    return names


def test_the_page_of_commands_is_made_of_their_help() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    assert len(commands()) > 10
    assert [name for name in commands() if f"### `duelwise {name}" not in page] == []
    assert page == commands_page.page(), "python -m tools.commands_page writes it anew"


def test_every_command_has_a_panel() -> None:
    root = get_command(app)
    panels = {name: command.rich_help_panel for name, command in vars(root)["commands"].items()}
    missing = [name for name, panel in panels.items() if panel not in (RESEARCH, STREAMS, SERVICE)]
    assert missing == [], "name their modules in cli/app.py"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("duelwise repr", "reproduce"),
        ("duelwise run pre", "pre-serving"),
        ("duelwise run post-serving --mapping sin", "sinusoidal"),
        ("duelwise run linear --methods rcdb,rcdp", "rcdb,rcdp-ucb"),
        ("duelwise reproduce E.1", "E.15"),
    ],
)
def test_a_shell_completes(typed: str, offered: str) -> None:
    told = os.environ | {
        "_DUELWISE_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    program = "import sys; sys.argv = ['duelwise']; from duelwise.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program], env=told, capture_output=True, text=True)
    assert offered in done.stdout.split(), done.stderr

"""The README runs, and no command is left out of the pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from duelwise.cli import app

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


def test_every_command_is_documented() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    assert len(commands()) > 10
    assert [name for name in commands() if f"`duelwise {name}" not in page] == []

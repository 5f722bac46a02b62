"""What docs/service.md says is so: every path, setting and command is there, and its Python runs."""

import re
from functools import partial
from pathlib import Path

import pytest

from duelwise.cli.serve import keys
from duelwise.client import Client
from duelwise.service import ServiceSettings, create_app
from duelwise.service.settings import variable_of
from in_process import InProcess
from known import known

TEXT = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")


def test_every_path_is_documented(tmp_path: Path) -> None:
    app = create_app(f"sqlite:///{tmp_path}/duels.db")
    for path, methods in app.openapi()["paths"].items():
        for method in methods:
            assert f"`{method.upper()} {path}`" in TEXT


def test_every_setting_is_documented() -> None:
    for name in ServiceSettings.__dataclass_fields__:
        assert variable_of(name) in TEXT


def test_every_command_is_documented() -> None:
    for command in keys.registered_commands:
        name = command.name or known(command.callback).__name__
        assert f"duelwise keys {name}" in TEXT
    for name in ("serve", "create", "streams", "import", "export", "backup", "restore", "verify", "repair"):
        assert f"duelwise {name}" in TEXT


def test_its_python_runs(
    transport: InProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("duelwise.client.Client", partial(Client, transport=transport))
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(block, {})
    assert "warmth" in capsys.readouterr().out

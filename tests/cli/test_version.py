"""What tells which version this is."""

import subprocess
import sys
from importlib.metadata import version

from typer.testing import CliRunner

import duelwise
from duelwise.cli import app


def test_the_command_and_the_package_say_the_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).output == f"duelwise {version('duelwise')}\n"
    assert duelwise.__version__ == version("duelwise")


def test_the_package_is_the_command() -> None:
    command = [sys.executable, "-m", "duelwise"]
    told = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    assert told == f"duelwise {version('duelwise')}\n"
    refused = subprocess.run([*command, "rum"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "Did you mean 'run'? You typed: duelwise rum. `duelwise --help`" in refused.stderr


def test_every_public_name_is_there_and_no_other() -> None:
    assert {*duelwise.__all__} <= {*dir(duelwise)}
    assert all(getattr(duelwise, name) is not None for name in duelwise.__all__)
    assert not hasattr(duelwise, "no_such_name")


def test_every_recipe_is_at_hand() -> None:
    at_hand = {name: getattr(duelwise, name.replace("-", "_"), None) for name in duelwise.RECIPES}
    assert at_hand == duelwise.RECIPES


def test_a_client_needs_no_compiler() -> None:
    code = "import sys, duelwise.client; print('numba' in sys.modules, 'numpy' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["False", "False"]

"""Without an extra: every command and class that needs it names the pip command, brackets and all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HIDDEN = {
    "service": "sqlalchemy alembic starlette msgspec uvicorn uvloop httpx prometheus_client jinja2",
    "lab": "pyarrow pandas matplotlib plotly joblib threadpoolctl",
}
BARE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {names!r} else found(name, package)
{code}
"""
COMMAND = """
from duelwise.cli import main
for words in {words!r}:
    sys.argv = ["duelwise", *words.split()]
    try:
        main()
    except SystemExit as ended:
        print(words, ended.code)
"""


def bare(extra: str, code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Python in which the packages of an extra cannot be imported."""
    program = BARE.format(names=set(HIDDEN[extra].split()), code=code)
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (
            "service",
            [
                "create x --context-dim 2", "import x f.csv", "export x", "backup x f", "restore f",
                "verify x", "repair x", "streams", "serve", "keys list", "keys add k --role read",
            ],
        ),
        (
            "lab",
            [
                "demo", "run linear --plot x.png", "run linear --html x.html", "reproduce 1", "report",
                "run f.toml", "run linear --protocol fair --methods rcdb --horizon 9 --runs 2 --quiet",
            ],
        ),
    ],
)  # fmt: skip
def test_a_command_names_the_extra(extra: str, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    done = bare(extra, COMMAND.format(words=words), tmp_path)
    assert done.stdout.splitlines() == [f"{said} 2" for said in words], done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count(f"pip install 'duelwise[{extra}]'") == len(words)


@pytest.mark.parametrize(
    ("extra", "name"),
    [
        ("service", "duelwise.DecisionStream"),
        ("service", "duelwise.Client"),
        ("service", "duelwise.stream.StreamSettings"),
        ("service", "duelwise.service.create_app"),
        ("lab", "duelwise.lab.report.results.Results"),
        ("lab", "duelwise.lab.report.static_charts.plot_regret"),
    ],
)
def test_a_class_names_the_extra(extra: str, name: str, tmp_path: Path) -> None:
    module, _, attribute = name.rpartition(".")
    code = (
        f"from duelwise.errors import MissingExtra\ntry:\n    from {module} import {attribute}\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    done = bare(extra, code, tmp_path)
    assert f"pip install 'duelwise[{extra}]'" in done.stdout, done.stderr

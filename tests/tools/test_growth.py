"""Growth is read from a history of commits."""

import subprocess
from pathlib import Path

import pytest

from tools import growth


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(growth, "ROOT", tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def commit(folder: Path, subject: str, **files: int) -> None:
    for name, lines in files.items():
        path = folder / "src" / "duelwise" / "stream" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n" * lines)
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    subprocess.run(["git", *author, "commit", "-qm", subject], cwd=folder, check=True)


def test_large_steps_have_a_row_and_small_ones_share_one(history: Path) -> None:
    commit(history, "begin", a=10)
    commit(history, "much", b=7)
    commit(history, "a little", a=11)
    commit(history, "less", b=1)
    (history / "src/duelwise/stream/notes.txt").write_text("no code\n")
    (history / "README.md").write_text("elsewhere\n")
    commit(history, "words", a=12)
    said = growth.table("HEAD~4", at_least=5)
    assert said.splitlines()[2:] == [
        "| version 0.1 | 10 |",
        "| much | +7 |",
        "| less | -6 |",
        "| 2 smaller steps | +2 |",
        "| now | 13 |",
    ]

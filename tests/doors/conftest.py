"""The folder in which something goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from duelwise.stream import DecisionStream, StreamSettings


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands are typed: a store with one stream, a file that is no folder, some bad files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    DecisionStream.create(
        "sqlite:///duels.db", "meals", StreamSettings(context_dim=1, feature_names=("price",))
    ).close()
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "torn.backup").write_text('{"format": "duelwise log 1"')
    (tmp_path / "binary.backup").write_bytes(b"SQLite format 3\0\xba")
    (tmp_path / "bad.csv").write_text("left.price,right.price,winner\n1,x,left\n")
    (tmp_path / "endless.csv").write_text(f"left.price,right.price,winner\n1,{200_000 * '2'},left\n")
    (tmp_path / "short.csv").write_text("left.price,winner\n1,left\n")
    (tmp_path / "votes.txt").write_text("left\n")
    (tmp_path / "plain.toml").write_text('[world]\nkind = "synthetic"\n')
    return tmp_path

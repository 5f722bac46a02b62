"""The page on streams runs as it stands."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "streams.md"


def test_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), {})
    assert "feature='minutes'" in capsys.readouterr().out


def test_every_setting_is_on_the_page() -> None:
    from dataclasses import fields

    from duelwise.stream import StreamSettings

    page = PAGE.read_text()
    assert [item.name for item in fields(StreamSettings) if f"`{item.name}`" not in page] == []


def test_the_page_on_feedback_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", (PAGE.parent / "feedback.md").read_text(), re.DOTALL):
        exec(compile(block, "feedback.md", "exec"), {})

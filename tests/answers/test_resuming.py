"""A study that was stopped goes on where it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.answers import coverage
from benchmarks.answers.resuming import lines_of, measured_in


def test_lines_that_are_there_are_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, done = tmp_path / "answers.jsonl", coverage.settings()[0]
    assert lines_of(file) == []
    lines = [
        {"part": "coverage", "seed": 3, **done.key, "votes": votes, "runs": 2} for votes in coverage.MARKS
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    played: list[coverage.Setting] = []

    def measure(setting: coverage.Setting, **_: object) -> list[coverage.Covered]:
        played.append(setting)
        return [coverage.Covered([(1.0, 1.0)], [(1.0, 1.0)]) for _ in coverage.MARKS]

    monkeypatch.setattr(coverage, "measure", measure)
    new = list(coverage.rows(2, 3, measured_in(file, "coverage", 3)))
    assert played == coverage.settings()[1:]
    assert len(new) == 2 * len(played)
    played.clear()
    list(coverage.rows(2, 4, measured_in(file, "coverage", 4)))  # other worlds
    assert played == coverage.settings()

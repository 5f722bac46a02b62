"""Measured tables go between their marks and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.limits import Limit, write_limits
from benchmarks.timing import compare, write_between_marks

from benchmarks import limits

PAGE = "# Page\n\n<!-- bench -->\nold\n<!-- end of bench -->\n\n<!-- limits -->\n<!-- end of limits -->\n"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_a_table_replaces_what_stood_between_its_marks(page: Path) -> None:
    write_between_marks(page, "bench", "new\n")
    assert page.read_text() == PAGE.replace("old", "new")


def test_a_limit_says_what_share_of_the_work_it_is(page: Path) -> None:
    write_limits(page, [Limit("a run", "its passes", alone=(1e-6, 2e-6, 4e-6), taken=(8e-6, 8e-6, 8e-6))])
    row = "| a run | its passes | 2 µs | 8 µs | 25% (12% to 50%) |"
    assert row in page.read_text().split("<!-- limits -->")[1]
    assert "old" in page.read_text()


def test_a_ratio_is_theirs_over_ours_and_the_work_is_loaded_before_it_is_timed() -> None:
    calls: list[str] = []
    row = compare(
        "work", "other", "≥ 1×", lambda: calls.append("ours"), lambda: calls.append("theirs"), repeats=3
    )
    assert calls == ["ours"] + ["ours", "theirs"] * 3
    assert row.low <= row.ratio <= row.high


@pytest.mark.long
def test_every_floor_is_part_of_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """All lines, on little work: what is timed takes what the learners hold."""
    monkeypatch.setattr(limits, "HORIZON", 30)
    monkeypatch.setattr(limits, "RUNS", 2)
    found = limits.limits()
    assert len({line.work for line in found}) == len(found) > 8
    assert all(seconds > 0.0 for line in found for seconds in (*line.alone, *line.taken))

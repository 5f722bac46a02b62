"""The worked page is made from a folder of votes, here one written by hand in the same format."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.llmfao.__main__ import RECIPES, made
from benchmarks.llmfao.majority import agreements
from benchmarks.llmfao.page import COMMAND
from benchmarks.llmfao.reading import Vote, read

from duelwise.errors import InvalidInput

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "lab" / "answers_fixture"


def heads(text: str) -> list[str]:
    """Headings and the first lines of tables."""
    lines = text.splitlines()
    tables = [lines[k - 1] for k in range(1, len(lines)) if lines[k].startswith("| ---")]
    return [line for line in lines if line.startswith("## ")] + tables


def test_the_kept_page_is_one_that_the_command_makes() -> None:
    page, kept = made(FOLDER), (ROOT / "docs" / "llmfao.md").read_text("utf-8")
    assert page.startswith("# Which of 5 models, judged by 4 people\n")
    assert heads(page) == heads(kept)
    assert COMMAND in page
    for recipe in (*RECIPES, "offline fit"):
        assert f"| model | {recipe} |" in page
        assert f"| model and answer | {recipe} |" in page
    assert "5 folds of the votes, seed 0" in page
    assert "| 1 | Alder (7B) |" in page  # the one that the hand-written votes favour


def test_all_votes_are_read_in_a_fixed_order() -> None:
    data = read(FOLDER)
    assert len(data.votes) == 20
    assert data == read(FOLDER)
    assert data.usual("Birch (13B)")[4] == pytest.approx(0.5)  # one of its two answers is empty


def test_the_majority_of_others_is_what_counts() -> None:
    votes = [
        Vote(prompt, "a", "b", winner, worker)
        for prompt in range(30)
        for worker, winner in (("1", "left"), ("2", "left"), ("3", "left"), ("4", "right"), ("5", "tie"))
    ]
    found = {one.worker: one for one in agreements(votes)}
    assert found["1"].share == 1.0
    assert found["4"].share == 0.0
    assert found["4"].near_chance
    assert not found["1"].near_chance
    assert "5" not in found


def test_a_missing_folder_is_named_with_its_source(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"github\.com/dustalov/llmfao"):
        read(tmp_path)

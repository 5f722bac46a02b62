"""Going on beyond the edges of the fair search's grid."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from duelwise.lab.paper.records import Entry, StudyRecord, Tried

TOOL = Path(__file__).parents[2] / "tools" / "search_edges.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("search_edges", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["search_edges"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tried(width: float, mean: float, *, chosen: bool) -> Tried:
    return Tried(
        task="linear", regime="strategic", variant="self-duels allowed", method="max-inp",
        exploration_width=width, clip_rule=None, mean=mean, chosen=chosen, key="",
    )  # fmt: skip


def record(*searched: Tried) -> StudyRecord:
    entry = Entry(figure="1", panel="Strategic", variant="self-duels allowed", method="max-inp", key="")
    return StudyRecord(
        protocol="fair", post_serving="spline", runs=20, code="", entries=(entry,), tried=tuple(searched)
    )


def test_only_a_best_at_an_edge_is_gone_on_with(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr(tool, "_mean", lambda trial, width, rule: asked.append(width) or 1.0)
    inside = record(tried(0.03, 9.0, chosen=False), tried(1.0, 5.0, chosen=True))
    assert list(tool.edges(inside)) == []
    (high,) = tool.edges(record(tried(10.0, 5.0, chosen=True)))
    (low,) = tool.edges(record(tried(0.03, 5.0, chosen=True)))
    assert asked == pytest.approx([30.0, 100.0, 0.01, 0.003])
    assert high.gain == low.gain == pytest.approx(0.8)


def test_the_sentence_counts_what_the_rows_show(tool: ModuleType) -> None:
    worse = tool.Edge(tried(10.0, 100.0, chosen=True), (120.0, 150.0))
    better = tool.Edge(tried(0.03, 100.0, chosen=True), (98.0, 101.0))
    text = tool.table([worse, better], 7)
    assert "2 of 7 searches ended at an edge" in text
    assert "no better in 1 of them; in the others it took at most 2.0% off" in text
    assert "98 (lower) | 101 |" in text

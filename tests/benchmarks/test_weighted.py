"""Weighted sources, measured on one short seed: liars are left out, and that saves regret."""

from __future__ import annotations

import pytest
from benchmarks.answers import weighted
from benchmarks.answers.page import weighted_table

from known import known


def test_liars_are_left_out_and_honest_raters_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighted, "VOTES", 700)
    monkeypatch.setattr(weighted, "LATE", 350)
    monkeypatch.setattr(weighted, "CASES", (("abs", 10), ("abs", 0)))
    lying, honest = weighted.rows(2)
    assert known(lying["liars_out"]) > 0.8
    assert lying["late"][0] < 0.9
    assert honest["ratio"] == (1.0, 0.0)
    assert honest["honest_out"] == 0
    text = weighted_table([lying, honest])
    assert "| abs | 10 | 2 |" in text
    assert "| abs | 0 | 2 |" in text

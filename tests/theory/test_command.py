"""`duelwise theory`, `advise` and `bounds` as a user meets them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from duelwise.cli import app
from duelwise.theory.claims import CLAIMS
from duelwise.theory.examining import examine
from duelwise.theory.page import BEGIN, END, chart, write_html

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "theory.md"
QUICK = ("adaptive-weight", "pending-adversarial", "potential", "sum-of-bounds")


def call(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.output


def test_one_claim_is_told_in_full(tmp_path: Path) -> None:
    told = call("theory", "blind-length", "--seed", "2", "--json", str(tmp_path / "f.json"))
    assert "longest blind phase" in " ".join(told.split())
    (row,) = json.loads((tmp_path / "f.json").read_text())
    wanted = {"claim", "statement", "verdict", "statistic", "low", "high", "runs"}
    assert wanted <= row.keys()
    assert row["verdict"] == "holds"


def test_findings_go_between_the_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}OUTDATED{END}\nafter\n", newline="\r\n")
    call("theory", "eq:alpha", "--page", str(page))
    text = page.read_text()
    assert "| alpha | eq:alpha |" in text
    assert r"| \|α(C + D)/√d - 1\| over" in text
    assert "OUTDATED" not in text
    assert text.startswith("before")
    assert text.endswith("after\n")


def test_findings_go_to_the_terminal_alone() -> None:
    said = CliRunner().invoke(app, ["theory", "eq:alpha", "--json", "-"])
    assert [row["claim"] for row in json.loads(said.stdout)] == ["alpha"]


def test_the_html_page_has_every_picture(tmp_path: Path) -> None:
    findings = list(examine([CLAIMS[name] for name in QUICK], seed=1))
    write_html(tmp_path / "theory.html", findings, seed=1)
    text = (tmp_path / "theory.html").read_text()
    pictures = [picture for finding in findings for picture in finding.checked.pictures]
    assert text.count('class="chart"') == len(pictures) == 2
    assert "http" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    drawn = chart(pictures[0])["data"]
    assert isinstance(drawn, Sequence)
    assert len(drawn) == len(pictures[0].lines)


def test_a_page_of_one_claim_without_pictures_promises_none(tmp_path: Path) -> None:
    write_html(tmp_path / "theory.html", list(examine([CLAIMS["alpha"]], seed=1)), seed=1)
    text = (tmp_path / "theory.html").read_text()
    assert "1 claim:" in text
    assert "What the checks saw" not in text


def test_an_unknown_claim_suggests_the_nearest() -> None:
    result = CliRunner().invoke(app, ["theory", "coverag"])
    assert result.exit_code != 0
    assert "coverage" in str(result.exception)


def test_advice_and_bounds() -> None:
    told = call("advise", "--dim", "6", "--rounds", "1000", "--lies", "10", "--delay-budget", "400")
    assert "α (clip)" in told
    assert "one more lie" in told
    assert "RCDP-UCB" in call("bounds", "--dim", "5")
    assert "take a smaller M or L" in call("advise", "--curvature", "0.2", "--norm-bound", "1e308")


def test_the_page_names_only_claims_that_exist_and_all_of_them() -> None:
    text = DOCS.read_text()
    prose = text.split(BEGIN)[0]
    named = {word for word in re.findall(r"`([a-zΛμö-]+)`", prose) if "-" in word}
    assert named <= CLAIMS.keys() | {"listing-1"}
    assert all(f"\n| {name} | " in text for name in CLAIMS)


@pytest.mark.long
def test_another_seed_gives_the_verdicts_of_the_page() -> None:
    lines = [line.split(" | ") for line in DOCS.read_text().splitlines() if line.startswith("| ")]
    rows = {cells[0][2:]: cells[-2] for cells in lines}
    quick = [claim for claim in CLAIMS.values() if not claim.name.startswith("growth-")][::3]  # all: minutes
    found = {finding.claim.name: finding.verdict for finding in examine(quick, seed=1)}
    assert found == {claim.name: rows[claim.name] for claim in quick}

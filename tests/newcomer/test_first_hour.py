"""The start-here pages, word for word, in a bare environment made from the built wheel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bare import ROOT, Bare, build

pytestmark = pytest.mark.long


def script(page: str) -> str:
    """Every block of a page, in order, as one shell session."""
    text = (ROOT / "docs" / "start" / page).read_text()
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```", text, flags=re.M | re.S)
    assert len(blocks) == text.count("```") // 2  # nothing on the page is left out
    return "\n".join(code if kind == "sh" else f"python - <<'PYTHON'\n{code}PYTHON" for kind, code in blocks)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return build(tmp_path / "dist")


def test_a_researchers_first_hour_ends_in_figures(wheel: Path, tmp_path: Path) -> None:
    bare = Bare(tmp_path / "env", wheel, "lab", install=False)
    work = tmp_path / "work"
    work.mkdir()
    said = bare.run(script("researcher.md"), work, timeout=1200)
    assert "Traceback" not in said
    assert (work / "linear.png").read_bytes().startswith(b"\x89PNG")
    assert (work / "soup.pdf").read_bytes().startswith(b"%PDF")
    report = (work / "report" / "report.html").read_text()
    assert "1 of the paper's 18 figures as published, 1 own experiment" in report
    assert "Cold soup" in report
    assert list((work / "report" / "figures").glob("E.15-*.pdf"))


def test_an_engineers_first_hour_ends_in_a_learned_stream(wheel: Path, tmp_path: Path) -> None:
    bare = Bare(tmp_path / "env", wheel, "service", install=False)
    work = tmp_path / "work"
    work.mkdir()
    said = bare.run(
        "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + script("engineer.md"), work, timeout=900
    )
    assert "Traceback" not in said
    prices = [float(found) for found in re.findall(r"feature='price', estimate=(-?[\d.e-]+)", said)]
    assert prices
    assert prices[0] < 0  # people like what is cheap, and the stream has noticed
    assert "2 duels were imported into 'meals'" in said
    assert "Every event is as it was recorded" in said
    assert (work / "meals.log").read_text().count('"told"') >= 22

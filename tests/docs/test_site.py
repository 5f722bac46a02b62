"""The site: strict, without network, without errors in a browser, at the width of a desk and of a phone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
WIDTHS = {"desktop": (1280, 900), "phone": (390, 800)}
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` builds it; names outside this machine lead nowhere."""
    out = tmp_path_factory.mktemp("site")
    offline = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(ROOT / "docs"), str(out)],
        env=os.environ | offline, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return out


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        running = play.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        yield running
        running.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_opens_without_errors_or_sideways_scrolling(
    width: str, site: Path, browser: Browser
) -> None:
    across, down = WIDTHS[width]
    context = browser.new_context(offline=True, viewport={"width": across, "height": down})
    tab, complaints = context.new_page(), []
    tab.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    pages = sorted(page for page in site.rglob("*.html") if "_static" not in page.parts)
    assert len(pages) > 25
    wide: list[str] = []
    for page in pages:
        tab.goto(page.as_uri())
        if tab.evaluate("document.documentElement.scrollWidth > window.innerWidth + 1"):
            wide.append(page.name)
    shots = os.environ.get("SCREENSHOTS")
    if shots:
        tab.goto((site / "paper.html").as_uri())
        tab.screenshot(path=Path(shots) / f"site-{width}.png")
    context.close()
    assert complaints == []
    assert wide == []


def test_search_works_from_a_file_without_network(site: Path, browser: Browser) -> None:
    tab = browser.new_context(offline=True).new_page()
    tab.goto((site / "search.html").as_uri() + "?q=leverage")
    tab.locator("#search-results li a").first.wait_for(timeout=20_000)
    assert tab.locator("#search-results li a").count() > 2

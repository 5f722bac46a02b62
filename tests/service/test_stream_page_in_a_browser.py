"""The page of a stream of 5,000 votes in a browser: at the width of a desk and of a phone, light and dark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
from servers import serving

from duelwise.stream import DecisionStream, FromCatalogue, StreamSettings
from duelwise.stream.operations import Ask, Decision, Tell

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = "<script>alert(1)</script>"
LONG = "stars" * 30
SOURCE = "<img src=x onerror=alert(2)>"
VOTES, AT_ONCE = 5000, 100
TASTE = np.array([1.0, -0.5, 0.3])
BIAS = 0.7  # for the side on the left
WIDTHS = {"desktop": (1280, 900), "phone": (390, 800)}
CHARTS = ("board", "votes", "coefficients", "weights", "delays", "calibration")
LINES_OF_NUMBERS = """Math.max(...[...document.querySelectorAll('td:not(:first-child)')].map(cell => {
    const range = document.createRange(); range.selectNodeContents(cell);
    return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size || 1 }))"""

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page; votes come after minutes to hours, and one in a hundred never does."""
    store = f"sqlite:///{tmp_path_factory.mktemp('page')}/duels.db"
    rng, moments = np.random.default_rng(5), _moments()
    features = rng.normal(size=(12, 3))
    features[0] = [3.0, -1.0, 1.0]  # the hostile one is the best
    ids = [HOSTILE, *(f"item {k}" for k in range(1, 12))]
    settings = StreamSettings(context_dim=3, feature_names=("size", "<b>price", LONG), position_bias=True)
    with DecisionStream.create(store, "shop", settings, clock=lambda: next(moments)) as stream:
        stream.put_items([{"id": id, "features": x.tolist()} for id, x in zip(ids, features, strict=True)])
        utility = dict(zip(ids, (features @ TASTE).tolist(), strict=True))
        for _ in range(VOTES // AT_ONCE):
            duels = stream.run([Ask(FromCatalogue())] * (AT_ONCE + 1))[:AT_ONCE]
            stream.run([_vote(duel, utility, rng) for duel in duels if isinstance(duel, Decision)])
    with serving(store) as server:
        yield f"{server.url}/streams/shop"


def _moments() -> Iterator[float]:
    now, rng = 1.7e9, np.random.default_rng(6)
    while True:
        now += float(rng.exponential(60.0))
        yield now


def _vote(duel: Decision, utility: dict[str, float], rng: np.random.Generator) -> Tell:
    apart = utility[str(duel.left.id)] - utility[str(duel.right.id)]
    left = rng.random() < 1 / (1 + np.exp(-apart - BIAS))
    source = [SOURCE, *(f"rater {k}" for k in range(1, 20))][int(rng.integers(20))]
    return Tell(duel.ticket, "left" if left else "right", source)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_opens_without_errors_or_sideways_scrolling(
    page: str, chromium: Browser, width: str, scheme: Literal["light", "dark"]
) -> None:
    across, down = WIDTHS[width]
    context = chromium.new_context(viewport={"width": across, "height": down}, color_scheme=scheme)
    tab, complaints, foreign = context.new_page(), list[str](), list[str]()
    tab.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("dialog", lambda dialog: complaints.append(dialog.message) or dialog.dismiss())
    host = page.split("/streams")[0]
    tab.on("request", lambda one: None if one.url.startswith((host, "data:")) else foreign.append(one.url))
    tab.goto(f"{page}?adjust=size")
    for name in CHARTS:
        tab.locator(f"#{name} .main-svg").first.wait_for()
        assert tab.locator(f"#{name} .trace").count() > 0, name
    wide = tab.evaluate("document.documentElement.scrollWidth > window.innerWidth + 1")
    clipped = tab.evaluate(
        "[...document.querySelectorAll('.chart')].filter(c => "
        "c.querySelector('.main-svg').clientWidth > c.clientWidth + 1).map(c => c.id)"
    )
    broken = tab.evaluate(LINES_OF_NUMBERS)
    body = tab.locator("body").inner_text()
    leader = tab.get_by_role("region", name="Board", exact=True).locator("tbody tr").first
    shown = leader.locator("td").all_inner_texts()
    brightness = tab.evaluate(
        "getComputedStyle(document.body).color.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"
    )
    shots = os.environ.get("SCREENSHOTS")
    if shots:
        tab.screenshot(path=Path(shots) / f"stream-{width}-{scheme}.png", full_page=True)
    context.close()
    assert complaints == []
    assert foreign == []
    assert not wide
    assert clipped == []
    assert broken == 1  # no number goes over two lines
    assert shown[0] == HOSTILE
    low, high = map(float, shown[4].split(" to "))
    assert low < float(shown[3]) < high
    assert "5000 votes from 20 sources" in body
    assert SOURCE in body
    assert "Board with size held equal" in body
    assert "Being shown on the left adds +0." in body
    assert brightness > 384 if scheme == "dark" else brightness < 384


def test_the_page_can_be_used_from_the_keyboard(page: str, chromium: Browser) -> None:
    """Tab reaches the links, the tables, which may scroll, and the choice of what to hold equal."""
    tab = chromium.new_page()
    tab.goto(page)
    reached: set[str] = set()
    for _ in range(30):
        tab.keyboard.press("Tab")
        reached.add(
            tab.evaluate(
                "document.activeElement.getAttribute('aria-label') || document.activeElement.tagName"
            )
        )
    tab.locator("select[name=adjust]").select_option(LONG)
    tab.get_by_role("button", name="Show").press("Enter")
    tab.wait_for_url(f"**/streams/shop?adjust={LONG}")
    assert f"Board with {LONG} held equal" in tab.locator("body").inner_text()
    tab.close()
    assert {"A", "Board", "Coefficients", "Raters", "SELECT", "BUTTON"} <= reached

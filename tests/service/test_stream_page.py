"""The page of one stream, as HTML and in a browser."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any, cast

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from duelwise.cli import app
from duelwise.service import stream_page
from duelwise.service.pages import duration
from duelwise.stream.vote_table import VoteTable

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def shop(http: httpx.Client) -> str:
    body = {"name": "shop", "context_dim": 1, "feature_names": ["<b>size"], "goal": "settle"}
    assert http.post("/v1/streams", json=body).status_code == 201
    items = [{"id": HOSTILE, "features": [1]}, {"id": "plain", "features": [0]}]
    http.put("/v1/streams/shop/items", json={"items": items})
    for _ in range(12):
        duel = http.post("/v1/streams/shop/ask", json={}).json()
        winner = "left" if duel["left"]["id"] == HOSTILE else "right"
        told = {"winner": winner, "source": HOSTILE}
        assert http.post(f"/v1/streams/shop/tickets/{duel['ticket']}/tell", json=told).status_code == 200
    return "/streams/shop"


def test_the_page_shows_the_board_and_escapes_names(http: httpx.Client, shop: str) -> None:
    page = http.get(shop)
    assert page.status_code == 200
    assert "12 votes from 1 source" in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    assert HOSTILE not in page.text.replace("\\u003c", "<script-free>")
    assert "held equal" in http.get(f"{shop}?adjust=%3Cb%3Esize").text
    assert f'href="{shop}"' in http.get("/").text


def test_the_votes_are_drawn_in_a_unit_of_time_that_fits(http: httpx.Client, shop: str) -> None:
    page = http.get(shop).text
    assert '"s since the first vote"' in page
    assert "hours since" not in page


def test_of_several_leaders_none_is_called_the_best(http: httpx.Client, store_url: str) -> None:
    http.post("/v1/streams", json={"name": "three", "context_dim": 1, "goal": "settle", "top": 2})
    items = [{"id": name, "features": [size]} for name, size in (("big", 1), ("large", 0.9), ("small", 0))]
    http.put("/v1/streams/three/items", json={"items": items})

    def words() -> str:
        return " ".join(http.get("/streams/three").text.split())

    assert "<strong>big, large</strong> lead and are not settled" in words()
    for _ in range(40):
        duel = http.post("/v1/streams/three/ask", json={}).json()
        size = {item["id"]: item["features"][0] for item in items}
        winner = "left" if size[duel["left"]["id"]] > size[duel["right"]["id"]] else "right"
        http.post(f"/v1/streams/three/tickets/{duel['ticket']}/tell", json={"winner": winner})
    assert "<strong>big, large</strong> are settled as the 2 best at level 95 %." in words()
    told = CliRunner().invoke(app, ["rank", "three", "--store", store_url]).stdout
    assert told.endswith("big, large are settled as the 2 best at level 95%.\n")


def test_a_source_whose_votes_do_not_count_is_marked(http: httpx.Client) -> None:
    http.post("/v1/streams", json={"name": "liars", "context_dim": 1, "sources": "weighted"})
    items = [{"id": str(k), "features": [k / 4]} for k in range(5)]
    http.put("/v1/streams/liars/items", json={"items": items})
    for n in range(60):
        duel = http.post("/v1/streams/liars/ask", json={}).json()
        lies = n % 6 == 0
        left = (duel["left"]["id"] > duel["right"]["id"]) != lies
        vote = {"winner": "left" if left else "right", "source": "liar" if lies else f"rater {n % 6}"}
        http.post(f"/v1/streams/liars/tickets/{duel['ticket']}/tell", json=vote)
    until = time.monotonic() + 60
    while "(distrusted)" not in http.get("/streams/liars").text:
        assert time.monotonic() < until, "sources are judged in the background"
        time.sleep(0.05)
    row = next(row for row in http.get("/streams/liars").text.split("<tr>") if "(distrusted)" in row)
    assert "<td>liar</td>" in row
    http.post("/v1/streams/liars/raters/hold", json={"source": "liar"})
    assert "(held back)" in http.get("/streams/liars").text


def test_an_empty_stream_and_an_unknown_one(http: httpx.Client) -> None:
    http.post("/v1/streams", json={"name": "new", "context_dim": 2})
    assert "No vote has been learned from yet." in http.get("/streams/new").text
    assert http.get("/streams/absent").status_code == 404


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),
        (0.4, "0 s"),
        (59, "59 s"),
        (60, "1.0 min"),
        (3599, "60.0 min"),
        (3600, "1.0 h"),
        (5400, "1.5 h"),
        (86399, "24.0 h"),
        (86400, "1.0 days"),
        (216000, "2.5 days"),
    ],
)
def test_durations_are_said_in_the_unit_a_person_would_choose(seconds: float | None, words: str) -> None:
    assert duration(seconds) == words


def drawn(page: str, name: str) -> list[dict[str, Any]]:
    """The traces of one chart."""
    begin = page.index(f'Plotly.newPlot("{name}", ') + len(f'Plotly.newPlot("{name}", ')
    return json.JSONDecoder().raw_decode(page[begin:])[0]


def test_charts_draw_the_numbers_of_the_answers(http: httpx.Client, shop: str) -> None:
    page = http.get(shop).text
    rank = http.post(f"/v1{shop}/rank", json={}).json()["items"]
    (board,) = drawn(page, "board")
    assert board["x"] == [item["utility"] for item in reversed(rank)]
    assert board["error_x"]["array"] == [item["high"] - item["utility"] for item in reversed(rank)]
    report = http.get(f"/v1{shop}/report").json()
    (coefficients,) = drawn(page, "coefficients")
    (coefficient,) = report["coefficients"]
    assert coefficients["x"] == [coefficient["estimate"]]
    assert coefficients["error_x"]["array"] == [coefficient["high"] - coefficient["estimate"]]
    (weights,) = drawn(page, "weights")
    assert weights["y"] == report["weight_histogram"]
    assert weights["x"] == pytest.approx([(k + 0.5) / len(weights["x"]) for k in range(len(weights["x"]))])
    votes, pending = drawn(page, "votes")
    assert votes["y"] == list(range(1, 13))
    assert pending["y"] == [0] * 12
    assert votes["x"][0] == 0 < votes["x"][-1] < 60  # seconds
    (delays,) = drawn(page, "delays")
    assert sum(delays["y"]) == 12
    assert all(0 < seconds < 60 for seconds in delays["x"])


def test_long_names_are_cut_in_charts() -> None:
    assert stream_page._label("a" * 24) == "a" * 24
    assert stream_page._label("a" * 25) == "a" * 23 + "…"


def test_votes_over_time_and_how_many_were_pending_then() -> None:
    """Asked at 0, 10 and 20 minutes, answered at 30, 15 and 60: two were out when the first came in."""
    minutes = np.array([30.0, 15.0, 60.0])
    votes = SimpleNamespace(at=60 * minutes, delay=60 * (minutes - np.array([0.0, 10.0, 20.0])))
    told, pending = drawn(stream_page._votes_over_time(cast("VoteTable", votes)), "votes")
    assert told["x"] == [0.0, 15.0, 45.0]  # minutes
    assert told["y"] == [1, 2, 3]
    assert pending["y"] == [1, 1, 0]

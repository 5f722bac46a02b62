"""The page of one stream, as HTML and in a browser."""

from __future__ import annotations

import httpx
import pytest

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


def test_an_empty_stream_and_an_unknown_one(http: httpx.Client) -> None:
    http.post("/v1/streams", json={"name": "new", "context_dim": 2})
    assert "No vote has been learned from yet." in http.get("/streams/new").text
    assert http.get("/streams/absent").status_code == 404

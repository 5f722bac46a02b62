"""Answers over HTTP and from the client."""

from __future__ import annotations

import csv
import io

import httpx
import pytest

from duelwise.client import Client
from duelwise.errors import UnknownItem
from known import known

ITEMS = [{"id": f"i{k}", "features": [k / 4, k % 3], "group": f"g{k % 2}"} for k in range(6)]


@pytest.fixture
def path(http: httpx.Client) -> str:
    body = {"name": "shop", "context_dim": 2, "feature_names": ["size", "price"], "goal": "settle"}
    assert http.post("/v1/streams", json=body).status_code == 201
    answer = http.put("/v1/streams/shop/items", json={"items": ITEMS})
    assert answer.json() == {"added": 6, "changed": 0, "same": 0}
    return "/v1/streams/shop"


def vote(http: httpx.Client, path: str, count: int) -> None:
    for n in range(count):
        duel = http.post(f"{path}/ask", json={}).json()
        winner = "left" if duel["left"]["id"] > duel["right"]["id"] else "right"
        told = {"winner": winner, "source": f"=r{n % 2}"}
        assert http.post(f"{path}/tickets/{duel['ticket']}/tell", json=told).status_code == 200


def test_rank_and_best(http: httpx.Client, path: str) -> None:
    vote(http, path, 30)
    ranking = http.post(f"{path}/rank", json={"limit": 4}).json()
    assert [item["rank"] for item in ranking["items"]] == [1, 2, 3, 4]
    assert set(ranking["items"][0]) >= {
        "id", "utility", "standard_error", "low", "high", "rank_low", "rank_high", "probability_best",
    }  # fmt: skip
    assert set(ranking["settled"]) >= {"level", "leader", "votes_needed"}
    assert ranking["items"][0]["id"] == http.post(f"{path}/best", json={}).json()["id"]
    wider = http.post(f"{path}/rank", json={"limit": 4, "clustered": True}).json()
    assert [one["utility"] for one in wider["items"]] == [one["utility"] for one in ranking["items"]]
    for one, other in zip(wider["items"], ranking["items"], strict=True):
        assert one["standard_error"] >= other["standard_error"]
    group = http.post(f"{path}/rank", json={"group": "g1", "adjust": ["price"]}).json()
    assert {item["id"] for item in group["items"]} == {"i1", "i3", "i5"}
    offered = [{"id": "a", "features": [0, 1]}, {"id": "b", "features": {"size": 1, "price": 0}}]
    assert len(http.post(f"{path}/rank", json={"candidates": offered}).json()["items"]) == 2


def test_items_may_be_shown_to_several(http: httpx.Client, path: str) -> None:
    ticket = http.post(f"{path}/ask", json={"ids": ["i1", "i2"], "votes_wanted": 3}).json()["ticket"]
    assert http.get(f"{path}/tickets/{ticket}").json()["wanted"] == 3


def test_raters_are_judged_held_and_released(http: httpx.Client, path: str) -> None:
    vote(http, path, 24)
    raters = http.get(f"{path}/raters").json()["raters"]
    assert {rater["source"]: rater["votes"] for rater in raters} == {"=r0": 12, "=r1": 12}
    assert set(raters[0]) >= {"agreement", "reliability", "low", "high", "flag"}
    gold = {"gold": [{"better": "i5", "worse": f"i{k}"} for k in range(5)]}
    tested = http.post(f"{path}/raters/tested", json=gold).json()["raters"]
    for one in tested:
        assert one["gold_right"] == one["gold_votes"]
        assert one["votes"] + one["gold_votes"] == 12
    assert sum(one["gold_votes"] for one in tested) > 0
    held = http.post(f"{path}/raters/hold", json={"source": "=r0"})
    assert held.json() == {"source": "=r0", "held": True, "changed": True}
    assert not http.post(f"{path}/raters/hold", json={"source": "=r0"}).json()["changed"]
    assert [one["held"] for one in http.get(f"{path}/raters").json()["raters"]] == [True, False]
    assert http.post(f"{path}/raters/release", json={"source": "=r0"}).json()["changed"]


def test_items_are_listed_changed_and_withdrawn(http: httpx.Client, path: str) -> None:
    assert http.put(f"{path}/items", json={"items": ITEMS[:2]}).json()["same"] == 2
    page = http.get(f"{path}/items?group=g0&limit=2").json()
    assert [item["id"] for item in page["items"]] == ["i0", "i2"]
    assert http.get(f"{path}/items?after=i4").json()["items"][0]["id"] == "i5"
    assert http.post(f"{path}/items/withdraw", json={"ids": ["i0"]}).json() == {"changed": 1}
    assert http.get(f"{path}/items").json()["total"] == 5


@pytest.mark.parametrize(
    ("method", "where", "body", "status"),
    [
        ("PUT", "items", {"items": [{"id": "x", "features": [1]}]}, 422),
        ("PUT", "items", {"items": [{"id": "x", "features": [1, 2], "colour": 1}]}, 422),
        ("PUT", "items", {"items": []}, 422),
        ("POST", "items/withdraw", {"ids": ["i1", "absent"]}, 404),
        ("POST", "ask", {"ids": ["i1", "absent"]}, 404),
        ("POST", "ask", {"ids": ["i1", "i2"], "group": "g0"}, 422),
        ("POST", "rank", {"group": "absent"}, 404),
        ("POST", "rank", {"adjust": ["colour"]}, 422),
        ("GET", "votes?format=xml", None, 422),
        ("GET", "votes?fromat=csv", None, 422),
        ("GET", "items?limit=none", None, 422),
        ("GET", "items?limit=0000000019999999", None, 422),
        ("GET", "items?limit=" + 5000 * "1", None, 422),
        ("POST", "rank", {"ids": ["i1", "i1"]}, 422),
        ("POST", "raters/hold", {"source": ""}, 422),
    ],
)
def test_what_is_wrong_is_refused_and_changes_nothing(
    http: httpx.Client, path: str, method: str, where: str, body: object, status: int
) -> None:
    before = http.get(path).json()["model_version"]
    answer = http.request(method, f"{path}/{where}", json=body)
    assert answer.status_code == status, answer.text
    assert answer.json()["detail"]
    assert http.get(path).json()["model_version"] == before


def test_votes_come_as_tables(http: httpx.Client, path: str) -> None:
    vote(http, path, 8)
    rows = list(csv.DictReader(io.StringIO(http.get(f"{path}/votes?format=csv").text)))
    assert len(rows) == 8
    assert {row["source"] for row in rows} == {"'=r0", "'=r1"}  # a spreadsheet must not run them
    assert len(http.get(f"{path}/votes?format=jsonl").text.splitlines()) == 8
    assert http.get(f"{path}/votes?format=preferences").text.count('"chosen"') == 8
    assert http.get(f"{path}/votes?format=parquet").content[:4] == b"PAR1"


def test_an_audit_names_its_alarms(http: httpx.Client, path: str) -> None:
    assert http.get(f"{path}/audit").json()["votes"] == 0
    vote(http, path, 40)
    audit = http.get(f"{path}/audit").json()
    assert audit["votes"] == 40
    assert {group["group"] for group in audit["groups"]} == {"=r0", "=r1"}
    assert len(audit["ledger"]) == 40


def test_the_client_has_it_all(client: Client, path: str) -> None:
    shop = client.stream("shop")
    duel = shop.ask(group="g0")
    shop.tell(duel.ticket, "left", source="anna")
    assert shop.rank(ids=["i1", "i2"])["items"]
    assert shop.best()["id"]
    assert shop.raters()[0]["source"] == "anna"
    shown = known(duel.left.id), known(duel.right.id)
    assert shop.raters(gold=[shown])[0]["gold_right"] == 1
    assert shop.hold("anna")
    assert shop.release("anna")
    assert shop.put_items([{"id": "new", "features": [1.0, 2.0]}]) == {"added": 1, "changed": 0, "same": 0}
    assert shop.items(limit=3)["total"] == 7
    assert shop.withdraw_items(["new"]) == 1
    assert shop.votes("jsonl").count(b"\n") == 1
    assert shop.audit()["votes"] == 1
    with pytest.raises(UnknownItem):
        shop.ask(ids=["i1", "absent"])


def test_a_ranking_tells_what_the_side_is_worth(http: httpx.Client) -> None:
    http.post("/v1/streams", json={"name": "sided", "context_dim": 1, "position_bias": True})
    items = [{"id": "a", "features": [0]}, {"id": "b", "features": [1]}]
    http.put("/v1/streams/sided/items", json={"items": items})
    for _ in range(10):
        ticket = http.post("/v1/streams/sided/ask", json={}).json()["ticket"]
        http.post(f"/v1/streams/sided/tickets/{ticket}/tell", json={"winner": "left"})
    bias = http.post("/v1/streams/sided/rank", json={}).json()["position_bias"]
    assert bias["low"] < bias["estimate"] < bias["high"]
    assert bias["estimate"] > bias["standard_error"] > 0
    assert http.get("/v1/streams/sided/report").json()["positions"]["bias"] == bias


def test_vectors_are_projected_over_http(http: httpx.Client) -> None:
    rule = {"text": {"length": 6, "dim": 2, "projection": "fitted"}}
    made = http.post("/v1/streams", json={"name": "texts", "context_dim": 2, "encodings": rule})
    assert made.status_code == 201
    offered = [{"id": f"t{k}", "features": {"text": [k, k * k, 1, 0, 0, -k]}} for k in range(5)]
    early = http.post("/v1/streams/texts/ask", json={"candidates": offered})
    assert early.status_code == 422
    assert "put first" in early.json()["detail"]
    assert http.put("/v1/streams/texts/items", json={"items": offered}).json()["added"] == 5
    assert http.post("/v1/streams/texts/ask", json={"candidates": offered}).status_code == 201
    assert len(http.get("/v1/streams/texts/items").json()["items"][0]["features"]) == 2


def test_a_report_may_allow_for_sources(http: httpx.Client, meals: str) -> None:
    assert http.get(f"{meals}/report?clustered=true").json() == http.get(f"{meals}/report").json()
    refused = http.get(f"{meals}/report?clustered=yes")
    assert refused.status_code == 422
    assert "expected true or false" in refused.json()["detail"]


def test_large_bodies_of_vectors_and_of_contents_are_taken(http: httpx.Client) -> None:
    """Lists that are no list of features: 15,000 numbers of an embedding each, and what an item is."""
    text = {"text": {"length": 15_000, "dim": 2}}
    assert http.post("/v1/streams", json={"name": "long", "context_dim": 2, "encodings": text}).is_success
    items = [{"id": name, "features": {"text": [0.25 * k] * 15_000}} for k, name in enumerate("ab")]
    path = "/v1/streams/long"
    assert http.put(f"{path}/items", json={"items": items}).status_code == 200
    assert http.post(f"{path}/ask", json={"candidates": items}).status_code == 201
    assert http.post(f"{path}/rank", json={"candidates": items}).status_code == 200
    left, right = (item["features"] for item in items)
    past = {"op": "import", "left": left, "right": right, "winner": "left"}
    assert http.post(f"{path}/batch", json={"items": [past]}).json()["results"][0]["status"] == 200
    whole = [item | {"content": [1] * 30_000} for item in items]
    assert http.put(f"{path}/items", json={"items": whole}).json()["changed"] == 2

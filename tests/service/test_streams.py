"""Creating, listing and looking at streams over HTTP."""

import asyncio
import json
import threading
import time

import httpx
import pytest
from starlette.types import Message

from duelwise.errors import Folding
from duelwise.storage import Store
from duelwise.stream import DecisionStream
from duelwise.stream.registry import StreamRegistry
from duelwise.stream_fields import setting_fields
from in_process import MEALS, InProcess, candidates


def test_the_same_stream_again_is_found_and_another_refused(http: httpx.Client) -> None:
    assert http.post("/v1/streams", json=MEALS).status_code == 201
    again = http.post("/v1/streams", json=MEALS)
    other = http.post("/v1/streams", json={**MEALS, "post_dim": 1, "feature_names": [], "ranges": {}})
    assert (again.status_code, other.status_code) == (200, 409)
    assert again.json()["settings"]["feature_names"] == MEALS["feature_names"]


def test_every_setting_reaches_the_stream(http: httpx.Client) -> None:
    wanted = {
        "context_dim": 2, "post_dim": 1, "recipe": "rcdb", "options": {"exploration_width": 0.3},
        "feature_names": ["b=u", "b=v", "c"], "vote_ttl_seconds": 60.0, "seed": 5, "random_share": 0.25,
        "keep_candidates": True, "position_bias": True,
        "context_ttl_seconds": 30.0, "votes_wanted": 2, "ranges": {"c": [0.0, 9.0]}, "edition": 2,
        "goal": "settle", "top": 2, "sources": "weighted", "encodings": {"b": ["u", "v"]},
    }  # fmt: skip
    assert set(wanted) == {one.name for one in setting_fields()}
    assert http.post("/v1/streams", json={"name": "all", **wanted}).json()["settings"] == wanted


@pytest.mark.parametrize(("seed", "status"), [(0, 201), (-1, 422), (2**63 - 1, 201), (2**63, 422)])
def test_a_seed_is_a_number_that_every_database_can_hold(http: httpx.Client, seed: int, status: int) -> None:
    assert http.post("/v1/streams", json={"name": "s", "context_dim": 1, "seed": seed}).status_code == status


def test_streams_are_listed_with_their_counts(http: httpx.Client, meals: str) -> None:
    http.post("/v1/streams", json={"name": "rides", "context_dim": 1})
    http.post(f"{meals}/ask", json={"candidates": candidates()})
    listed = http.get("/v1/streams").json()["streams"]
    assert [stream["name"] for stream in listed] == ["meals", "rides"]
    assert listed[0]["counts"]["asked"] == listed[0]["pending"] == 1
    assert listed[0]["oldest_pending_seconds"] >= 0
    assert listed[1]["pending"] == 0


def test_a_stream_made_of_a_long_log_is_answered_when_it_is_folded(
    http: httpx.Client, meals: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """503 would say that nothing was done, and a client would send it again."""
    folding, opened = [True, True], StreamRegistry.stream

    def still_folding(registry: StreamRegistry, name: str) -> DecisionStream:
        if name == "other" and folding:
            folding.pop()
            raise Folding("The log of stream 'other' is being folded.", done=0.5)
        return opened(registry, name)

    monkeypatch.setattr(StreamRegistry, "stream", still_folding)
    made = http.post(f"{meals}/derive", json={**MEALS, "name": "other"})
    assert (made.status_code, made.json()["name"], folding) == (201, "other", [])


def test_a_report_names_the_features(http: httpx.Client, meals: str) -> None:
    ticket = http.post(f"{meals}/ask", json={"candidates": candidates()}).json()["ticket"]
    http.post(f"{meals}/tickets/{ticket}/observe", json={"left": [60, 1], "right": [40, 9]})
    http.post(f"{meals}/tickets/{ticket}/tell", json={"winner": "left"})
    report = http.get(f"{meals}/report").json()
    assert [one["feature"] for one in report["coefficients"]] == MEALS["feature_names"]
    assert report["counts"]["told"] == sum(report["weight_histogram"]) == 1


def test_an_export_has_one_line_for_each_event(http: httpx.Client, meals: str) -> None:
    for _ in range(3):
        http.post(f"{meals}/ask", json={"candidates": candidates()})
    export = http.get(f"{meals}/export")
    assert export.headers["content-type"].startswith("application/jsonl")
    lines = [json.loads(line) for line in export.text.splitlines()]
    asked = [line for line in lines if line.get("kind") == "asked"]
    assert [line["seq"] for line in asked] == [1, 2, 3]


def test_an_unknown_stream_names_the_nearest(http: httpx.Client, meals: str) -> None:
    answer = http.get("/v1/streams/meels/report")
    assert answer.status_code == 404
    assert "'meals'" in answer.json()["detail"]


def test_the_pages_show_streams_and_interface(http: httpx.Client, meals: str) -> None:
    http.post(f"{meals}/ask", json={"candidates": candidates()})
    status, docs = http.get("/"), http.get("/docs")
    assert (status.status_code, docs.status_code) == (200, 200)
    assert ">meals</a>" in status.text
    for path in http.get("/openapi.json").json()["paths"]:
        assert path in docs.text
    assert "<script" not in status.text + docs.text
    assert "http://" not in status.text + docs.text


def test_metrics_count_requests_and_pending_votes(http: httpx.Client, meals: str) -> None:
    for _ in range(2):
        http.post(f"{meals}/ask", json={"candidates": candidates()})
    http.get("/v1/streams/nobody-knows/report")
    text = http.get("/metrics").text
    assert 'duelwise_requests_total{route="/v1/streams/{name}/ask",status="201"} 2.0' in text
    assert 'duelwise_pending_votes{stream="meals"} 2.0' in text
    assert "duelwise_group_operations_count 2.0" in text
    assert "nobody-knows" not in text


def test_what_lies_beyond_a_range_is_counted_by_feature(http: httpx.Client) -> None:
    settings = {"feature_names": ["price", "stars"], "ranges": {"price": [0, 10], "stars": [1, 5]}}
    http.post("/v1/streams", json={"name": "priced", "context_dim": 2, **settings}).raise_for_status()
    for price in (5.0, 11.0, 12.0):
        offered = [{"id": "a", "features": [price, 2]}, {"id": "b", "features": [1, 3]}]
        http.post("/v1/streams/priced/ask", json={"candidates": offered}).raise_for_status()
    text = http.get("/metrics").text
    assert 'duelwise_clamped_asks_total{feature="price",key="",stream="priced"} 2.0' in text
    assert 'feature="stars"' not in text


def test_alive_and_ready_are_two_questions(
    http: httpx.Client, meals: str, transport: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    deadline = time.monotonic() + 120
    while (answer := http.get("/readyz")).status_code != 200:
        assert answer.status_code == 503
        assert "compiled" in answer.json()["detail"]
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert answer.json() == {"status": "ready", "streams": 1}

    hang = threading.Event()
    monkeypatch.setattr("duelwise.service.readiness.DEADLINE", 0.1)
    monkeypatch.setattr(Store, "count", lambda _: hang.wait(30))
    assert http.get("/readyz").status_code == 503
    assert http.get("/healthz").json()["status"] == "ok"
    hang.set()


@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/", "/docs", "/openapi.json", "/v1/streams", ""])
def test_head_is_get_without_its_body(http: httpx.Client, meals: str, path: str) -> None:
    got, head = http.get(path or meals), http.head(path or meals)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == got.headers["content-type"]
    assert int(head.headers["content-length"]) > 0


def test_head_of_what_is_not_there(http: httpx.Client, meals: str) -> None:
    missing = http.head("/v1/streams/nothing")
    assert (missing.status_code, missing.content) == (404, b"")
    assert http.head(f"{meals}/ask").status_code == 405
    assert http.head(f"{meals}/export").status_code == 200


def test_head_sends_no_body_to_any_server(transport: InProcess) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "HEAD", "path": "/healthz", "headers": [], "query_string": b""}
    asyncio.run(transport.app(scope, receive, send))
    assert dict(sent[0]["headers"])[b"content-length"] != b"0"
    assert [message.get("body") for message in sent[1:]] == [b""]

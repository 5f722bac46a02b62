"""Whatever is sent wrongly: a problem that names the value and says what to do, and nothing changed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from duelwise.service import create_app
from in_process import MEALS, InProcess, candidates


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    running = InProcess(create_app(f"sqlite:///{tmp_path_factory.mktemp('wrong')}/duels.db"))
    with httpx.Client(base_url="http://127.0.0.1", transport=running) as client:
        assert client.post("/v1/streams", json=MEALS).status_code == 201
        yield client
    running.stop()


ASK, STREAMS, MEAL = "/v1/streams/meals/ask", "/v1/streams", "/v1/streams/meals"
SHORT = [{"id": "a", "features": [1]}, {"id": "b", "features": [1]}]
HTTP: list[tuple[str, str, object, int, str]] = [
    ("POST", STREAMS, {"name": "x"}, 422, "context_dim"),
    ("POST", STREAMS, {"name": "x", "context_dim": 0}, 422, "context_dim"),
    ("POST", STREAMS, {"name": "a b", "context_dim": 1}, 422, "'a b'"),
    ("POST", STREAMS, {"name": "x", "context_dim": 1, "recipe": "rcdp"}, 422, "'rcdp'"),
    ("POST", STREAMS, {"name": "x", "context_dim": 1, "options": {"widht": 1}}, 422, "widht"),
    ("POST", STREAMS, {"name": "x", "context_dim": 9999}, 413, "9999"),
    ("POST", STREAMS, MEALS | {"context_dim": 4, "feature_names": [], "ranges": {}}, 409, "meals"),
    ("POST", ASK, {"candidates": []}, 422, "candidates"),
    ("POST", ASK, {"candidates": candidates(1)}, 422, "length >= 2"),
    ("POST", ASK, {"candidates": SHORT}, 422, "price, distance, spice"),
    ("POST", ASK, {"candidate": candidates()}, 422, "candidate"),
    ("POST", ASK, "no object", 422, "expected `object`"),
    ("POST", f"{MEAL}/tickets/no/tell", {"winner": "left"}, 404, "'no'"),
    ("POST", f"{MEAL}/tickets/no/tell", {"winner": "both"}, 422, "both"),
    ("POST", f"{MEAL}/tickets/no/observe", {"left": [1, 1], "right": [1, 1]}, 404, "'no'"),
    ("POST", f"{MEAL}/expire", {"older_than": -1}, 422, "older_than"),
    ("GET", f"{STREAMS}/meels", None, 404, "'meels'"),
    ("GET", "/v1/nothing", None, 404, "/v1/nothing"),
    ("DELETE", ASK, None, 405, "DELETE"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "status", "named"), HTTP)
def test_the_service_refuses(
    method: str, path: str, body: object, status: int, named: str, service: httpx.Client
) -> None:
    before = service.get(STREAMS).json()
    content = None if body is None else json.dumps(body)
    answer = service.request(method, path, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert named in problem["detail"]
    assert problem["title"]
    assert problem["advice"]
    assert service.get(STREAMS).json() == before


def test_an_item_that_is_not_utf_8_is_refused_by_itself(service: httpx.Client) -> None:
    ask = json.dumps({"op": "ask", "candidates": candidates()}).encode()
    answer = service.post(
        f"{MEAL}/batch",
        content=b'{"items": [' + ask + b', {"op": "tell", "ticket": "caf\xe9", "winner": "left"}]}',
        headers={"Content-Type": "application/json"},
    )
    assert [one["status"] for one in answer.json()["results"]] == [201, 422]
    assert "UTF-8" in answer.json()["results"][1]["problem"]["detail"]

"""Whatever is wrong with a request: it is named, and nothing is changed."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from duelwise.errors import Folding
from duelwise.service import ServiceSettings
from duelwise.service.problems import respond
from duelwise.stream.sqlite_turns import SqliteTurn
from in_process import MEALS, candidates


def with_feature(text: str) -> bytes:
    """An ask whose third candidate has `text` as its second feature."""
    body = json.dumps({"candidates": candidates()})
    offered = json.loads(body)["candidates"]
    offered[2]["features"][1] = "HERE"
    return json.dumps({"candidates": offered}).replace('"HERE"', text).encode()


def post(http: httpx.Client, path: str, body: bytes) -> httpx.Response:
    return http.post(path, content=body, headers={"Content-Type": "application/json"})


def assert_problem(answer: httpx.Response, status: int, *words: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert set(problem) == {"type", "title", "status", "detail", "advice"}
    for word in words:
        assert word in problem["detail"]


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400, "null", '"1"', "true", "[1]", "1e7"]
)
def test_a_feature_that_is_no_sensible_number_is_named(http: httpx.Client, meals: str, text: str) -> None:
    answer = post(http, f"{meals}/ask", with_feature(text))
    assert_problem(answer, 422, "candidate 2 ('dish 2')", "feature 1 ('distance')")
    assert http.get(meals).json()["model_version"] == 0


@pytest.mark.parametrize("text", ["NaN", '"x"', "1e999"])
def test_a_context_that_is_no_number_is_named(http: httpx.Client, meals: str, text: str) -> None:
    ticket = http.post(f"{meals}/ask", json={"candidates": candidates()}).json()["ticket"]
    body = b'{"left": [1, 2], "right": [%s, 2]}' % text.encode()
    assert_problem(
        post(http, f"{meals}/tickets/{ticket}/observe", body), 422, "right", "feature 0 ('warmth')"
    )
    assert http.get(meals).json()["model_version"] == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"features": [1.0]}, ["dish 1", "price, distance, spice"]),
        ({"features": [1.0, 2.0, 3.0, 4.0]}, ["dish 1", "expected 3"]),
        ({"id": "dish 0"}, ["'dish 0'"]),
        ({"id": "größer"}, ["candidate 1", "'größer'"]),
        ({"id": "a\x00b"}, ["candidate 1"]),
        ({"id": ""}, ["candidate 1"]),
        ({"id": 7}, ["candidate 1", "7"]),
        ({"colour": "red"}, ["candidate 1 ('dish 1'), colour"]),
    ],
)
def test_a_wrong_candidate_is_named(
    http: httpx.Client, meals: str, change: dict[str, object], words: list[str]
) -> None:
    offered: list[dict[str, object]] = [{**one} for one in candidates()]
    offered[1] |= change
    assert_problem(http.post(f"{meals}/ask", json={"candidates": offered}), 422, *words)
    assert http.get(meals).json()["model_version"] == 0


@pytest.mark.parametrize("count", [0, 1])
def test_one_candidate_is_no_duel(http: httpx.Client, meals: str, count: int) -> None:
    assert_problem(http.post(f"{meals}/ask", json={"candidates": candidates(count)}), 422, "candidates")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"\xff", b'{"candidates": "x"}', b'{"candidates": [{}, {}]}', b"[" * 5000],
)
def test_what_is_no_request_is_refused(http: httpx.Client, meals: str, body: bytes) -> None:
    for path in ("/v1/streams", f"{meals}/ask", f"{meals}/batch", f"{meals}/tickets/0-x/tell"):
        assert_problem(post(http, path, body), 422)
    assert http.get(meals).json()["model_version"] == 0


def test_a_field_that_stands_twice_is_refused_like_any_other(http: httpx.Client, meals: str) -> None:
    """The mistake is in the first list; a plain reader of JSON would see the second, which is shorter."""
    good = json.dumps(candidates(2))
    body = f'{{"candidates": {json.dumps([*candidates(2), 7])}, "candidates": {good}}}'
    assert_problem(post(http, f"{meals}/ask", body.encode()), 422, "candidate 2")
    assert http.get(meals).json()["model_version"] == 0


@pytest.mark.parametrize(
    "change",
    [
        {"context_dim": 0}, {"context_dim": 2.5}, {"post_dim": -1}, {"recipe": "rcdp"},
        {"options": {"widht": 1}}, {"options": {"exploration_width": "wide"}}, {"feature_names": ["a"]},
        {"vote_ttl_seconds": 0}, {"seed": -1}, {"random_share": 2}, {"name": "with space"}, {"name": "ü"},
        {"name": "../x"}, {"more": 1}, {"feature_names": ["a", "a", "b", "c", "d"]},
        {"options": {"post_serving": {"name": "spline", "knots": "x"}}},
        {"options": {"post_serving": {"name": "spline", "nots": 1}}},
    ],
)  # fmt: skip
def test_a_stream_that_cannot_be_is_not_created(http: httpx.Client, change: dict[str, object]) -> None:
    assert_problem(http.post("/v1/streams", json=MEALS | change), 422)
    assert http.get("/v1/streams").json() == {"streams": []}


class TestLimits:
    @pytest.fixture
    def settings(self) -> ServiceSettings:
        return ServiceSettings(body_limit=2000, candidate_limit=5, feature_limit=6, batch_limit=3)

    def test_a_long_body_is_not_read_to_its_end(self, http: httpx.Client, meals: str) -> None:
        sent = 0

        def endless() -> Iterator[bytes]:
            nonlocal sent
            for _ in range(100):
                sent += 1000
                yield b" " * 1000

        answer = http.post(f"{meals}/ask", content=endless(), headers={"Content-Type": "application/json"})
        assert_problem(answer, 413, "2000 bytes", "DUELWISE_BODY_LIMIT")
        announced = {"Content-Type": "application/json", "Content-Length": "1000000000"}
        assert_problem(http.post(f"{meals}/ask", content=b"{}", headers=announced), 413)

    def test_too_many_candidates_features_and_items_are_refused(self, http: httpx.Client, meals: str) -> None:
        assert_problem(http.post(f"{meals}/ask", json={"candidates": candidates(6)}), 413, "6 candidates")
        wide = {"name": "wide", "context_dim": 5, "post_dim": 2}
        assert_problem(http.post("/v1/streams", json=wide), 413, "DUELWISE_FEATURE_LIMIT")
        items = [{"op": "retract", "ticket": "x"}] * 4
        assert_problem(http.post(f"{meals}/batch", json={"items": items}), 413, "4 items")
        batch = {"items": [{"op": "ask", "candidates": candidates(6)}]}
        assert http.post(f"{meals}/batch", json=batch).json()["results"][0]["status"] == 413


class TestOverload:
    @pytest.fixture
    def settings(self) -> ServiceSettings:
        return ServiceSettings(queue_limit=2)

    def test_more_than_may_wait_is_turned_away_and_may_come_again(
        self, http: httpx.Client, meals: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, go = threading.Event(), threading.Event()
        commit = SqliteTurn.commit

        def slow(turn: SqliteTurn) -> None:
            begun.set()
            go.wait(30)
            commit(turn)

        monkeypatch.setattr(SqliteTurn, "commit", slow)
        body = {"candidates": candidates()}
        with ThreadPoolExecutor(1) as pool:
            batch = {"items": [{"op": "ask", **body}] * 2}
            first = pool.submit(http.post, f"{meals}/batch", json=batch)
            begun.wait(30)
            turned_away = http.post(f"{meals}/ask", json=body | {"event_id": "again"})
            go.set()
            assert first.result().status_code == 200
        assert_problem(turned_away, 503, "2 operations wait")
        assert int(turned_away.headers["retry-after"]) > 0
        assert http.get(meals).json()["counts"]["asked"] == 2
        assert http.post(f"{meals}/ask", json=body | {"event_id": "again"}).status_code == 201

    def test_a_batch_that_could_never_wait_is_too_large(self, http: httpx.Client, meals: str) -> None:
        items = [{"op": "retract", "ticket": "x"}] * 3
        assert_problem(http.post(f"{meals}/batch", json={"items": items}), 413)


def test_names_that_look_alike_are_refused(http: httpx.Client, meals: str) -> None:
    offered = {"candidates": candidates()}
    ticket = http.post(f"{meals}/ask", json=offered).json()["ticket"]
    for name in ("ann\u200b", "Ánn", "", "a\nb", "x" * 201):
        assert_problem(http.post(f"{meals}/ask", json=offered | {"event_id": name}), 422, "event_id")
        vote = {"winner": "left", "source": name}
        assert_problem(http.post(f"{meals}/tickets/{ticket}/tell", json=vote), 422, "source")
    assert http.get(meals).json()["model_version"] == 1


def test_other_content_is_refused(http: httpx.Client, meals: str) -> None:
    answer = http.post(f"{meals}/ask", content=json.dumps({"candidates": candidates()}))
    assert_problem(answer, 422, "application/json")


def test_unknown_tickets_are_not_found(http: httpx.Client, meals: str) -> None:
    http.post(f"{meals}/ask", json={"candidates": candidates()})
    for ticket in ("0-0000000000", "99-abc", "nothing", "0", "%00", "ü", "9" * 40 + "-a"):
        path = f"{meals}/tickets/{ticket}"
        assert_problem(http.get(path), 404)
        assert_problem(http.post(f"{path}/tell", json={"winner": "left"}), 404)
        assert_problem(http.post(f"{path}/retract"), 404)


def test_unknown_paths_and_methods_are_problems_too(http: httpx.Client) -> None:
    assert_problem(http.get("/v2"), 404)
    refused = http.delete("/v1/streams")
    assert_problem(refused, 405)
    assert refused.headers["allow"]


def test_a_fault_of_the_service_says_nothing_of_its_inside(
    http: httpx.Client, meals: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the secret")

    monkeypatch.setattr("duelwise.stream.replica.Replica.join", fail)
    monkeypatch.setattr("duelwise.stream.DecisionStream.commit", fail)
    answer = http.post(f"{meals}/ask", json={"candidates": candidates()})
    assert_problem(answer, 500)
    assert "secret" not in answer.text
    assert "the secret" in caplog.text


def test_a_stream_that_is_being_folded_asks_for_patience() -> None:
    answer = respond(Folding("The log of stream 'meals' is being folded: 40 % is done.", done=0.4))
    told = json.loads(answer.body)
    assert (answer.status, told["type"]) == (503, "urn:duelwise:problem:folding")
    assert int(answer.further["retry-after"]) > 0
    assert "40 %" in told["detail"]

"""Asking, observing, telling and retracting over HTTP."""

import time
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import httpx
import pytest

from in_process import InProcess, candidates


def ask(http: httpx.Client, meals: str, **further: object) -> dict[str, Any]:
    answer = http.post(f"{meals}/ask", json={"candidates": candidates(), **further})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_an_ask_names_two_different_candidates(http: httpx.Client, meals: str) -> None:
    duel = ask(http, meals)
    left, right = duel["left"], duel["right"]
    offered = [candidate["id"] for candidate in candidates()]
    assert left["index"] != right["index"]
    assert (offered[left["index"]], offered[right["index"]]) == (left["id"], right["id"])
    assert duel["model_version"] == 0


def test_an_event_id_seen_before_returns_the_same_duel(http: httpx.Client, meals: str) -> None:
    first = ask(http, meals, event_id="order 7")
    ask(http, meals)
    assert ask(http, meals, event_id="order 7") == first
    other = http.post(f"{meals}/ask", json={"candidates": candidates(2), "event_id": "order 7"})
    assert other.status_code == 409
    assert http.get(meals).json()["counts"]["asked"] == 2


def test_an_event_id_of_other_candidates_is_a_conflict(http: httpx.Client, meals: str) -> None:
    ask(http, meals, event_id="order 7")
    renamed = [{**one, "id": f"{one['id']}, new"} for one in candidates()]
    for other in (candidates(shift=0.25), renamed, candidates(2, shift=0.1)):
        answer = http.post(f"{meals}/ask", json={"candidates": other, "event_id": "order 7"})
        assert answer.status_code == 409, answer.text
        assert "'order 7'" in answer.json()["detail"]
    assert http.get(meals).json()["counts"]["asked"] == 1


@pytest.mark.parametrize("vote_first", [False, True])
def test_context_and_vote_come_in_either_order(http: httpx.Client, meals: str, vote_first: bool) -> None:
    path = f"{meals}/tickets/{ask(http, meals)['ticket']}"
    steps = [("observe", {"left": [60, 1], "right": [40, 9]}), ("tell", {"winner": "left", "source": "ann"})]
    for name, body in reversed(steps) if vote_first else steps:
        assert http.post(f"{path}/{name}", json=body).status_code == 200
    seen = http.get(path).json()
    assert seen["state"] == "told"
    assert (seen["winner"], seen["source"]) == ("left", "ann")
    assert [event["kind"] for event in seen["history"]] == (
        ["asked", "told", "observed"] if vote_first else ["asked", "observed", "told"]
    )


def test_the_same_vote_again_changes_nothing_and_another_is_a_conflict(
    http: httpx.Client, meals: str
) -> None:
    path = f"{meals}/tickets/{ask(http, meals)['ticket']}"
    first = http.post(f"{path}/tell", json={"winner": "left"})
    again = http.post(f"{path}/tell", json={"winner": "left"})
    other = http.post(f"{path}/tell", json={"winner": "right"})
    assert (first.status_code, again.status_code, other.status_code) == (200, 200, 409)
    assert (first.json()["changed"], again.json()["changed"]) == (True, False)
    assert http.get(meals).json()["model_version"] == 2


def test_another_context_is_a_conflict(http: httpx.Client, meals: str) -> None:
    path = f"{meals}/tickets/{ask(http, meals)['ticket']}"
    body = {"left": [60, 1], "right": [40, 9]}
    assert http.post(f"{path}/observe", json=body).json()["changed"] is True
    assert http.post(f"{path}/observe", json=body).json()["changed"] is False
    assert http.post(f"{path}/observe", json={**body, "left": [61, 1]}).status_code == 409


def test_a_retracted_duel_takes_no_vote(http: httpx.Client, meals: str) -> None:
    path = f"{meals}/tickets/{ask(http, meals)['ticket']}"
    assert http.post(f"{path}/retract").json()["state"] == "retracted"
    assert http.post(f"{path}/tell", json={"winner": "left"}).status_code == 409


def test_an_expired_duel_is_gone(http: httpx.Client, meals: str) -> None:
    path = f"{meals}/tickets/{ask(http, meals)['ticket']}"
    assert http.post(f"{meals}/expire", json={"older_than": 0}).json() == {"changed": 1}
    assert http.post(f"{path}/tell", json={"winner": "left"}).status_code == 410


def test_all_votes_of_a_source_can_be_taken_back(http: httpx.Client, meals: str) -> None:
    for _ in range(3):
        path = f"{meals}/tickets/{ask(http, meals)['ticket']}"
        http.post(f"{path}/tell", json={"winner": "left", "source": "bot"})
    assert http.post(f"{meals}/retract-source", json={"source": "bot"}).json() == {"changed": 3}
    assert http.get(meals).json()["counts"]["retracted"] == 3


def test_a_batch_answers_each_item_on_its_own(http: httpx.Client, meals: str) -> None:
    ticket = ask(http, meals)["ticket"]
    bad: list[dict[str, Any]] = [{**one} for one in candidates()]
    bad[2]["features"][1] = None
    items = [
        {"op": "tell", "ticket": ticket, "winner": "tie"},
        {"op": "ask", "candidates": bad},
        {"op": "observe", "ticket": ticket, "left": [1, 2], "right": [3]},
        {"op": "ask", "candidates": candidates(), "event_id": "x"},
        {"op": "ask", "candidates": candidates(), "event_id": "x"},
        {"op": "tell", "ticket": "9-nothing", "winner": "left"},
        {"op": "dance"},
        {"op": "retract", "ticket": ticket},
    ]
    answer = http.post(f"{meals}/batch", json={"items": items})
    results = answer.json()["results"]
    assert answer.status_code == 200
    assert [result["status"] for result in results] == [200, 422, 422, 201, 201, 404, 422, 200]
    assert results[3] == results[4]
    assert "'dish 2'" in results[1]["problem"]["detail"]
    assert "distance" in results[1]["problem"]["detail"]
    vote = results[0].pop("vote")
    assert results[0] == {"status": 200, "ticket": ticket, "state": "voted", "changed": True}
    assert vote == "2"
    assert http.get(meals).json()["model_version"] == 4


def test_an_empty_batch_is_answered(http: httpx.Client, meals: str) -> None:
    assert http.post(f"{meals}/batch", json={"items": []}).json() == {"results": []}


def test_parts_of_contexts_and_several_votes(http: httpx.Client, meals: str) -> None:
    asked = {"candidates": candidates(), "votes_wanted": 2}
    ticket = http.post(f"{meals}/ask", json=asked).json()["ticket"]
    path = f"{meals}/tickets/{ticket}"
    part = http.post(f"{path}/observe", json={"left": [0.4, None], "right": None}).json()
    assert (part["state"], part["changed"], part["vote"]) == ("asked", True, None)
    assert http.post(f"{path}/observe", json={"left": [0.5, 1.0]}).status_code == 409
    assert (
        http.post(f"{path}/observe", json={"left": [0.4, 1.0], "right": [1, 2]}).json()["state"] == "observed"
    )
    first = http.post(f"{path}/tell", json={"winner": "left", "source": "ann"}).json()
    second = http.post(f"{path}/tell", json={"winner": "right", "source": "bob"}).json()
    assert (first["state"], second["state"]) == ("observed", "told")
    shown = http.get(path).json()
    assert shown["wanted"] == 2
    assert [(v["vote"], v["winner"], v["source"]) for v in shown["votes"]] == [
        (first["vote"], "left", "ann"), (second["vote"], "right", "bob"),
    ]  # fmt: skip
    assert all(0 < v["weight"] <= 1 for v in shown["votes"])
    assert http.post(f"{path}/retract", json={"vote": "no such"}).status_code == 409
    assert http.post(f"{path}/retract", json={"vote": first["vote"]}).json()["state"] == "told"
    assert [v["source"] for v in http.get(path).json()["votes"]] == ["bob"]
    assert http.post(f"{path}/retract").json()["state"] == "retracted"


def test_an_ask_that_waits_for_its_stream_keeps_nobody_waiting(
    http: httpx.Client, transport: InProcess
) -> None:
    """A transaction has the stream until the event loop hears of its end, which may not wait for it."""
    text = {"text": {"length": 3, "dim": 1, "projection": "fitted"}}
    http.post("/v1/streams", json={"name": "texts", "context_dim": 1, "encodings": text})
    offered = [{"id": name, "features": {"text": [k, 1, 2]}} for k, name in enumerate("abc")]
    stream = transport.app.state.service.streams.open_queue("texts").stream
    with ThreadPoolExecutor(2) as pool:
        with stream.replica.lock:
            asked = pool.submit(http.post, "/v1/streams/texts/ask", json={"candidates": offered})
            time.sleep(0.1)
            alive = pool.submit(http.get, "/healthz")
            waited = wait([alive], timeout=20)
        assert alive in waited.done
        assert "none are. Put more than 1 items" in asked.result().json()["detail"]
    assert http.put("/v1/streams/texts/items", json={"items": offered}).status_code == 200
    assert http.post("/v1/streams/texts/ask", json={"candidates": offered}).status_code == 201

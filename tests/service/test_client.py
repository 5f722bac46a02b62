"""The client: the stream's own method names, the stream's own errors, and safe repeats."""

import json
from collections.abc import Callable
from typing import Any, cast

import httpx
import pytest

from duelwise import errors
from duelwise.client import JSON, Candidate, Client, RemoteDecision, RemoteStream, error_of
from duelwise.service.problems import KINDS
from in_process import candidates
from known import inside

Handler = Callable[[httpx.Request], httpx.Response]


def test_a_duel_from_asking_to_telling(client: Client) -> None:
    meals = client.create("meals", context_dim=3, post_dim=2, options={"exploration_width": 0.3})
    duel = meals.ask(candidates())
    assert {duel.left.id, duel.right.id} < {candidate["id"] for candidate in candidates()}
    assert meals.observe(duel.ticket, left=[60, 1], right=[40, 9]).state == "observed"
    assert meals.tell(duel.ticket, "left", source="ann").state == "told"
    assert meals.tell(duel.ticket, "left", source="ann").changed is False
    assert meals.ticket(duel.ticket)["winner"] == "left"
    assert meals.report()["model_version"] == 4  # and the ranges of the first ask
    assert meals.retract(duel.ticket).state == "retracted"
    assert [stream["name"] for stream in client.streams()] == ["meals"]
    assert inside(meals.status(), "counts", "retracted") == 1
    assert any(json.loads(line).get("kind") == "retracted" for line in meals.export())


def test_batches_expiry_and_sources(client: Client) -> None:
    meals = client.create("meals", context_dim=3)
    asked = meals.batch([{"op": "ask", "candidates": cast("list[JSON]", candidates())}] * 3)
    assert [result["status"] for result in asked] == [201, 201, 201]
    meals.tell(inside(asked[0], "ticket"), "right", source="bot")
    assert meals.retract_source("bot") == 1
    assert meals.expire(0) == 2


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (errors.UnknownStream, lambda client: client.stream("nothing").report()),
        (errors.UnknownTicket, lambda client: client.stream("meals").tell("5-x", "left")),
        (errors.InvalidInput, lambda client: client.stream("meals").ask(candidates(1))),
        (errors.Conflict, lambda client: client.create("meals", context_dim=4)),
    ],
)
def test_refusals_are_the_errors_of_a_stream(
    client: Client, kind: type[Exception], call: Callable[[Client], object]
) -> None:
    client.create("meals", context_dim=3)
    with pytest.raises(kind) as raised:
        call(client)
    assert len(str(raised.value)) > 40


def remote(handler: Handler, waits: list[float]) -> Client:
    return Client("http://127.0.0.1", "secret", transport=httpx.MockTransport(handler), sleep=waits.append)


def test_an_ask_without_an_answer_is_repeated_under_the_same_event_id() -> None:
    seen: list[str] = []
    answer = {"ticket": "0-a", "left": {"id": "a", "index": 0}, "right": {"id": "b", "index": 1},
              "model_version": 0, "probability": None}  # fmt: skip

    def handler(request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == "Bearer secret"
        seen.append(json.loads(request.content)["event_id"])
        if len(seen) == 1:
            raise httpx.ReadTimeout("no answer", request=request)
        if len(seen) == 2:
            return httpx.Response(503, json={"type": "urn:duelwise:problem:overloaded", "detail": "busy"})
        return httpx.Response(201, json=answer)

    waits: list[float] = []
    duel = remote(handler, waits).stream("meals").ask(candidates())
    assert isinstance(duel, RemoteDecision)
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert len(waits) == 2
    assert waits[0] < waits[1] * 3


def test_every_refusal_of_the_service_has_its_error() -> None:
    for kind, told in KINDS.items():
        answer = httpx.Response(
            told.status, json={"type": f"urn:duelwise:problem:{told.name}", "detail": "why"}
        )
        assert type(error_of(answer)) is kind


def test_a_file_is_asked_for_again() -> None:
    answers = iter([httpx.Response(503, json={"detail": "busy"}), httpx.Response(200, content=b"a,b")])
    waits: list[float] = []
    assert remote(lambda _: next(answers), waits).stream("meals").votes() == b"a,b"
    assert len(waits) == 1


def test_what_no_waiting_cures_is_not_repeated() -> None:
    calls = 0

    def handler(_: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        return httpx.Response(503, json={"type": "urn:duelwise:problem:read-only", "detail": "damaged"})

    with pytest.raises(errors.ReadOnly, match="damaged"):
        remote(handler, []).stream("meals").tell("0-a", "left")
    assert calls == 1


def test_a_service_that_never_answers_is_given_up() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    waits: list[float] = []
    with pytest.raises(errors.StorageFailure, match="sending it again is safe"):
        remote(handler, waits).stream("meals").tell("0-a", "left")
    assert len(waits) == 4


@pytest.mark.parametrize(
    "call",
    [lambda stream: stream.derive("copy"), lambda stream: stream.erase_source("ann")],
    ids=["derive", "erase_source"],
)
def test_what_cannot_be_taken_twice_is_sent_once(call: Callable[[RemoteStream], object]) -> None:
    """A repeat of one that was taken would be refused, or give another pseudonym than the one that stands."""
    busy = httpx.Response(503, json={"type": "urn:duelwise:problem:overloaded", "detail": "busy"})
    answers = iter([busy, busy])

    def handler(request: httpx.Request) -> httpx.Response:
        for answer in answers:  # it was not begun
            return answer
        raise httpx.ReadTimeout("no answer", request=request)

    waits: list[float] = []
    with pytest.raises(errors.StorageFailure, match="look before sending it again"):
        call(remote(handler, waits).stream("meals"))
    assert len(waits) == 2


def test_what_was_never_sent_is_sent_again_though_it_cannot_be_taken_twice() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    waits: list[float] = []
    with pytest.raises(errors.StorageFailure, match="sending it again is safe"):
        remote(handler, waits).stream("meals").derive("copy")
    assert len(waits) == 4


def test_an_answer_that_is_no_problem_json_is_still_an_error() -> None:
    client = remote(lambda _: httpx.Response(418, text="teapot"), [])
    with pytest.raises(errors.DuelwiseError, match="418"):
        client.streams()


def test_features_by_name_and_contexts_by_name(client: Client) -> None:
    names = ["price", "spice", "warmth"]
    meals = client.create("meals", context_dim=2, post_dim=1, feature_names=names)
    offered: list[Candidate] = [
        {"id": str(i), "features": {"spice": float(i), "price": 1.0}} for i in range(3)
    ]
    duel = meals.ask(offered)
    assert meals.observe(duel.ticket, left={"warmth": 1.0}, right={"warmth": 2.0}).state == "observed"
    x = inside(meals.ticket(duel.ticket), "history", 0, "details", "x")
    assert [row[0] for row in x] == [1.0, 1.0]
    with pytest.raises(errors.InvalidInput, match="salt"):
        meals.ask([{"id": str(i), "features": {"salt": 1.0, "price": 1.0}} for i in range(2)])


def test_what_the_library_can_the_client_can(client: Client) -> None:
    meals = client.create("meals", context_dim=2, post_dim=1, feature_names=["price", "spice", "warmth"])
    duels = [
        {"left": [i, 0.0], "right": [0.0, i], "left_context": [1.0], "right_context": [0.0],
         "winner": "left", "source": "ann", "event_id": f"past {i}"}
        for i in range(450)
    ]  # fmt: skip
    heard: list[tuple[int, int]] = []
    assert meals.import_duels(duels, on_progress=lambda *done: heard.append(done)) == 450
    assert heard == [(200, 450), (400, 450), (450, 450)]
    assert meals.import_duels(duels) == 0
    other = meals.derive("other", {"cost": "price", "warmth": "warmth"}, random_share=0.5)
    settings = inside(other.status(), "settings")
    assert (settings["feature_names"], settings["random_share"]) == (["cost", "warmth"], 0.5)
    assert other.status()["counts"] == meals.status()["counts"]
    pseudonym = meals.erase_source("ann")
    assert not any('"ann"' in line for line in meals.export())
    assert meals.retract_source(pseudonym) == 450
    assert meals.expire(confirm_clock=True) == 0


def test_what_goes_in_parts_is_looked_at_whole_before_the_first() -> None:
    meals = remote(lambda _: pytest.fail("a request was sent"), []).stream("meals")
    items = [{"id": f"dish {i % 600}", "features": [1.0, float(i)]} for i in range(601)]
    with pytest.raises(errors.InvalidInput, match="share the id 'dish 0'"):
        meals.put_items(cast("Any", items))
    duels: list[Any] = [
        {"left": [0.0], "right": [1.0], "winner": "left", "event_id": f"{i}"} for i in range(300)
    ]
    with pytest.raises(errors.InvalidInput, match="Duel 300 has no event_id"):
        meals.import_duels([*duels, {"left": [0.0], "right": [1.0], "winner": "left"}])


def test_a_part_fits_whether_or_not_letters_are_escaped() -> None:
    """httpx escapes them before 0.28."""
    sizes = list[int]()

    def put(request: httpx.Request) -> httpx.Response:
        sent = json.loads(request.content)
        sizes.append(max(len(request.content), len(json.dumps(sent))))
        return httpx.Response(200, json={"added": len(sent["items"]), "changed": 0, "same": 0})

    items: list[Any] = [{"id": f"dish {i}", "features": [1.0], "content": "漢" * 1400} for i in range(400)]
    remote(put, []).stream("meals").put_items(items)
    assert len(sizes) > 1
    assert max(sizes) < 1_000_000


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, "\ud800"])
def test_what_is_no_json_is_named_before_the_first_part_is_sent(value: Any) -> None:
    meals = remote(lambda _: pytest.fail("a request was sent"), []).stream("meals")
    items: list[Any] = [{"id": f"dish {i}", "features": [1.0]} for i in range(601)]
    with pytest.raises(errors.InvalidInput, match="Item 600 is no JSON"):
        meals.put_items([*items[:600], {"id": "dish 600", "features": value}])
    duels: list[Any] = [
        {"left": [0.0], "right": [1.0], "winner": "left", "event_id": f"{i}"} for i in range(300)
    ]
    with pytest.raises(errors.InvalidInput, match="Duel 250 is no JSON"):
        meals.import_duels([*duels[:250], {**duels[250], "left": value}])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_none_is_named_and_nothing_is_sent(value: float) -> None:
    meals = remote(lambda _: pytest.fail("a request was sent"), []).stream("meals")
    with pytest.raises(errors.InvalidInput, match=r"candidate 1 \('rice'\), feature 2"):
        meals.ask([{"id": "soup", "features": [1, 2, 3]}, {"id": "rice", "features": [1, 2, value]}])
    with pytest.raises(errors.InvalidInput, match="right, feature 'warmth'"):
        meals.observe("1-x", left={"warmth": 1.0}, right={"warmth": value})


@pytest.mark.parametrize(
    "offered", [[[1, 2], [3, 4]], [{"id": "soup"}, {"id": "rice", "features": [1]}], "ab"]
)
def test_what_is_no_candidate_is_named_and_nothing_is_sent(offered: Any) -> None:
    meals = remote(lambda _: pytest.fail("a request was sent"), []).stream("meals")
    with pytest.raises(errors.InvalidInput, match=r"candidate 0 is .*'id' and 'features'"):
        meals.ask(offered)


def test_a_level_is_sent_by_its_name() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert b'"features":{"model":"b","price":2.0}' in request.content
        return httpx.Response(422, json={"detail": "seen"})

    with pytest.raises(errors.DuelwiseError, match="seen"):
        remote(answer, []).stream("meals").ask([{"id": "soup", "features": {"model": "b", "price": 2}}])


@pytest.mark.parametrize("status", [429, 503])
def test_the_client_waits_as_long_as_it_is_asked_to(status: int) -> None:
    waits: list[float] = []
    answers = iter(
        [httpx.Response(status, headers={"Retry-After": "7"}), httpx.Response(200, json={"streams": []})]
    )
    assert remote(lambda _: next(answers), waits).streams() == []
    assert waits == [7.0]


def test_what_is_too_much_for_one_request_is_sent_in_several(client: Client) -> None:
    wide = client.create("wide", context_dim=150)
    numbers = [k / 7 for k in range(150)]
    items = [{"id": f"i{k}", "features": numbers} for k in range(500)]
    assert wide.put_items(items)["added"] == 500
    heard: list[tuple[int, int]] = []
    duels = [{"left": numbers, "right": numbers, "winner": "tie", "event_id": f"e{k}"} for k in range(200)]
    assert wide.import_duels(duels, on_progress=lambda *done: heard.append(done)) == 200
    assert heard[-1] == (200, 200)
    assert len(heard) == 2


def test_a_token_from_a_file_is_taken_without_the_end_of_its_line() -> None:
    given: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        given.append(request.headers["authorization"])
        return httpx.Response(200, json={"streams": []})

    Client("http://127.0.0.1", "dw_abc\n", transport=httpx.MockTransport(handler)).streams()
    assert given == ["Bearer dw_abc"]
    for token in ("", "\n", "dw_\u00e4bc", "dw_a\nbc"):
        with pytest.raises(errors.InvalidInput, match="duelwise keys add") as refused:
            Client("http://127.0.0.1", token)
        assert "bc" not in str(refused.value)


@pytest.mark.parametrize("address", ["localhost:8000", "127.0.0.1", "", "unix:///run/duels"])
def test_an_address_without_its_scheme_is_refused_before_anything_is_sent(address: str) -> None:
    with pytest.raises(errors.InvalidInput, match=r"expected an address such as 'http://127\.0\.0\.1:8000'"):
        Client(address)


@pytest.mark.parametrize("content", [b"<html>Welcome</html>", b"[1]", b"\xff"])
def test_another_server_at_the_address_is_named(content: bytes) -> None:
    client = remote(lambda _: httpx.Response(200, content=content), [])
    with pytest.raises(errors.DuelwiseError, match=r"http://127\.0\.0\.1 answered with .*no JSON object"):
        client.streams()

"""Keys: who may do what, and what happens without any."""

import asyncio
import base64
from collections.abc import Iterator

import httpx
import pytest

from duelwise.errors import Conflict, InvalidInput, UnknownName, UnknownStream
from duelwise.service import auth
from duelwise.service.auth import Guard, add_key, hash_of
from duelwise.service.serving import check_reach
from duelwise.storage import Store, open_store
from in_process import MEALS, InProcess, candidates


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store(store_url)
    yield opened
    opened.close()


def key(store: Store, role: str, stream: str | None = None) -> dict[str, str]:
    token = add_key(store, name=f"{role} {stream}", role=role, stream=stream, at=1.0)
    return {"Authorization": f"Bearer {token}"}


def test_a_token_is_stored_as_a_hash(store: Store) -> None:
    token = add_key(store, name="till", role="write", stream=None, at=1.0)
    assert token not in str(store.keys.all())
    assert store.keys.all()[0].hash == hash_of(token)
    assert len(token) > 40
    with pytest.raises(Conflict):
        add_key(store, name="till", role="read", stream=None, at=1.0)


def test_a_key_needs_a_known_role_and_stream(store: Store) -> None:
    with pytest.raises(UnknownName, match="write"):
        add_key(store, name="a", role="writ", stream=None, at=1.0)
    with pytest.raises(UnknownStream):
        add_key(store, name="a", role="read", stream="nothing", at=1.0)
    with pytest.raises(InvalidInput):
        add_key(store, name="", role="read", stream=None, at=1.0)


def test_roles_may_do_what_they_say(
    http: httpx.Client, meals: str, store: Store, transport: InProcess
) -> None:
    http.post(f"{meals}/ask", json={"candidates": candidates()})
    read, write, admin = (key(store, role) for role in ("read", "write", "admin"))
    transport.app.state.service.guard.look_again()
    statuses = {
        name: [
            http.get(meals, headers=headers).status_code,
            http.get("/metrics", headers=headers).status_code,
            http.post(f"{meals}/ask", json={"candidates": candidates()}, headers=headers).status_code,
            http.post("/v1/streams", json=MEALS, headers=headers).status_code,
        ]
        for name, headers in (("read", read), ("write", write), ("admin", admin))
    }
    assert statuses == {
        "read": [200, 200, 403, 403],
        "write": [200, 200, 201, 403],
        "admin": [200, 200, 201, 200],
    }


def test_a_key_for_one_stream_sees_no_other(
    http: httpx.Client, meals: str, store: Store, transport: InProcess
) -> None:
    http.post("/v1/streams", json={"name": "rides", "context_dim": 1})
    headers = key(store, "admin", "meals")
    transport.app.state.service.guard.look_again()
    assert http.get(meals, headers=headers).status_code == 200
    assert http.get("/v1/streams/rides", headers=headers).status_code == 403
    assert http.get("/v1/streams/nothing", headers=headers).status_code == 403
    assert http.post("/v1/streams", json=MEALS, headers=headers).status_code == 403
    listed = http.get("/v1/streams", headers=headers).json()["streams"]
    assert [stream["name"] for stream in listed] == ["meals"]
    assert "rides" not in http.get("/", headers=headers).text


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer wrong", "Basic %%%", "Digest x", "Bearer ümlaut"])
def test_a_wrong_or_missing_token_is_refused(
    http: httpx.Client, meals: str, store: Store, transport: InProcess, header: str | None
) -> None:
    key(store, "read")
    transport.app.state.service.guard.look_again()
    headers = [] if header is None else [(b"Authorization", header.encode())]
    answer = http.get(meals, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert http.get("/healthz").status_code == 200


def test_a_revoked_key_stops_working_and_does_not_open_the_door(
    http: httpx.Client, meals: str, store: Store, transport: InProcess
) -> None:
    headers = key(store, "read")
    transport.app.state.service.guard.look_again()
    assert http.get(meals, headers=headers).status_code == 200
    store.keys.revoke("read None", at=2.0)
    transport.app.state.service.guard.look_again()
    assert http.get(meals, headers=headers).status_code == 401
    assert http.get(meals).status_code == 401


def test_a_browser_gives_the_token_as_a_password(
    http: httpx.Client, meals: str, store: Store, transport: InProcess
) -> None:
    token = key(store, "read")["Authorization"].removeprefix("Bearer ")
    transport.app.state.service.guard.look_again()
    asked = http.get("/")
    assert asked.status_code == 401
    assert asked.headers["www-authenticate"].startswith("Basic")
    basic = base64.b64encode(f"me:{token}".encode()).decode()
    assert "meals" in http.get("/", headers={"Authorization": f"Basic {basic}"}).text


def test_without_keys_only_this_machine_is_answered(
    http: httpx.Client, meals: str, transport: InProcess
) -> None:
    assert http.get(meals, headers={"Host": "evil.example"}).status_code == 403
    assert http.get(meals, headers={"Host": "[::1"}).status_code == 403
    transport.as_seen_from("192.0.2.7")
    answer = http.get(meals)
    assert answer.status_code == 403
    assert "duelwise keys add" in answer.json()["detail"]
    transport.as_seen_from("::1")
    assert http.get(meals).status_code == 200


def test_serving_elsewhere_needs_a_key(store: Store, store_url: str) -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8"):
        check_reach(store_url, host)
    for host in ("0.0.0.0", "::", "192.0.2.7", "example.org"):
        with pytest.raises(InvalidInput, match="duelwise keys add"):
            check_reach(store_url, host)
    add_key(store, name="a", role="admin", stream=None, at=1.0)
    check_reach(store_url, "0.0.0.0")
    store.keys.revoke("a", at=2.0)
    with pytest.raises(InvalidInput):
        check_reach(store_url, "0.0.0.0")


def test_wrong_keys_of_one_address_wait_their_turn(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of a second each, five seconds at most; another address is not concerned."""
    now, waits = 10.0, list[float]()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(auth.asyncio, "sleep", sleep)
    guard = Guard(store, refresh_seconds=5, clock=lambda: now)

    async def refused(*addresses: str) -> None:
        for address in addresses:
            await guard._slow_down(address)

    asyncio.run(refused("1.1.1.1", "1.1.1.1", "1.1.1.1", "2.2.2.2"))
    assert waits == pytest.approx([0.1, 0.2])
    waits.clear()
    now = 10.3
    asyncio.run(refused("1.1.1.1", *["3.3.3.3"] * 53))
    assert waits[-3:] == pytest.approx([5.0, 5.0, 5.0])
    assert len(waits) == 52


def test_the_addresses_of_wrong_keys_are_forgiven_when_there_are_too_many(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "ADDRESSES_KEPT", 2)
    guard = Guard(store, refresh_seconds=5, clock=lambda: 10.0)
    for address, known in (("a", {"a"}), ("b", {"a", "b"}), ("c", {"c"})):
        asyncio.run(guard._slow_down(address))
        assert set(guard._wrong) == known


def test_keys_are_read_again_after_so_many_seconds(store: Store) -> None:
    now = 10.0
    guard = Guard(store, refresh_seconds=5, clock=lambda: now)
    assert not guard.is_fresh
    local = {b"host": b"localhost:8000"}
    asyncio.run(guard.check("127.0.0.1", local, "read", None))
    assert guard.is_fresh
    token = add_key(store, name="till", role="write", stream=None, at=1.0)
    now = 15.0
    assert asyncio.run(guard.check("127.0.0.1", local, "read", None)) is None
    now = 15.1
    assert not guard.is_fresh
    shown = {b"authorization": f"Bearer {token}".encode()}
    key = asyncio.run(guard.check("127.0.0.1", shown, "write", None))
    assert key is not None
    assert key.name == "till"


@pytest.mark.parametrize("name", ["a" * 101, "a\nb"])
def test_the_name_of_a_key_is_short_and_printable(store: Store, name: str) -> None:
    with pytest.raises(InvalidInput, match="1 to 100 printable"):
        add_key(store, name=name, role="read", stream=None, at=1.0)
    add_key(store, name="a" * 100, role="read", stream=None, at=1.0)

"""Nothing acknowledged is lost: servers killed under load, two servers on one store, a full disk."""

import json
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from servers import Crowd, serving
from sqlalchemy import event
from sqlalchemy.engine import Engine

from duelwise.client import Client
from duelwise.service import create_app
from duelwise.stream import DecisionStream
from duelwise.stream.transfer import read_lines
from in_process import InProcess, candidates
from known import inside

KILLS = 10


@pytest.fixture(params=["sqlite", pytest.param("postgresql", id="postgresql")])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/duels.db"
    return request.getfixturevalue("postgresql_url")


def check(client: Client, store: str, acknowledged: list[tuple[str, str]]) -> None:
    """Every acknowledged event is there once; the state is a fresh fold of the log, float for float."""
    lines = list(client.stream("meals").export())
    events = [json.loads(line) for line in lines[1:-1]]
    assert [one["seq"] for one in events] == list(range(1, len(events) + 1))
    tickets = {one["round"]: f"{one['round']}-{one['tag']}" for one in events if one["kind"] == "asked"}
    recorded = Counter((one["kind"], tickets.get(one["round"])) for one in events if one["round"] >= 0)
    for acknowledgement in acknowledged:
        assert recorded[acknowledgement] == 1
    assert set(recorded.values()) == {1}
    names = Counter(one["event_id"] for one in events if one["kind"] == "asked")
    assert set(names.values()) == {1}

    fresh = read_lines(lines).fold().snapshot().payload
    with DecisionStream.open(store, "meals") as stream:
        assert stream.snapshot_state() == fresh
        served, folded = client.stream("meals").report(), json.loads(json.dumps(stream.report().to_dict()))
    for item in (
        "coefficients",
        "log_det_served",
        "log_det_arrived",
        "counts",
        "model_version",
        "prediction",
    ):
        assert served[item] == folded[item]


@pytest.mark.long
def test_ten_kills_under_load_lose_nothing(any_store: str) -> None:
    moments = random.Random(5)
    with serving(any_store) as server, Client(server.url, timeout=60) as client:
        client.create("meals", context_dim=3, post_dim=2)
        crowd = Crowd([server.url], size=8)
        try:
            for _ in range(KILLS):
                crowd.start()
                crowd.wait_for_more()
                time.sleep(moments.uniform(0.0, 0.8))
                server.kill()
                crowd.join()
                server.start()
                check(client, any_store, crowd.acknowledged())
            crowd.finish()
            check(client, any_store, crowd.acknowledged())
        finally:
            server.kill()
            crowd.stop()
            crowd.close()


@pytest.mark.long
def test_two_servers_on_one_database_agree(postgresql_url: str) -> None:
    with serving(postgresql_url) as one, serving(postgresql_url) as two:
        _shop_on_both(postgresql_url, [one.url, two.url])


@pytest.mark.long
def test_two_servers_on_one_file_agree(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/duels.db"
    with serving(store) as one, serving(store) as two:
        _shop_on_both(store, [one.url, two.url])


def _shop_on_both(store: str, urls: list[str]) -> None:
    with Client(urls[0], timeout=60) as first, Client(urls[1], timeout=60) as second:
        first.create("meals", context_dim=3, post_dim=2)
        crowd = Crowd(urls, size=8)
        crowd.start()
        crowd.wait_for_more(300)
        crowd.stop()
        crowd.finish()
        crowd.close()
        check(first, store, crowd.acknowledged())
        check(second, store, crowd.acknowledged())
        assert list(first.stream("meals").export()) == list(second.stream("meals").export())


@pytest.mark.long
def test_several_workers_share_port_store_and_counters(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/duels.db"
    with serving(store, "--workers", "2") as server, Client(server.url, timeout=60) as client:
        client.create("meals", context_dim=3, post_dim=2)
        crowd = Crowd([server.url], size=6)
        crowd.start()
        crowd.wait_for_more(200)
        crowd.stop()
        crowd.finish()
        crowd.close()
        check(client, store, crowd.acknowledged())
        text = httpx.get(f"{server.url}/metrics").text
        asked = sum(kind == "asked" for kind, _ in crowd.acknowledged())
        counted = 'duelwise_requests_total{route="/v1/streams/{name}/ask",status="201"}'
        assert f"{counted} {float(asked)}" in text


@pytest.fixture
def disk() -> Iterator[dict[str, int]]:
    """The number of pages a SQLite file may have, for connections made from now on."""
    allowed = {"pages": 2**30}

    def limit(connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {allowed['pages']}")

    event.listen(Engine, "connect", limit)
    yield allowed
    event.remove(Engine, "connect", limit)


def test_a_full_disk_gives_errors_and_loses_nothing(disk: dict[str, int], tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/duels.db"
    body = {"candidates": candidates(), "event_id": "0"}
    disk["pages"] = 60
    acknowledged: list[tuple[str, str]] = []
    transport = InProcess(create_app(store))
    with httpx.Client(base_url="http://127.0.0.1", transport=transport) as http:
        http.post("/v1/streams", json={"name": "meals", "context_dim": 3, "post_dim": 2})
        while len(acknowledged) < 2000:
            refused = str(len(acknowledged))
            answer = http.post("/v1/streams/meals/ask", json=body | {"event_id": refused})
            if answer.status_code != 201:
                break
            acknowledged.append(("asked", answer.json()["ticket"]))
        else:
            pytest.fail("the disk is not full after 2,000 duels")
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        assert "full" in answer.json()["detail"]
        assert http.get("/v1/streams/meals").json()["counts"]["asked"] == len(acknowledged) > 0
    transport.stop()

    disk["pages"] = 2**30
    transport = InProcess(create_app(store))
    with Client("http://127.0.0.1", transport=transport) as client:
        duel = client.stream("meals").ask(candidates(), event_id=refused)
        acknowledged.append(("asked", duel.ticket))
        check(client, store, acknowledged)
        assert inside(client.stream("meals").status(), "counts", "asked") == len(acknowledged)
    transport.stop()

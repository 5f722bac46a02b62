"""Bad days stay small: one broken stream, dead workers, a full temporary folder."""

import json
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from servers import Crowd, Server, serving

from duelwise.client import Client
from duelwise.service import create_app
from in_process import MEALS, InProcess, candidates


def break_stream(file: Path, name: str) -> None:
    """Settings that this version cannot make sense of, as another one might leave them."""
    database = sqlite3.connect(file)
    database.execute(
        "UPDATE streams SET settings = ? WHERE name = ?",
        ['{"context_dim": 3, "feature_names": [], "shape": []}', name],
    )
    database.commit()
    database.close()


@pytest.fixture
def http_with_a_broken_stream(tmp_path: Path, store_url: str) -> Iterator[httpx.Client]:
    transport = InProcess(create_app(store_url))
    with httpx.Client(base_url="http://127.0.0.1", transport=transport) as http:
        for name in ("meals", "rides"):
            assert http.post("/v1/streams", json=MEALS | {"name": name}).status_code == 201
    transport.stop()
    break_stream(tmp_path / "duels.db", "rides")
    transport = InProcess(create_app(store_url))
    with httpx.Client(base_url="http://127.0.0.1", transport=transport) as http:
        yield http
    transport.stop()


def test_a_broken_stream_is_an_entry_with_its_reason(http_with_a_broken_stream: httpx.Client) -> None:
    http = http_with_a_broken_stream
    refused = http.post("/v1/streams/rides/ask", json={"candidates": candidates()})
    assert refused.status_code == 503
    assert refused.json()["type"] == "urn:duelwise:problem:broken-stream"
    assert "shape" in refused.json()["detail"]

    listed = {one["name"]: one for one in http.get("/v1/streams").json()["streams"]}
    assert listed["meals"]["counts"]["asked"] == 0
    assert "shape" in listed["rides"]["problem"]
    page = http.get("/")
    assert page.status_code == 200
    assert "cannot be opened" in page.text
    metrics = http.get("/metrics").text
    assert 'duelwise_broken{stream="rides"} 1.0' in metrics
    assert 'duelwise_broken{stream="meals"} 0.0' in metrics
    assert http.post("/v1/streams/meals/ask", json={"candidates": candidates()}).status_code == 201


def test_metrics_open_no_stream(store_url: str) -> None:
    transport = InProcess(create_app(store_url))
    with httpx.Client(base_url="http://127.0.0.1", transport=transport) as http:
        http.post("/v1/streams", json=MEALS)
        http.post("/v1/streams/meals/ask", json={"candidates": candidates()})
    transport.stop()
    app = create_app(store_url)
    transport = InProcess(app)
    with httpx.Client(base_url="http://127.0.0.1", transport=transport) as http:
        text = http.get("/metrics").text
        assert 'duelwise_pending_votes{stream="meals"} 1.0' in text
        assert 'duelwise_events{stream="meals"} 1.0' in text
        assert not list(app.state.service.streams)
    transport.stop()


def workers_of(server: Server) -> list[psutil.Process]:
    """The processes that serve, oldest first; Python keeps one more to look after them."""
    children = psutil.Process(server.pid).children()
    return [one for one in children if "spawn_main" in " ".join(one.cmdline())]


@pytest.mark.long
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_killed_worker_is_replaced_and_nothing_is_lost(
    tmp_path: Path, database: str, request: pytest.FixtureRequest
) -> None:
    sqlite = f"sqlite:///{tmp_path}/duels.db"
    store = sqlite if database == "sqlite" else request.getfixturevalue("postgresql_url")
    log = tmp_path / "log"
    with (
        serving(store, "--workers", "2", log=log) as server,
        Client(server.url, timeout=60, retries=12) as client,
    ):
        client.create("meals", context_dim=3, post_dim=2)
        for victim in workers_of(server):
            crowd = Crowd([server.url], size=6)
            crowd.start()
            crowd.wait_for_more(50)
            victim.send_signal(signal.SIGKILL)
            killed = time.monotonic()
            client.stream("meals").ask(candidates())  # repeats by itself, for some three seconds
            crowd.stop()
            _check(client, crowd)
            while len(workers_of(server)) < 2:
                assert time.monotonic() - killed < 30
                time.sleep(0.1)
            time.sleep(3)  # until the new one serves
    said = [json.loads(line) for line in log.read_text().splitlines()]
    deaths = [line for line in said if "ended with signal SIGKILL" in line["message"]]
    assert {line["worker"] for line in deaths} == {0, 1}


def _check(client: Client, crowd: Crowd) -> None:
    """What was acknowledged is in the log, once."""
    events = [json.loads(line) for line in client.stream("meals").export()][1:-1]
    tickets = {one["round"]: f"{one['round']}-{one['tag']}" for one in events if one["kind"] == "asked"}
    recorded = [(one["kind"], tickets.get(one["round"])) for one in events if one["round"] >= 0]
    assert len(recorded) == len(set(recorded))
    assert set(crowd.acknowledged()) <= set(recorded)
    crowd.close()


@pytest.mark.long
def test_a_full_temporary_folder_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that cannot be written stands for a full one."""
    monkeypatch.setenv("TMPDIR", "/proc/nothing")
    log = tmp_path / "log"
    with serving(f"sqlite:///{tmp_path}/duels.db", "--workers", "2", log=log) as server:
        with Client(server.url, timeout=60) as client:
            meals = client.create("meals", context_dim=3, post_dim=2)
            for _ in range(20):
                meals.ask(candidates())
        assert httpx.get(f"{server.url}/metrics").status_code == 200
        assert len(workers_of(server)) == 2
    assert "ended with" not in log.read_text()

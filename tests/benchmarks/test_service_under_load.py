"""The load of the benchmark reaches the service, and what it counts is what the store holds."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from benchmarks.open_loop import latency
from benchmarks.processes import duelwise, running
from benchmarks.service import Row, create_streams, in_turns, table

from duelwise.storage import open_store
from duelwise.stream.repair import verify

STREAMS = 4


@pytest.fixture(autouse=True)
def wrk() -> None:
    if shutil.which("wrk") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("wrk is not installed: apt-get install wrk")
        pytest.skip("wrk is not installed")


@pytest.mark.long
def test_what_two_processes_answer_under_load_is_in_the_store(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/load.db"
    with running(*duelwise(store, "--workers", "2")) as port:
        create_streams(port, STREAMS)
        rows = [
            Row("durable, one stream", port),
            Row("durable, several streams", port, STREAMS),
            Row("durable, each connection keeps to one", port, STREAMS, keeps=True),
        ]
        in_turns(rows, seconds=1, repeats=2)
        for row in rows:
            assert len(row.rates) == 2
            assert min(row.rates) > 0
            assert min(row.together) >= 1
            row.calm.append(latency(port, rate=100, seconds=1))
            assert 0 < row.calm[0].p50 <= row.calm[0].p99
    at = open_store(store)
    try:
        names = [f"bench{number}" for number in range(STREAMS)]
        assert sum(at.stream(name).head for name in names) >= sum(sum(row.rates) for row in rows)
        assert all(not verify(at, name) for name in names)
    finally:
        at.close()
    assert all(row.name in table(rows, [], [0.1], None) for row in rows)

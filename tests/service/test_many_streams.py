"""A thousand streams in one server: memory stays within the setting, and the first look is quick."""

import time
from pathlib import Path

import httpx
import psutil
import pytest
from servers import serving

from takes import best

STREAMS, FIRST, ALLOWED = 1000, 250, 10_000_000
OFFERED = [{"id": str(n), "features": [float(n == j) for j in range(30)]} for n in range(4)]


def ask(http: httpx.Client, number: int) -> None:
    http.post("/v1/streams", json={"name": f"s{number}", "context_dim": 30}).raise_for_status()
    http.post(f"/v1/streams/s{number}/ask", json={"candidates": OFFERED}).raise_for_status()


@pytest.mark.long
@pytest.mark.alone
def test_a_thousand_streams_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUELWISE_MEMORY_LIMIT", str(ALLOWED))
    store = f"sqlite:///{tmp_path}/duels.db"
    with serving(store) as server, httpx.Client(base_url=server.url, timeout=30) as http:
        process = psutil.Process(server.pid)
        for number in range(FIRST):  # kernels, caches and the allowed streams are there by then
            ask(http, number)
        before = process.memory_info().rss
        for number in range(FIRST, STREAMS):
            ask(http, number)
        assert process.memory_info().rss - before < 2 * ALLOWED
        again = {"name": "s0", "context_dim": 30}
        assert http.post("/v1/streams", json=again).status_code == 200  # it was closed, not lost

    def first_metrics() -> float:
        with serving(store) as server, httpx.Client(base_url=server.url, timeout=30) as http:
            start = time.perf_counter()
            text = http.get("/metrics").text
            waited = time.perf_counter() - start
            assert text.count("duelwise_pending_votes{") == STREAMS
            ask(http, 0)
        return waited

    assert best(first_metrics, below=1.0)

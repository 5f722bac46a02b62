"""Many streams in one process, many open tickets in one stream."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator

from duelwise.storage import Store, open_store
from duelwise.stream import Ask, DecisionStream, StreamRegistry, StreamSettings
from takes import best

FILL = """
import gc, sys
from pathlib import Path
import numpy as np
from duelwise.storage import open_store
from duelwise.stream import StreamRegistry, StreamSettings

def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

store, allowed = open_store(sys.argv[1]), int(sys.argv[2])
registry = StreamRegistry(store, memory_bytes=allowed)
for number in range(1000):
    stream, _ = registry.create(f"s{number}", StreamSettings(context_dim=30))
    stream.ask(np.eye(30)[:4])
    if number == 250:  # kernels, caches and the allowed streams are there by then
        before = resident()
assert sum(stream.memory_bytes for stream in registry.open_streams()) <= allowed
print(resident() - before)
registry.close()
"""


@pytest.mark.long
def test_a_thousand_streams_take_no_more_memory_than_allowed(tmp_path: Path) -> None:
    url, allowed = f"sqlite:///{tmp_path}/duels.db", 10_000_000
    command = [sys.executable, "-c", FILL, url, str(allowed)]
    grown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert int(grown) < allowed
    store = open_store(url)
    registry = StreamRegistry(store, memory_bytes=allowed)

    def looking() -> float:
        start = time.monotonic()
        assert len(registry.entries()) == len(store.pending()) == 1000
        return time.monotonic() - start

    assert best(looking, below=1.0)
    assert registry.stream("s0").ask(np.eye(30)[:4]).ticket.startswith("1-")
    registry.close()
    store.close()


@pytest.mark.long
@pytest.mark.alone
def test_a_report_on_many_open_tickets_keeps_nobody_waiting(store: Store, rng: Generator) -> None:
    stream = DecisionStream.create(store, "meals", StreamSettings(context_dim=3, post_dim=1))
    offered = rng.uniform(-1, 1, (3, 3))
    for _ in range(200):
        stream.run([Ask(offered)] * 500)
    assert stream.report().pending == 100_000
    stream.wait_for_background()
    stopped = threading.Event()

    def look() -> None:
        while not stopped.is_set():
            stream.report()

    def longest(asks: int) -> float:
        waits = []
        for _ in range(asks):
            start = time.perf_counter()
            stream.ask(offered)
            waits.append(time.perf_counter() - start)
        return float(np.quantile(waits, 0.98))  # the disk has its own moods

    def excess() -> float:
        stopped.clear()
        quiet = longest(100)
        looking = threading.Thread(target=look)
        looking.start()
        busy = longest(100)
        stopped.set()
        looking.join()
        return busy - quiet

    assert best(excess, below=0.05)
    stream.close()

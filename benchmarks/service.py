"""The durable live path under load, beside what it is compared with, in turns.

    make bench-service        (python -m benchmarks.service --page docs/performance-service.md)

`wrk` with 32 connections asks and tells (10 candidates, 10 features, one pass), every answer durable, on
SQLite and PostgreSQL: one process and two, one stream and eight. In turns with it run a plain FastAPI and
SQLAlchemy service that inserts a row a request, the bare endpoint of the same server and framework, two
services that know nothing of each other (what two processes could reach at most), and, with --today PATH/src,
another version of this package. Then latency at half load by an open-loop generator, beside it that of the
bare endpoint, and how long the machine stops a loop that does nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.open_loop import Latency, latency
from benchmarks.pauses import machine_waits
from benchmarks.processes import (
    ROOT,
    asgi,
    clean_up,
    database,
    duelwise,
    idle_time,
    pgbench,
    postgresql,
    processor_time,
    request,
    running,
    wait_for_vacuums,
)
from benchmarks.timing import write_between_marks

SCRIPT = ROOT / "benchmarks" / "load" / "duels.lua"
CONNECTIONS = 32
TWICE = 2 * CONNECTIONS  # as many for each of two processes
MANY = 8 * CONNECTIONS  # nobody waits for them: what is left idle is not for lack of requests
EIGHT = 8
EIGHT_STREAMS = {  # connections, and whether each of them keeps to one stream
    "eight streams": (CONNECTIONS, False),
    f"eight streams, {TWICE} connections": (TWICE, False),
    f"eight streams, {MANY} connections": (MANY, False),
    "eight streams, each connection keeps to one": (CONNECTIONS, True),
}
BARE = "bare endpoint, same server and framework"
APART = "two services apart, each with half of the load"
DATABASES = ("SQLite", "PostgreSQL")
_SHARED, _TRANSACTIONS = "duelwise_group_operations_sum", "duelwise_group_operations_count"
WARM_TURNS = 20
CLEANING = 60  # seconds at most: PostgreSQL cleans up after the full load of other rows
SETTLING = 1.0  # seconds


@dataclass
class Row:
    """One server under load, turn by turn."""

    name: str
    port: int
    streams: int = 1
    connections: int = CONNECTIONS
    beside: int | None = None  # another server that takes half of the streams and connections
    keeps: bool = False  # each connection keeps to one stream
    rates: list[float] = field(default_factory=list[float])
    p50: list[float] = field(default_factory=list[float])
    p99: list[float] = field(default_factory=list[float])
    processor: list[float] = field(default_factory=list[float])  # microseconds of the server, a request
    busy: list[float] = field(default_factory=list[float])  # share of all cores, whoever uses them
    together: list[float] = field(default_factory=list[float])  # requests that shared a transaction
    calm: list[Latency] = field(default_factory=list[Latency])  # at half load, open loop

    @property
    def is_ours(self) -> bool:
        """Whether it is this version, which tells how it groups requests."""
        return self.name.startswith(("durable", APART)) and "--today" not in self.name

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    def cells(self) -> str:
        spread = f"{min(self.rates):.0f} to {max(self.rates):.0f}"
        shown = f"{statistics.median(self.p50):.1f} / {statistics.median(self.p99):.1f}"
        used = f"{statistics.median(self.processor):.0f}"
        busy = f"{statistics.median(self.busy):.0%}"
        calm = [
            statistics.median(one) for one in zip(*((turn.p50, turn.p99) for turn in self.calm), strict=True)
        ]
        together = f"{statistics.median(self.together):.0f}" if self.together else ""
        at_half = " / ".join(f"{milliseconds:.1f}" for milliseconds in calm)
        measured = (f"{self.rate:.0f} ({spread})", shown, used, busy, together, at_half)
        return f"| {self.name} | {' | '.join(measured)} |"

    def clear(self) -> None:
        for measured in (self.rates, self.p50, self.p99, self.processor, self.busy, self.together):
            measured.clear()


def press(row: Row, seconds: int) -> None:
    """One turn of wrk."""
    ports = [row.port] if row.beside is None else [row.port, row.beside]
    grouped = _grouped(ports) if row.is_ours else (0.0, 0.0)
    before, idle, began = sum(map(processor_time, ports)), idle_time(), time.perf_counter()
    share = {"connections": row.connections // len(ports), "streams": row.streams // len(ports)}
    with ThreadPoolExecutor(len(ports)) as pool:
        said = list(pool.map(lambda port: _wrk(port, seconds=seconds, keeps=row.keeps, **share), ports))
    unused = (idle_time() - idle) / (time.perf_counter() - began) / (os.cpu_count() or 1)
    for text in said:
        if "Non-2xx" in text:
            raise SystemExit(f"{row.name} refused requests:\n{text}")
    row.rates.append(sum(float(_found(r"Requests/sec:\s+([\d.]+)", text)) for text in said))
    answered = max(1.0, row.rates[-1] * seconds)
    row.processor.append((sum(map(processor_time, ports)) - before) / answered * 1e6)
    row.busy.append(1 - min(1.0, unused))
    row.p50.append(max(_milliseconds(_found(r"\n\s+50%\s+(\S+)", text)) for text in said))
    row.p99.append(max(_milliseconds(_found(r"\n\s+99%\s+(\S+)", text)) for text in said))
    if row.is_ours:
        requests, transactions = (now - then for now, then in zip(_grouped(ports), grouped, strict=True))
        row.together.append(requests / max(1.0, transactions))


def _grouped(ports: Sequence[int]) -> tuple[float, float]:
    """Operations so far, and the transactions that they shared."""
    told = [request(port, "/metrics").decode() for port in ports]
    sums = [sum(float(_found(rf"{name} (\S+)", text)) for text in told) for name in (_SHARED, _TRANSACTIONS)]
    return sums[0], sums[1]


def _wrk(port: int, *, connections: int, streams: int, seconds: int, keeps: bool) -> str:
    threads, told = (streams, {"BENCH_KEEPS": "1"}) if keeps else (1, {})
    done = subprocess.run(
        ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", SCRIPT,
         f"http://127.0.0.1:{port}"],
        env={**os.environ, "BENCH_STREAMS": str(streams), **told}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, text
    return found[1]


def _milliseconds(text: str) -> float:
    found = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text)
    assert found is not None, text
    return float(found[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}[found[2]]


def in_turns(rows: list[Row], *, seconds: int, repeats: int) -> None:
    for row in rows:
        for _ in range(WARM_TURNS):  # compile, open, warm up
            press(row, 2)
            if row.rates[-1] > 0:
                break
        row.clear()
    for number in range(repeats):  # there and back, so that nobody always comes after the same other one
        for row in rows if number % 2 == 0 else reversed(rows):
            press(row, seconds)


def create_streams(port: int, count: int) -> None:
    for number in range(count):
        request(port, "/v1/streams", json.dumps({"name": f"bench{number}", "context_dim": 10}).encode())


def on_database(
    name: str, stores: dict[str, str], *, clean: Callable[[], None], today: Path | None, without: str,
    seconds: int, repeats: int,
) -> tuple[list[Row], list[float]]:  # fmt: skip
    """Every row of one database, and p99 (ms) of the machine itself meanwhile.

    `stores` has a fresh one for each server, `clean` ends what load leaves.
    """
    with contextlib.ExitStack() as held:
        servers = {
            f"durable, {name}, one process": duelwise(stores["one"]),
            f"durable, {name}, two processes": duelwise(stores["two"], "--workers", "2"),
            f"plain FastAPI + SQLAlchemy, {name}": asgi(
                "benchmarks.plain_service:app", PLAIN_STORE=_driver(stores["plain"])
            ),
            BARE: asgi("benchmarks.bare_service:app"),
        }
        if name == "SQLite":
            servers["sketch, SQLite"] = asgi(
                "benchmarks.sketch_service:app", SKETCH_FILE=stores["sketch"].removeprefix("sqlite:///"),
                PYTHONPATH=f"{ROOT / 'src'}",
            )  # fmt: skip
        if today is not None:
            servers[f"durable, {name}, version of --today"] = duelwise(
                stores["today"], source=today, without=without
            )
        rows = [Row(label, held.enter_context(running(*made))) for label, made in servers.items()]
        for row in rows:
            if row.name.startswith("durable"):
                create_streams(row.port, EIGHT)
        one, two = rows[:2]
        beside = held.enter_context(running(*duelwise(stores["beside"])))
        create_streams(beside, EIGHT // 2)
        eight = [
            Row(f"{label}, {load}", port, EIGHT, connections, other, keeps)
            for load, (connections, keeps) in EIGHT_STREAMS.items()
            for label, port, other in (
                (one.name, one.port, None),
                (two.name, two.port, None),
                (f"{APART}, {name}", one.port, beside),
            )
        ]
        in_turns([*rows, *eight], seconds=seconds, repeats=repeats)
        machine = at_half_load(
            [row for row in rows if row.name.startswith(("durable", BARE))],
            one.rate / 2,
            clean=clean,
            seconds=seconds,
            repeats=repeats,
        )
        return [*rows, *eight], machine


def at_half_load(
    rows: list[Row], rate: float, *, clean: Callable[[], None], seconds: int, repeats: int
) -> list[float]:
    """In turns, each when nothing is left to write or to clean up of what came before.

    Returns p99 (ms) of the machine itself, which takes its turns too.
    """
    machine: list[float] = []
    for _ in range(repeats):
        for row in rows:
            clean()
            os.sync()
            wait_for_vacuums(CLEANING)
            time.sleep(SETTLING)
            row.calm.append(latency(row.port, rate=rate, seconds=seconds))
        machine.append(1e3 * machine_waits(seconds))
    return machine


def _driver(store: str) -> str:
    return store.replace("postgresql://", "postgresql+psycopg://")


def ratios(rows: list[Row], name: str) -> list[str]:
    """The first row against the others, turn by turn."""
    one, two, plain, bare = rows[:4]
    eight = {row.name: row for row in rows}
    pairs = [
        ("one process / plain service", one, plain),
        ("one process / bare endpoint", one, bare),
        ("two processes / one, one stream", two, one),
    ]  # fmt: skip
    for load in EIGHT_STREAMS:
        pairs.append(
            (f"two processes / one, {load}", eight[f"{two.name}, {load}"], eight[f"{one.name}, {load}"])
        )
        apart = next(row for label, row in eight.items() if label.startswith(APART) and label.endswith(load))
        pairs.append((f"{APART} / one process, {load}", apart, eight[f"{one.name}, {load}"]))
    pairs += [("one process / sketch", one, row) for row in rows if row.name.startswith("sketch")]
    pairs += [("one process / version of --today", one, row) for row in rows if "--today" in row.name]
    lines: list[str] = []
    for label, ours, theirs in pairs:
        each = [fast / slow for fast, slow in zip(ours.rates, theirs.rates, strict=True)]
        used = [slow / fast for fast, slow in zip(ours.processor, theirs.processor, strict=True)]
        lines.append(
            f"| {name}: {label} | {statistics.median(each):.2f}× ({min(each):.2f} to {max(each):.2f}) "
            f"| {statistics.median(used):.2f}× |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--today", type=Path, help="the src folder of another version, for a ratio")
    parser.add_argument("--without", default="", help="packages it shall not find: uvloop,httptools")
    parser.add_argument("--only", nargs="+", choices=DATABASES, default=DATABASES, help="which databases")
    parser.add_argument("--page", type=Path, help="a page to write the tables into, between its marks")
    given = parser.parse_args()
    settings = {
        "today": given.today, "without": given.without, "seconds": given.seconds, "repeats": given.repeats
    }  # fmt: skip
    names = ("one", "two", "beside", "plain", "today", "sketch")
    rows: list[Row] = []
    compared: list[str] = []
    machine: list[float] = []
    inserts: float | None = None
    if "SQLite" in given.only:
        with tempfile.TemporaryDirectory() as folder:
            files = {name: f"sqlite:///{folder}/{name}.db" for name in names}
            rows, machine = on_database("SQLite", files, clean=lambda: None, **settings)
        compared = ratios(rows, "SQLite")
    if "PostgreSQL" in given.only:
        with postgresql() as server:
            stores = {name: database(server, name) for name in names}
            found, waits = on_database("PostgreSQL", stores, clean=lambda: clean_up(server), **settings)
            inserts = pgbench(server, seconds=given.seconds)
        rows, compared = [*rows, *found], [*compared, *ratios(found, "PostgreSQL")]
        machine += waits
    text = table(rows, compared, machine, inserts)
    print(text)
    if given.page is not None:
        write_between_marks(given.page, "service", text)


def table(rows: list[Row], compared: list[str], machine: list[float], inserts: float | None) -> str:
    head = (
        "| 32 connections | requests/s (spread) | p50 / p99 ms | processor µs a request | cores busy "
        "| requests a transaction | open loop at half load, p50 / p99 ms |\n"
    )
    lines = [head + "|---|---|---|---|---|---|---|", *(row.cells() for row in rows)]
    if inserts is not None:
        lines.append(f"| `pgbench`, one inserted row a transaction | {inserts:.0f} | | | | | |")
    spread = f"{statistics.median(machine):.1f} ({min(machine):.1f} to {max(machine):.1f})"
    lines.append(f"| a loop on every core that does nothing else | | | | | | p99 {spread} |")
    ratio = ["", "| ratio | of rates, median (spread) | of processor time |", "|---|---|---|"]
    return "\n".join([*lines, *ratio, *compared, ""])


if __name__ == "__main__":
    main()

"""Mixed load with a fault every so often, on each database: is anything lost, or doubled?

    make studies              (python -m benchmarks.studies)
    python -m benchmarks.studies --seconds 30 --every 5

Faults in turn: the server is killed, stopped for a while, its clock jumps forty days ahead, the database is
frozen, a hostile client comes, the disk is full (on SQLite, where this program may mount one).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil

from benchmarks.processes import ROOT, SERVE, database, free_port, postgresql, request
from benchmarks.shoppers import STREAM, Shopper, account
from duelwise.stream import DecisionStream
from duelwise.stream.transfer import read_lines

SHOPPERS = 8
FAULT_SECONDS = 3.0
JUMP_SECONDS = 40 * 86_400
DISK_BYTES = 200_000_000
START_SECONDS = 300
# The server's clock, ahead by what a file says: it is read before the package is.
CLOCK = (
    "import sys, time; real = time.time; time.time = lambda: real() + float(open(sys.argv.pop(1)).read()); "
)


class Server:
    """`duelwise serve`, which can be killed and started again."""

    def __init__(self, store: str, folder: Path) -> None:
        self.store, self.port, self.clock = store, free_port(), folder / "clock"
        self.set_clock(0)
        self._flags = ["serve", "--store", store, "--port", str(self.port)]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = CLOCK.replace("sys.argv.pop(1)", repr(str(self.clock))) + SERVE
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *self._flags], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            with suppress(OSError):
                request(self.port, "/readyz")
                return
            time.sleep(0.1)
        raise SystemExit("the server did not start")

    def set_clock(self, ahead: float) -> None:
        """At once: the server must not find half of it."""
        new = self.clock.with_name("clock.new")
        new.write_text(str(ahead))
        new.replace(self.clock)

    def signal(self, what: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(what)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def killed(server: Server) -> None:
    server.kill()
    server.start()


def stopped(server: Server) -> None:
    server.signal(signal.SIGSTOP)
    time.sleep(FAULT_SECONDS)
    server.signal(signal.SIGCONT)


def clock_jumped(server: Server) -> None:
    server.set_clock(JUMP_SECONDS)
    time.sleep(FAULT_SECONDS)
    server.set_clock(0)


def database_frozen(server: Server) -> None:
    """SQLite: another process holds the lock. PostgreSQL: all of its processes are stopped."""
    if server.store.startswith("sqlite"):
        with closing(sqlite3.connect(server.store.removeprefix("sqlite:///"), timeout=5)) as other:
            with suppress(sqlite3.OperationalError):
                other.execute("BEGIN IMMEDIATE")
                time.sleep(FAULT_SECONDS)
            other.rollback()
        return
    folder = server.store.partition("host=")[2]
    ours = [
        one for one in psutil.process_iter(["cmdline"]) if f"{folder}/data" in (one.info["cmdline"] or [])
    ]
    everyone = [process for one in ours for process in (one, *one.children(recursive=True))]
    for process in everyone:
        process.suspend()
    time.sleep(FAULT_SECONDS)
    for process in everyone:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def hostile_client(server: Server) -> None:
    """Silent sockets, and bodies of many empty candidates."""
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
    body = b'{"candidates":[' + b",".join([b"{}"] * 300_000) + b"]}"
    for _ in range(4):
        with suppress(OSError):
            made = urllib.request.Request(
                f"http://127.0.0.1:{server.port}{STREAM}/ask", body, {"Content-Type": "application/json"}
            )
            urllib.request.urlopen(made, timeout=10)
    for one in silent:
        one.close()


def disk_full(server: Server) -> None:
    filler = Path(server.store.removeprefix("sqlite:///")).with_name("filler")
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1_000_000))
    with suppress(OSError), filler.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(1_000))
    time.sleep(FAULT_SECONDS)
    filler.unlink()


FAULTS: tuple[Callable[[Server], None], ...] = (
    killed, stopped, clock_jumped, database_frozen, hostile_client,
)  # fmt: skip


def study(store: str, folder: Path, *, seconds: float, every: float, full: bool) -> dict[str, object]:
    """One database: load, faults, and the account of them."""
    faults = [*FAULTS, disk_full] if full else list(FAULTS)
    server = Server(store, folder)
    server.start()
    settings = {"name": "meals", "context_dim": 3, "post_dim": 2}
    request(server.port, "/v1/streams", json.dumps(settings).encode())
    shoppers = [Shopper(number, f"http://127.0.0.1:{server.port}") for number in range(SHOPPERS)]
    done: list[str] = []
    try:
        for shopper in shoppers:
            shopper.start()
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            time.sleep(min(every, max(0.0, ends - time.monotonic())))
            fault = faults[len(done) % len(faults)]
            fault(server)
            done.append(fault.__name__)
        for shopper in shoppers:
            shopper.stop()
        lines = request(server.port, f"{STREAM}/export").decode().splitlines()
    finally:
        server.kill()
    for said in [said for shopper in shoppers for said in shopper.unexpected]:
        print(said, file=sys.stderr)
    events = [json.loads(line) for line in lines[1:-1]]
    tickets = {one["round"]: f"{one['round']}-{one['tag']}" for one in events if one["kind"] == "asked"}
    named = [one["event_id"] for one in events if one["kind"] == "asked"]
    told = [(one["kind"], tickets[one["round"]]) for one in events if one["round"] in tickets]
    with DecisionStream.open(store, "meals") as stream:
        equal = stream.snapshot_state() == read_lines(lines).fold().snapshot().payload
    counted: dict[str, object] = {"faults": len(done), **account(shoppers, told, named)}
    return counted | {"state equal to a fresh fold": "yes" if equal else "NO"}


@contextmanager
def small_disk(folder: Path) -> Generator[bool]:
    """A disk of its own that can be filled, where this program may mount one."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", folder]
    mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="on each database")
    parser.add_argument("--every", type=float, default=30.0, help="seconds between faults")
    given = parser.parse_args()
    times = {"seconds": given.seconds, "every": given.every}
    rows: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with small_disk(folder) as full:
            rows["SQLite"] = study(f"sqlite:///{folder}/duels.db", folder, full=full, **times)
    with postgresql() as place, tempfile.TemporaryDirectory() as name:
        rows["PostgreSQL"] = study(database(place, "study"), Path(name), full=False, **times)
    print("| | " + " | ".join(rows["SQLite"]) + " |")
    print("|---" * (len(rows["SQLite"]) + 1) + "|")
    for label, row in rows.items():
        print(f"| {label} | " + " | ".join(map(str, row.values())) + " |")
    bad = [row for row in rows.values() if row["lost"] or row["doubled"] or row["5xx other than 503"]]
    if bad or any(row["state equal to a fresh fold"] == "NO" for row in rows.values()):
        raise SystemExit("something was lost, doubled or at fault")


if __name__ == "__main__":
    main()

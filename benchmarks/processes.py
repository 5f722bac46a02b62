"""Servers that benchmarks start and end: the service, what it is compared with, PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

ROOT = Path(__file__).parent.parent
SERVE = "from duelwise.cli import main; main()"
START_SECONDS = 300  # the first one on a machine compiles


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def request(port: int, path: str, body: bytes | None = None) -> bytes:
    made = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", body, {"Content-Type": "application/json"} if body else {}
    )
    with urllib.request.urlopen(made, timeout=60) as answer:
        return answer.read()


def duelwise(
    store: str, *flags: str, source: Path = ROOT / "src", without: str = ""
) -> tuple[list[str], dict[str, str], int]:
    """`duelwise serve`: the command, its environment, its port. `source` may be another version.

    `without` names packages that it shall not find, separated by commas.
    """
    port = free_port()
    hidden = (
        f"import sys; sys.modules.update(dict.fromkeys({[one for one in without.split(',') if one]!r})); "
    )
    command = [sys.executable, "-c", hidden + SERVE, "serve", "--store", store, "--port", str(port), *flags]
    return command, {"PYTHONPATH": str(source)}, port


def asgi(app: str, **environment: str) -> tuple[list[str], dict[str, str], int]:
    """An application of the benchmarks on the server of the service."""
    port = free_port()
    command = [
        *(sys.executable, "-m", "uvicorn", app, "--port", str(port), "--log-level", "warning"),
        *("--no-access-log", "--loop", "uvloop", "--http", "httptools"),
    ]
    return command, environment, port


def processor_time(port: int) -> float:
    """Seconds that the server at this port and its processes have used."""
    used = 0.0
    for process in psutil.process_iter(["cmdline"]):
        with contextlib.suppress(psutil.Error):
            if str(port) in (process.info["cmdline"] or []):
                for one in (process, *process.children(recursive=True)):
                    times = one.cpu_times()
                    used += times.user + times.system
    return used


def wait_for_vacuums(seconds: float) -> None:
    """Until no PostgreSQL server of this machine vacuums a table by itself, at most so long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        names = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
        if not any("autovacuum worker" in word for words in names for word in words):
            return
        time.sleep(0.2)


def idle_time() -> float:
    """Seconds that the machine's cores have been idle, together."""
    times = psutil.cpu_times()
    return times.idle + getattr(times, "iowait", 0.0)


@contextmanager
def running(command: Sequence[str], environment: dict[str, str], port: int) -> Generator[int]:
    """The port of a server, from when it answers until the end of the block."""
    server = subprocess.Popen(
        command, env={**os.environ, "OMP_NUM_THREADS": "1", **environment}, cwd=ROOT,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        _wait_for(server, port)
        yield port
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def _wait_for(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise SystemExit(f"{server.args} ended by itself")
        try:
            request(port, "/readyz")
            return
        except urllib.error.HTTPError as refusal:
            if refusal.code == 404:  # it knows no such question, so it is there
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise SystemExit(f"{server.args} did not start")


@contextmanager
def postgresql() -> Generator[str]:
    """The folder of a fresh server's socket; its data is thrown away."""
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    folder = Path(tempfile.mkdtemp(prefix="duelwise-bench-"))
    user = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
    if user is not None:
        shutil.chown(folder, user)
    make = [binaries / "initdb", "-D", folder / "data", "-U", "postgres", "--auth=trust", "--encoding=UTF8"]
    subprocess.run(make, user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen(
        [binaries / "postgres", "-D", folder / "data", "-k", folder, "-c", "listen_addresses="],
        user=user, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while subprocess.run([binaries / "pg_isready", "-q", "-h", folder]).returncode:
            time.sleep(0.1)
        yield str(folder)
    finally:
        server.send_signal(signal.SIGQUIT)
        server.wait(60)
        shutil.rmtree(folder)


def database(folder: str, name: str) -> str:
    """The address of a fresh database."""
    subprocess.run(["createdb", "-h", folder, "-U", "postgres", name], check=True)
    return f"postgresql://postgres@/{name}?host={folder}"


def clean_up(folder: str) -> None:
    """Vacuum and write out now what PostgreSQL would clean up by itself some time after a full load."""
    at = ["-h", folder, "-U", "postgres"]
    subprocess.run(["vacuumdb", *at, "--all", "--quiet"], check=True)
    subprocess.run(["psql", *at, "-q", "-c", "CHECKPOINT"], check=True)


INSERTS = "INSERT INTO rows (content) VALUES (repeat('x', 300));\n"


def pgbench(folder: str, *, seconds: int, clients: int = 32) -> float:
    """Durable inserts of one row a second, by PostgreSQL's own program."""
    subprocess.run(
        ["psql", "-q", "-h", folder, "-U", "postgres", "-c",
         "CREATE TABLE IF NOT EXISTS rows (id bigserial PRIMARY KEY, content text)"],
        check=True,
    )  # fmt: skip
    script = Path(folder) / "insert.sql"
    script.write_text(INSERTS)
    program = sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))[-1]
    done = subprocess.run(
        [program, "-n", "-h", folder, "-U", "postgres", "-c", str(clients), "-T", str(seconds),
         "-f", script, "postgres"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    found = re.search(r"tps = ([\d.]+)", done.stdout)
    assert found is not None, done.stdout
    return float(found[1])

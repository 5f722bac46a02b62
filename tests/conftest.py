"""Fixtures for every part: a real PostgreSQL server in a temporary folder, and a browser."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_numbers = count()

CHROMIUM = Path("/usr/bin/chromium")


def _binaries() -> Path:
    """Debian keeps one folder per version; the newest serves."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    if os.environ.get("CI") == "true":
        pytest.fail("PostgreSQL is not installed: apt-get install postgresql")
    pytest.skip("PostgreSQL is not installed")


@pytest.fixture(autouse=True)
def nothing_is_compiled_ahead(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service in this process answers a handful of requests: what they need is read, or compiled then."""
    if "warms" not in request.keywords:
        monkeypatch.setattr("duelwise.stream.warming.warm", lambda settings: None)
        monkeypatch.setattr("duelwise.stream.warming._known", set[str]())


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The folder with the socket of a server that lives as long as the session."""
    binaries = _binaries()
    folder = Path(tempfile.mkdtemp(prefix="duelwise-postgresql-"))
    user = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
    if user is not None:
        shutil.chown(folder, user)
    data = folder / "data"
    subprocess.run(
        [binaries / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"],
        user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [binaries / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="],
            user=user, cwd=folder, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        _wait_until_ready(binaries, folder, server)
        yield str(folder)
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: the data is thrown away
        server.wait(60)
        shutil.rmtree(folder)


def _wait_until_ready(binaries: Path, folder: Path, server: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        ready = subprocess.run([binaries / "pg_isready", "-q", "-h", folder])
        if ready.returncode == 0:
            return
        if server.poll() is not None:
            break
        time.sleep(0.1)
    pytest.fail(f"PostgreSQL did not start:\n{(folder / 'log').read_text()}")


@pytest.fixture
def postgresql_url(postgresql_server: str) -> str:
    """A fresh, empty database."""
    import psycopg

    name = f"duels_{next(_numbers)}"
    with psycopg.connect(f"host={postgresql_server} user=postgres dbname=postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
    return f"postgresql://postgres@/{name}?host={postgresql_server}"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Debian's browser, without a screen. While it is open, so is its event loop: no other may run then."""
    if not CHROMIUM.exists():
        if os.environ.get("CI") == "true":
            pytest.fail("Chromium is not installed: apt-get install chromium")
        pytest.skip("Chromium is not installed")
    from playwright.sync_api import sync_playwright

    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield running
        running.close()

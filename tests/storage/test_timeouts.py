"""Nobody waits for ever: for a lock, for a statement, for a server that is frozen or gone."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from duelwise.errors import StorageFailure
from duelwise.storage import Store, database, open_store

HOLD = """
import sys
from duelwise.storage import open_store
store = open_store(sys.argv[1])
with store.writing(1) as writer:
    writer.append("note", b"held", at=0.0)
    writer.flush()
    print("held", flush=True)
    sys.stdin.readline()
print("done", flush=True)
"""


@contextmanager
def _holder(url: str) -> Iterator[subprocess.Popen[str]]:
    """A process that stops amid a transaction, with the stream's lock."""
    command = [sys.executable, "-c", HOLD, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            holder.send_signal(signal.SIGSTOP)
            yield holder
        finally:
            holder.kill()


def _append(store: Store) -> int:
    with store.writing(1) as writer:
        return writer.append("note", b"x", at=0.0)


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


def _opened(url: str) -> Store:
    store = open_store(url)
    store.create_stream(name="meals", uid="u", settings="{}", at=0.0)
    return store


def test_a_stopped_process_with_the_lock_is_an_error_in_words_on_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pragmas = tuple(p.replace("5000", "300") for p in database._SQLITE_PRAGMAS)
    assert "PRAGMA busy_timeout = 300" in pragmas
    monkeypatch.setattr(database, "_SQLITE_PRAGMAS", pragmas)
    store = _opened(f"sqlite:///{tmp_path}/duels.db")
    with _holder(f"sqlite:///{tmp_path}/duels.db"):
        with (
            _within(20),
            pytest.raises(StorageFailure, match=r"Another process holds the lock.*send it again"),
        ):
            _append(store)
        assert store.current(1).head == 0  # looking is no problem
    assert _append(store) == 1  # when it is gone its transaction is, too
    store.close()


@pytest.mark.long
@pytest.mark.alone
def test_a_stopped_process_loses_the_lock_on_postgresql(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_SECONDS", 1.0)
    store = _opened(postgresql_url)
    with _holder(postgresql_url) as holder:
        with _within(12), pytest.raises(StorageFailure, match=r"Another process holds the lock"):
            _append(store)
        deadline = time.monotonic() + database.IDLE_SECONDS + 45
        acknowledged, why = None, ""
        while acknowledged is None:
            assert time.monotonic() < deadline, why
            try:
                acknowledged = _append(store)
            except StorageFailure as failure:
                why = str(failure)
        assert acknowledged == 1
        holder.send_signal(signal.SIGCONT)
        output, _ = holder.communicate("\n", timeout=30)
        assert "done" not in output  # its transaction was ended, and it is told so
        assert holder.returncode != 0
    assert store.current(1).head == 1
    assert [event.payload for event in store.events(1, after=0, upto=1)] == [b"x"]
    store.close()


@pytest.mark.long
@pytest.mark.parametrize(("name", "keeps"), [("anything", False), (database.UNHURRIED, True)])
def test_who_waits_ends_a_session_that_does_nothing(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch, name: str, keeps: bool
) -> None:
    import psycopg

    monkeypatch.setattr(database, "LOCK_SECONDS", 0.3)
    monkeypatch.setattr(database, "IDLE_SECONDS", 60.0)  # the server's own time-out does not come in time
    store = _opened(postgresql_url)
    monkeypatch.setattr(database, "IDLE_SECONDS", 0.5)
    with closing(psycopg.connect(postgresql_url, application_name=name)) as holder:
        holder.execute("SELECT id FROM streams WHERE id = 1 FOR UPDATE")
        time.sleep(0.6)
        with pytest.raises(StorageFailure, match="Another process holds the lock"):
            _append(store)
        if keeps:
            with pytest.raises(StorageFailure, match="Another process holds the lock"):
                _append(store)
            holder.rollback()
        assert _append(store) == 1
    store.close()


@pytest.mark.long
@pytest.mark.alone
def test_a_statement_that_takes_too_long_is_ended(postgresql_url: str) -> None:
    store = open_store(postgresql_url, statement_seconds=0.5)
    with (
        _within(15),
        pytest.raises(StorageFailure, match="statement timeout"),
        store._reading() as connection,
    ):
        connection.exec_driver_sql("SELECT pg_sleep(20)")
    with store._reading() as connection:  # a repair or a migration may take longer
        database.unhurried(connection)
        connection.exec_driver_sql("SELECT pg_sleep(1)")
    with _within(15), pytest.raises(StorageFailure), store._reading() as connection:
        connection.exec_driver_sql("SELECT pg_sleep(20)")
    store.close()


@pytest.mark.long
@pytest.mark.alone
def test_a_frozen_server_is_an_error_and_comes_back(
    postgresql_url: str, postgresql_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(database, "CONNECT_SECONDS", 2)
    store = open_store(postgresql_url, statement_seconds=1.0)
    store.create_stream(name="meals", uid="u", settings="{}", at=0.0)
    assert _append(store) == 1
    postmaster = int((Path(postgresql_server) / "data" / "postmaster.pid").read_text().split()[0])
    everybody = [postmaster, *_children(postmaster)]
    for process in everybody:
        os.kill(process, signal.SIGSTOP)
    try:
        for _ in range(2):
            with _within(25), pytest.raises(StorageFailure):
                _append(store)
    finally:
        for process in everybody:
            os.kill(process, signal.SIGCONT)
    assert _append(store) in (2, 3, 4)  # what was not acknowledged may be recorded
    store.close()


def _children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "CONNECT_SECONDS", 2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        with _within(8), pytest.raises(StorageFailure, match="could not be opened"):
            open_store(f"postgresql://postgres@127.0.0.1:{port}/duels")

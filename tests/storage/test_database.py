"""Opening, migrating and failing databases."""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import event

from duelwise.errors import InvalidInput, StorageFailure, UnknownName
from duelwise.storage import Store, open_store, writer
from duelwise.storage.compiled_statements import CompiledStatement
from duelwise.storage.database import open_engine, write_ahead
from duelwise.storage.schema import metadata
from full_disk import Disk


def test_migrations_lead_to_the_schema(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/duels.db")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


@pytest.mark.parametrize("query", [writer._OVERDUE, writer._VOTED], ids=["overdue", "without context"])
def test_tickets_that_waited_too_long_are_found_by_their_index(
    query: CompiledStatement, tmp_path: Path
) -> None:
    """Every process looks once a minute, on its event loop: not at every ticket that there ever was."""
    with closing(open_store(f"sqlite:///{tmp_path}/duels.db")) as store:
        sender = store.sqlite_connection()
        plan = sender.send("EXPLAIN QUERY PLAN " + query._text(sender), (1, 2.0, 0.0, -1, 3)).fetchall()
        assert plan[0][3] == (
            "SEARCH tickets USING INDEX tickets_open (stream_id=? AND (asked_at,round)>(?,?) AND asked_at<?)"
        )


def with_a_long_log(store: Store) -> list[str]:
    """How the database looks for five events among some 5,000 votes, once they were found."""
    stream, _ = store.create_stream(name="meals", uid="one", settings="{}", at=1.0)
    for _ in range(5):
        with store.writing(stream.id) as opened:
            opened.append("ranged", b"", at=1.0)
            for _ in range(999):
                opened.append("told", b"", at=1.0)
    asked: list[tuple[str, Any]] = []
    event.listen(store._engine, "before_cursor_execute", lambda *args: asked.append(args[2:4]))
    found = store.events_of(stream.id, ("ranged", "rebuilt"), upto=3000)
    assert [one.seq for one in found] == [1, 1001, 2001]
    assert len(store.events_of(stream.id, ("told",), upto=3000)) == 2997
    sqlite = store._engine.dialect.name == "sqlite"
    with store._engine.connect() as connection:
        if not sqlite:
            connection.exec_driver_sql("ANALYZE events")
        (statement, values), *_ = [each for each in asked if "FROM events" in each[0]]
        explain = "EXPLAIN QUERY PLAN " if sqlite else "EXPLAIN "
        return [str(row[-1]) for row in connection.exec_driver_sql(explain + statement, values)]


def test_uncommon_events_are_found_by_their_index(tmp_path: Path) -> None:
    """A stream that starts from a snapshot asks for its items: not in a walk over all of its log."""
    with closing(open_store(f"sqlite:///{tmp_path}/duels.db")) as store:
        found, *_ = with_a_long_log(store)
        assert found == "SEARCH events USING INDEX uncommon_events (stream_id=? AND kind=? AND seq<?)"


@pytest.mark.long
def test_uncommon_events_are_found_by_their_index_on_postgresql(postgresql_url: str) -> None:
    with closing(open_store(postgresql_url)) as store:
        assert "uncommon_events" in " ".join(with_a_long_log(store))


@pytest.mark.long
def test_migrations_lead_to_the_schema_on_postgresql(postgresql_url: str) -> None:
    engine = open_engine(postgresql_url)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


def test_a_commit_is_durable_before_it_is_acknowledged(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/duels.db")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
    engine.dispose()


def test_processes_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    code = f"from duelwise.storage import open_store; open_store('sqlite:///{tmp_path}/duels.db').streams()"
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]


def test_a_store_of_a_later_version_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/duels.db"
    engine = open_engine(url)
    with engine.connect() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    engine.dispose()
    with pytest.raises(StorageFailure, match="schema 9999"):
        open_store(url)


@pytest.mark.parametrize(
    ("url", "kind", "says"),
    [
        ("duels.db", InvalidInput, "expected sqlite:///"),
        ("sqlite://", InvalidInput, "in memory"),
        ("sqlite:////no/such/folder/duels.db", InvalidInput, "does not exist"),
        ("postgres://here/duels", UnknownName, "Did you mean 'postgresql'"),
        ("postgresql://postgres@/duels?host=/no/such/socket", StorageFailure, "could not be opened"),
    ],
)
def test_a_wrong_address_says_what_to_do(url: str, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        open_store(url)


def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    disk = Disk(f"sqlite:///{tmp_path}/duels.db")
    store = Store(disk.engine)
    stream, _ = store.create_stream(name="meals", uid="one", settings="{}", at=0.0)
    disk.leave(5)
    acknowledged = 0

    def fill() -> None:
        nonlocal acknowledged
        while acknowledged < 100:
            with store.writing(stream.id) as writer:
                seq = writer.append("note", b"x" * 900, at=0.0)
            acknowledged = seq

    with pytest.raises(StorageFailure, match="disk is full"):
        fill()
    assert 0 < acknowledged == store.current(stream.id).head
    assert len(list(store.events(stream.id, after=0, upto=acknowledged))) == acknowledged
    disk.clear()
    with store.writing(stream.id) as writer:
        assert writer.append("note", b"again", at=0.0) == acknowledged + 1
    store.close()


def test_many_may_begin_a_store_in_the_same_moment(tmp_path: Path) -> None:
    """SQLite refuses some of them at once, however long they would wait: about one in two hundred."""
    together = Barrier(8)

    def refusal(number: int) -> str | None:
        together.wait()
        with closing(sqlite3.connect(tmp_path / f"{number}.db")) as connection:
            try:
                write_ahead(connection)
            except sqlite3.OperationalError as error:
                return str(error)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(refusal, [number for number in range(200) for _ in range(8)])) == {None}

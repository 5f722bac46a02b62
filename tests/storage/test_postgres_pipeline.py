"""Statements whose answers come later: as they were sent, in order, all or nothing, and never for ever."""

import select
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from duelwise.storage import Store, open_store
from duelwise.storage.postgres_arrays import by_columns, written
from duelwise.storage.postgres_pipeline import PostgresPipeline
from duelwise.storage.reading import NAMED_EVENTS, TICKETS
from duelwise.storage.writer import MOVE_ON

pytestmark = pytest.mark.long


@pytest.fixture
def store(postgresql_url: str) -> Iterator[Store]:
    opened = open_store(postgresql_url)
    opened.create_stream(name="meals", uid="u", settings="{}", at=0.0)
    opened.open_pipeline()
    yield opened
    opened.close()


@pytest.fixture
def pipeline(store: Store) -> PostgresPipeline:
    assert store._pipeline is not None
    return store._pipeline


def _received(pipeline: PostgresPipeline) -> None:
    """As an event loop does it."""
    pipeline.post()
    while not pipeline.receive():
        select.select([pipeline], [pipeline] if pipeline.is_unsent else [], [], 10)


VALUES = [None, True, False, 0, -1, 2**62, 0.1 + 0.2, -0.0, 5e-324, 1e308, float("inf"), "", "a\\b\"c'ü 🍜",
          b"", b"\x00\xff\\x41"]  # fmt: skip
TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE PRECISION", str: "VARCHAR", bytes: "BYTEA"}


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back_as_it_was(pipeline: PostgresPipeline, value: object) -> None:
    reply = pipeline.send(f"SELECT $1::{TYPES.get(type(value), 'VARCHAR')}", (value,))
    _received(pipeline)
    assert repr(reply.fetchall()) == repr([(value,)])


def test_a_text_with_a_zero_byte_is_refused_and_not_cut(pipeline: PostgresPipeline) -> None:
    pipeline.send("SELECT $1::VARCHAR", ("ends\x00here",))
    with pytest.raises(DBAPIError, match="invalid byte sequence"):
        _received(pipeline)
    assert pipeline.begin()


COLUMNS: list[tuple[sa.types.TypeEngine[Any], str, list[object]]] = [
    (sa.Integer(), "INTEGER", [1, -(2**31), None]),
    (sa.BigInteger(), "BIGINT", [2**62, None, -5]),
    (sa.Double(), "DOUBLE PRECISION", [0.1 + 0.2, -0.0, 5e-324, float("inf")]),
    (sa.Boolean(), "BOOLEAN", [True, None, False]),
    (sa.String(), "VARCHAR", ["a,b", 'c"d\\', "{}", "", "NULL", "ü 🍜", None]),
    (sa.Text(), "TEXT", ["[1, 2]", None]),
    (sa.LargeBinary(), "BYTEA", [b"", b"\x00\xff\\x41", None]),
    (sa.BigInteger(), "BIGINT", [None, None]),
]


@pytest.mark.parametrize(("kind", "name", "given"), COLUMNS, ids=repr)
def test_a_column_comes_back_as_it_was(
    pipeline: PostgresPipeline, kind: sa.types.TypeEngine[Any], name: str, given: list[object]
) -> None:
    known = [value for value in given if value is not None]
    for values in (given, known, given[:1], known * 300):
        reply = pipeline.send(f"SELECT unnest($1::{name}[])", (written(kind, values),))
        _received(pipeline)
        assert repr([row[0] for row in reply.fetchall()]) == repr(values)


def test_a_column_with_a_zero_byte_in_a_text_is_refused(pipeline: PostgresPipeline) -> None:
    pipeline.send("SELECT unnest($1::VARCHAR[])", (written(sa.String(), ["ends\x00here"]),))
    with pytest.raises(DBAPIError, match="invalid byte sequence"):
        _received(pipeline)
    assert pipeline.begin()


def test_streams_that_move_on_together_are_found_one_by_one(pipeline: PostgresPipeline) -> None:
    text, rows = MOVE_ON._all._text(pipeline), [(0, 0, None, 1, 1, id) for id in range(1, 2000)]
    plan = pipeline.send(f"EXPLAIN {text}", by_columns(MOVE_ON._kinds, rows))
    _received(pipeline)
    told = "\n".join(str(line) for (line,) in plan.fetchall())
    assert "Index Scan using streams_pkey" in told, told
    assert "Index Cond" in told, told
    assert "Join" not in told, told  # neither of which reads the whole table


def test_answers_come_in_order_and_texts_are_prepared_once(pipeline: PostgresPipeline) -> None:
    for start in (0, 100):
        replies = [pipeline.send("SELECT $1::BIGINT", (start + number,)) for number in range(20)]
        _received(pipeline)
        assert [reply.fetchall() for reply in replies] == [[(start + number,)] for number in range(20)]
    count = pipeline.send("SELECT count(*) FROM pg_prepared_statements")
    _received(pipeline)
    assert count.fetchall() == [(2,)]


def test_who_cannot_do_without_an_answer_waits_for_it(pipeline: PostgresPipeline) -> None:
    first = pipeline.send("SELECT 1")
    assert pipeline.send("SELECT pg_sleep(0.2), 2").fetchall()[0][1] == 2
    assert first.fetchall() == [(1,)]


def test_after_an_error_nothing_is_done_until_the_next_post(store: Store, pipeline: PostgresPipeline) -> None:
    pipeline.send("BEGIN")
    taken = pipeline.send("SELECT name FROM streams WHERE id = $1::INTEGER", (1,))
    insert = (
        "INSERT INTO streams (name, uid, settings, created_at, head, rounds, generation) "
        "VALUES ($1, 'u', '{}', 0, 0, 0, 0)"
    )
    pipeline.send(insert, ("meals",))
    never = pipeline.send("SELECT 42")  # its text was to be prepared, and is not
    pipeline.send("COMMIT")
    with pytest.raises(IntegrityError):
        _received(pipeline)
    assert taken.fetchall() == [("meals",)]
    assert never.rows is None
    pipeline.roll_back()
    deadline = time.monotonic() + 10
    while not pipeline.begin():
        assert time.monotonic() < deadline
    again = pipeline.send("SELECT 42")
    pipeline.send(insert, ("rides",))
    pipeline.send("COMMIT")
    _received(pipeline)
    assert again.fetchall() == [(42,)]
    assert "rides" in store


def test_more_than_the_socket_takes_is_sent_when_it_can_be(pipeline: PostgresPipeline) -> None:
    large = bytes(range(256)) * 40_000
    replies = [pipeline.send("SELECT $1::BYTEA", (large,)) for _ in range(3)]
    assert pipeline.is_unsent
    _received(pipeline)
    assert all(reply.fetchall() == [(large,)] for reply in replies)
    assert not pipeline.is_unsent


def _ended(url: str) -> None:
    with closing(psycopg.connect(url, autocommit=True)) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_lost_connection_is_an_error_and_is_made_anew(
    store: Store, pipeline: PostgresPipeline, postgresql_url: str
) -> None:
    _ended(postgresql_url)
    with pytest.raises(OperationalError):
        pipeline.send("SELECT 1").fetchall()
    assert pipeline.is_lost
    assert store.begin_pipeline() is None
    store.open_pipeline()
    begun = store.begin_pipeline()
    assert begun is not None
    assert begun.send("SELECT 1").fetchall() == [(1,)]


def test_one_transaction_at_a_time(store: Store) -> None:
    begun = store.begin_pipeline()
    assert begun is not None
    assert store.begin_pipeline() is None
    begun.send("COMMIT")
    _received(begun)
    assert store.begin_pipeline() is None  # it is not released
    begun.release()
    assert store.begin_pipeline() is begun
    begun.roll_back()


def test_a_server_that_does_not_answer_is_given_up(pipeline: PostgresPipeline) -> None:
    pipeline.patience = 0.2
    began = time.monotonic()
    with pytest.raises(OperationalError, match=r"did not answer within 0.2 seconds"):
        pipeline.send("SELECT pg_sleep(5)").fetchall()
    assert time.monotonic() - began < 4
    assert pipeline.is_lost


def test_a_lookup_by_keys_stays_in_the_index_though_the_tables_were_empty(store: Store) -> None:
    keys = {"BIGINT": ("{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20}", TICKETS),
            "VARCHAR": ("{a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t}", NAMED_EVENTS)}  # fmt: skip
    with store._engine.connect() as connection:
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_generic_plan")
        for number, (kind, (values, query)) in enumerate(keys.items()):
            text = query._in_postgresql._text(connection)
            connection.exec_driver_sql(f"PREPARE look{number} ({kind}[], INTEGER) AS {text}")
            plan = connection.execute(sa.text(f"EXPLAIN EXECUTE look{number} ('{values}', 1)"))
            assert "each.key" in str([row[0] for row in plan if "Index Cond" in row[0]])


def test_a_transaction_of_a_lost_connection_is_rolled_back_without_a_word(
    store: Store, pipeline: PostgresPipeline, postgresql_url: str
) -> None:
    assert store.begin_pipeline() is pipeline
    _ended(postgresql_url)
    for _ in range(3):  # the socket may take something before it is known to be closed
        pipeline.roll_back()
        assert not pipeline.is_unsent
        time.sleep(0.05)
    with pytest.raises(OperationalError):
        pipeline.wait()

"""On PostgreSQL the event loop waits for the server itself; threads wait for whoever holds a lock."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import numpy as np
import psycopg
import pytest

from duelwise.errors import DuelwiseError
from duelwise.service import postgres_writer
from duelwise.service.group_writer import Outcomes, StreamQueue
from duelwise.service.postgres_writer import PostgresWriter
from duelwise.storage import Store, open_store
from duelwise.stream import Ask, Decision, DecisionStream, StreamSettings

pytestmark = pytest.mark.long

SETTINGS = StreamSettings(context_dim=2)
OFFER = [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]
Test = Callable[[PostgresWriter, list[StreamQueue]], Coroutine[Any, Any, None]]


@pytest.fixture
def store(postgresql_url: str) -> Iterator[Store]:
    opened = open_store(postgresql_url)
    yield opened
    opened.close()


def run(store: Store, test: Test, sizes: list[int] | None = None) -> None:
    """The test on an event loop, with the queues of two streams that were in use a moment ago."""
    streams = [DecisionStream.create(store, name, SETTINGS) for name in ("meals", "rides")]
    for stream in streams:
        stream.ask(np.array(OFFER))

    async def main() -> None:
        with ThreadPoolExecutor(4) as pool:
            writer = PostgresWriter(store, pool, (sizes if sizes is not None else list[int]()).append)
            store.open_pipeline()
            await asyncio.wait_for(
                test(writer, [StreamQueue(each, writer, limit=999) for each in streams]), 60
            )
            writer.close()

    asyncio.run(main())
    for stream in streams:
        stream.close()


def by_threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The streams whose groups were left to threads, from now on."""
    seen: list[str] = []
    plain = postgres_writer.committed

    def noted(group: postgres_writer.Group) -> Outcomes | Exception:
        seen.append(group.queue.stream.name)
        return plain(group)

    monkeypatch.setattr(postgres_writer, "committed", noted)
    return seen


def are_duels(outcomes: list[Outcomes]) -> bool:
    return all(isinstance(one, Decision) for each in outcomes for one in each)


def test_streams_share_transactions_and_need_no_thread(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, sizes = by_threads(monkeypatch), list[int]()

    async def test(writer: PostgresWriter, queues: list[StreamQueue]) -> None:
        for _ in range(3):
            answers = await asyncio.gather(*(queue.perform([Ask(OFFER)] * 2) for queue in queues * 4))
            assert are_duels(answers)
        assert all(queue.waiting == 0 for queue in queues)

    run(store, test, sizes)
    assert seen == []
    assert sizes == [16, 16, 16]
    assert [row.rounds for row in store.streams()] == [25, 25]


def test_more_than_one_transaction_takes_comes_in_order(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duelwise.service.group_writer.MOST_AT_ONCE", 3)

    async def test(writer: PostgresWriter, queues: list[StreamQueue]) -> None:
        queue, _ = queues
        answers = await asyncio.gather(*(queue.perform([Ask(OFFER)]) for _ in range(10)))
        rounds = [
            int(one.ticket.split("-")[0]) for each in answers for one in each if isinstance(one, Decision)
        ]
        assert rounds == list(range(1, 11))

    run(store, test)


def test_who_waits_for_a_lock_keeps_nobody_waiting(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = by_threads(monkeypatch)

    async def test(writer: PostgresWriter, queues: list[StreamQueue]) -> None:
        held, free = queues
        with store.writing(held.stream.replica.row.id):
            stuck = [asyncio.ensure_future(held.perform([Ask(OFFER)])) for _ in range(2)]
            await asyncio.sleep(0.1)
            stuck += [asyncio.ensure_future(held.perform([Ask(OFFER)])) for _ in range(3)]
            for _ in range(5):
                began = time.monotonic()
                assert are_duels([await free.perform([Ask(OFFER)])])
                assert time.monotonic() - began < 2
            assert not any(one.done() for one in stuck)
        assert are_duels(await asyncio.gather(*stuck))
        assert set(seen) == {"meals"}
        seen.clear()
        assert are_duels(await asyncio.gather(*(queue.perform([Ask(OFFER)]) for queue in queues)))
        assert seen == []  # all is as before

    run(store, test)
    assert [row.rounds for row in store.streams()] == [7, 7]


def test_a_lost_connection_is_made_anew(
    store: Store, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = by_threads(monkeypatch)

    async def test(writer: PostgresWriter, queues: list[StreamQueue]) -> None:
        queue, _ = queues
        assert are_duels([await queue.perform([Ask(OFFER)])])
        with closing(psycopg.connect(postgresql_url, autocommit=True)) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await asyncio.sleep(1.1)  # the pool's own connections are looked at again
        assert are_duels([await queue.perform([Ask(OFFER)])])
        assert seen == ["meals"]
        deadline = time.monotonic() + 20
        while seen:
            seen.clear()
            assert time.monotonic() < deadline
            assert are_duels([await queue.perform([Ask(OFFER)])])

    run(store, test)


def test_a_server_that_is_silent_amid_a_commit_is_an_error_and_nothing_is_learned_of_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(writer: PostgresWriter, queues: list[StreamQueue]) -> None:
        queue, other = queues
        pipeline = store._pipeline
        assert pipeline is not None
        pipeline.patience = 0.5
        send = pipeline.send

        def slow(text: str, values: tuple[object, ...] = ()) -> object:
            if text == "COMMIT":
                send("SELECT pg_sleep(3)")
            return send(text, values)

        monkeypatch.setattr(pipeline, "send", slow)
        (said,) = await asyncio.gather(queue.perform([Ask(OFFER)]), return_exceptions=True)
        assert isinstance(said, DuelwiseError)
        assert "did not answer within 0.5 seconds" in str(said)
        assert are_duels([await other.perform([Ask(OFFER)])])
        await asyncio.sleep(3)
        assert are_duels([await queue.perform([Ask(OFFER)])])
        with queue.stream.replica.lock:
            assert queue.stream.replica.folded.seq == store.current(queue.stream.replica.row.id).head

    run(store, test)

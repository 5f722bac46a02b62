"""The streams of a process: one that is slow or broken concerns no other, and idle ones leave the memory."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from living import SETTINGS, Clock, candidates, live, vote
from numpy.random import Generator

from duelwise.errors import Folding, StorageFailure, TooLarge, UnknownStream
from duelwise.storage import Store
from duelwise.stream import DecisionStream, StreamRegistry, StreamSettings, folding
from known import known


@pytest.fixture
def registry(store: Store, clock: Clock) -> Iterator[StreamRegistry]:
    made = StreamRegistry(store, clock=clock, patience_seconds=60.0)  # whatever else the machine does
    yield made
    made.close()


def _execute(store: Store, statement: str, **values: object) -> None:
    with store._changing() as connection:
        connection.execute(sa.text(statement), values)


def test_streams_are_made_once_and_opened_when_needed(registry: StreamRegistry, rng: Generator) -> None:
    stream, new = registry.create("meals", SETTINGS)
    assert new
    vote(stream, rng)
    assert registry.create("meals", SETTINGS) == (stream, False)
    assert registry.stream("meals") is stream is registry.ready("meals")
    assert registry.ready("rides") is None
    with pytest.raises(UnknownStream):
        registry.stream("rides")
    assert [(entry.row.name, entry.state) for entry in registry.entries()] == [("meals", "open")]


def test_a_stream_that_is_folded_again_says_so_and_the_others_serve(
    registry: StreamRegistry, store: Store, clock: Clock, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("long", "short"):
        with DecisionStream.create(store, name, SETTINGS, clock=clock) as stream:
            live(stream, rng, 60)
            state = stream.snapshot_state()
    _execute(store, "UPDATE snapshots SET format = 1 WHERE stream_id = 1")
    go_on, fold = threading.Event(), folding.fold

    def slowly(*arguments: Any, **named: Any) -> folding.StreamState:
        assert go_on.wait(20)
        return fold(*arguments, **named)

    monkeypatch.setattr(folding, "fold", slowly)
    registry._patience = 0.05
    with pytest.raises(Folding, match="other streams are not concerned") as folded:
        registry.stream("long")
    assert 0 <= folded.value.done <= 1
    assert registry.ready("long") is None
    assert registry.stream("short").snapshot_state() == state
    states = {entry.row.name: (entry.state, entry.reason) for entry in registry.entries()}
    assert states["short"] == ("open", None)
    assert states["long"][0] == "folding"
    go_on.set()
    registry._held["long"].opening.result(20)
    assert vote(registry.stream("long"), rng)


def test_a_broken_stream_is_an_entry_with_its_reason(
    registry: StreamRegistry, store: Store, clock: Clock, rng: Generator
) -> None:
    for name in ("good", "bad", "torn"):
        with DecisionStream.create(store, name, SETTINGS, clock=clock) as stream:
            vote(stream, rng)
    _execute(store, "UPDATE streams SET settings = :text WHERE name = 'bad'", text='{"context_dim": "many"}')
    _execute(store, "UPDATE events SET payload = :bytes WHERE stream_id = 3 AND seq = 2", bytes=b"rubbish")
    with pytest.raises(ValueError, match="context_dim is 'many'"):
        registry.stream("bad")
    assert "Event 2" in known(registry.stream("torn").read_only)
    vote(registry.stream("good"), rng)
    entries = {entry.row.name: entry for entry in registry.entries()}
    assert (entries["bad"].state, entries["good"].state, entries["torn"].state) == ("broken", "open", "open")
    assert "context_dim" in known(entries["bad"].reason)
    assert "Event 2" in known(entries["torn"].reason)


def test_a_stream_that_could_not_be_opened_is_tried_again(
    registry: StreamRegistry, store: Store, clock: Clock, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    DecisionStream.create(store, "meals", SETTINGS, clock=clock).close()
    monkeypatch.setattr("duelwise.stream.registry.RETRY_SECONDS", 0.0)
    monkeypatch.setattr(store, "snapshot", lambda *_, **__: (_ for _ in ()).throw(StorageFailure("no")))
    with pytest.raises(StorageFailure):
        registry.stream("meals")
    monkeypatch.undo()
    monkeypatch.setattr("duelwise.stream.registry.RETRY_SECONDS", 0.0)
    vote(registry.stream("meals"), rng)


def test_idle_streams_leave_the_memory_and_come_back(store: Store, clock: Clock, rng: Generator) -> None:
    made = StreamSettings(context_dim=40)
    size = DecisionStream.create(store, "s0", made, clock=clock).memory_bytes
    registry = StreamRegistry(store, clock=clock, memory_bytes=3 * size + size // 2)
    states = {}
    for number in range(8):
        stream, _ = registry.create(f"s{number}", made)
        ticket = stream.ask(np.eye(40)).ticket
        assert stream.tell(ticket, "left").changed
        states[stream.name] = stream.snapshot_state()
        registry.stream("s0")  # in use, so it stays
        assert sum(one.memory_bytes for one in registry.open_streams()) <= 3 * size + size // 2
    assert {stream.name for stream in registry.open_streams()} == {"s0", "s6", "s7"}
    held = registry.stream("s6")
    for name, state in states.items():
        assert registry.stream(name).snapshot_state() == state
    duel = held.ask(np.eye(40))  # whoever still holds a stream that was closed may go on
    assert registry.stream("s6").tell(duel.ticket, "left").changed
    registry.close()


def test_a_store_holds_only_so_many_streams(store: Store, clock: Clock) -> None:
    registry = StreamRegistry(store, clock=clock, stream_limit=2)
    for name in ("a", "b", "a"):
        registry.create(name, SETTINGS)
    with pytest.raises(TooLarge, match="2 streams already"):
        registry.create("c", SETTINGS)
    assert [entry.row.name for entry in registry.entries()] == ["a", "b"]
    registry.close()


def test_looking_at_many_streams_opens_none(store: Store, clock: Clock) -> None:
    for number in range(30):
        store.create_stream(name=f"s{number}", uid="u", settings=replace(SETTINGS, seed=1).to_json(), at=0.0)
    registry = StreamRegistry(store, clock=clock)
    assert [entry.state for entry in registry.entries()] == ["closed"] * 30
    assert registry.open_streams() == []
    with DecisionStream.open(store, "s3", clock=clock) as stream:
        stream.ask(candidates(np.random.default_rng(1)))
    assert store.pending() == {store.stream("s3").id: (1, clock.now)}
    registry.close()

"""A source's name is gone from the files, and nothing else has changed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from living import SETTINGS, Clock, candidates, vote
from numpy.random import Generator

from duelwise.storage import Store, open_store
from duelwise.stream import DecisionStream, StreamSettings, replica, weighted_sources
from duelwise.stream.erasing import erase_source
from duelwise.stream.folding import fold, rebuild
from duelwise.stream.logs import Log, StoredLog
from duelwise.stream.repair import verify
from duelwise.stream.stream_state import StreamState
from duelwise.stream.transfer import backup, export_lines


def test_a_name_is_erased_and_the_fold_is_the_same(tmp_path: Path, clock: Clock, rng: Generator) -> None:
    store = open_store(f"sqlite:///{tmp_path}/duels.db")
    stream = DecisionStream.create(store, "meals", SETTINGS, clock=clock)
    other = DecisionStream.open(store, "meals", clock=clock)
    for i in range(30):
        vote(stream, rng, source="anna@example.org" if i % 3 == 0 else "bert")
    waiting = stream.ask(candidates(rng)).ticket
    stream.tell(waiting, "left", source="anna@example.org")
    skipped = stream.ask(candidates(rng)).ticket
    stream.tell(skipped, "skip", source="anna@example.org")
    cut = "INSERT INTO cut_events (stream_id, cut_at, reason, seq, payload) VALUES (1, 0, 'x', 1, :bytes)"
    with store._changing() as connection:
        connection.execute(sa.text(cut), {"bytes": b"...anna@example.org..."})
    counts = stream.counts()
    stream.close()
    pseudonym = erase_source(store, "meals", "anna@example.org")
    report = other.report()
    assert other.counts() == counts
    assert np.array_equal(other._replica.folded.learner.theta, stream._replica.folded.learner.theta)
    assert {one.source for one in report.down_weighted_sources} == {pseudonym, "bert"}
    assert {other.ticket(ticket).source for ticket in (waiting, skipped)} == {pseudonym}
    assert fold(SETTINGS, StoredLog(store, 1), upto=other.model_version).snapshot().payload == (
        other.snapshot_state()
    )
    assert verify(store, "meals") == ()
    backup(store, "meals", tmp_path / "meals.jsonl")
    assert pseudonym in "".join(export_lines(store, "meals"))
    other.observe(waiting, [1.0, 2.0], [3.0, 4.0])
    assert other.retract_source(pseudonym) == 11
    other.close()
    store.close()
    for file in tmp_path.iterdir():
        assert b"anna@example.org" not in file.read_bytes(), file.name


def test_a_name_that_is_erased_amid_a_rebuild_stays_erased(
    stream: DecisionStream, store: Store, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    vote(stream, rng, source="anna")
    pseudonyms: list[str] = []

    def erasing(settings: StreamSettings, log: Log, *, upto: int) -> StreamState:
        fresh = rebuild(settings, log, upto=upto)
        if not pseudonyms:
            pseudonyms.append(erase_source(store, "meals", "anna"))
        return fresh

    monkeypatch.setattr(replica, "rebuild", erasing)
    stream.retract(vote(stream, rng, source="bert"))
    stream.wait_for_background()
    assert not stream.report().rebuild_is_due
    assert list(stream._replica.folded.ledger.sources) == pseudonyms
    with DecisionStream.open(store, "meals") as again:
        assert list(again._replica.folded.ledger.sources) == pseudonyms


def test_a_name_that_is_erased_amid_a_judgement_stays_erased(
    store: Store, clock: Clock, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DecisionStream.create(store, "meals", replace(SETTINGS, sources="weighted"), clock=clock) as stream:

        def erasing(*_args: object, **_upto: int) -> list[str]:
            erase_source(store, "meals", "anna")
            return ["anna"]

        monkeypatch.setattr(weighted_sources, "judged", erasing)
        for _ in range(weighted_sources.FIRST):
            vote(stream, rng, source="anna")
        stream.wait_for_background()
        assert '"anna"' not in "".join(export_lines(store, "meals"))

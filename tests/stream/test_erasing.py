"""A source's name is gone from the files, and nothing else has changed."""

from pathlib import Path

import numpy as np
import sqlalchemy as sa
from living import SETTINGS, Clock, candidates, vote
from numpy.random import Generator

from duelwise.storage import open_store
from duelwise.stream import DecisionStream
from duelwise.stream.erasing import erase_source
from duelwise.stream.folding import fold
from duelwise.stream.logs import StoredLog
from duelwise.stream.repair import verify
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

"""Long vectors in few numbers, by a projection that is fitted to the first items and kept in the log."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from duelwise.errors import InvalidInput
from duelwise.storage import Store, open_store
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.answering import ALL
from duelwise.stream.events import Projected
from duelwise.stream.importing import import_duels
from duelwise.stream.repair import verify
from duelwise.stream.transfer import backup, derive, export_lines, read_backup, read_lines, restore
from duelwise.types import JSON, Array

LENGTH, DIM = 40, 3
RULE: dict[str, JSON] = {"length": LENGTH, "dim": DIM, "projection": "fitted"}
SETTINGS = StreamSettings(context_dim=DIM + 1, encodings={"text": RULE})


def clock() -> float:
    return 5.0


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path}/duels.db")


def texts(count: int, seed: int = 0) -> Array:
    """Vectors that differ in three directions, about a centre far from nought, with little noise."""
    rng = np.random.default_rng(7)
    axes, centre = rng.normal(size=(DIM, LENGTH)), 10 * rng.normal(size=LENGTH)
    drawn = np.random.default_rng(seed)
    return centre + drawn.normal(size=(count, DIM)) @ axes + 0.01 * drawn.normal(size=(count, LENGTH))


def items(vectors: Array) -> list[dict[str, object]]:
    return [
        {"id": f"text {k}", "features": {"x0": k / 10, "text": row}} for k, row in enumerate(vectors.tolist())
    ]


def apart(z: Array) -> Array:
    """How far each is from each."""
    return np.linalg.norm(z[:, None] - z, axis=2)


def test_the_fitted_projection_keeps_what_differs(store: Store) -> None:
    vectors = texts(30)
    with DecisionStream.create(store, "a", SETTINGS, clock=clock) as stream:
        assert stream.put_items(items(vectors)) == (30, 0, 0)
        kept = np.array([stream.catalogue.item(f"text {k}").x[1:] for k in range(30)])
        np.testing.assert_allclose(apart(kept), apart(vectors), atol=0.3)
        np.testing.assert_allclose(kept.mean(axis=0), 0, atol=1e-9)
        assert stream.put_items(items(vectors)) == (0, 0, 30)
    at_random = StreamSettings(context_dim=DIM, encodings={"text": {"length": LENGTH, "dim": DIM}})
    with DecisionStream.create(store, "b", at_random) as stream:
        stream.put_items([{"id": f"{k}", "features": {"text": v}} for k, v in enumerate(vectors.tolist())])
        drawn = np.array([stream.catalogue.item(f"{k}").x for k in range(30)])
    off = np.abs(apart(drawn) - apart(vectors)).mean()
    assert off > 10 * np.abs(apart(kept) - apart(vectors)).mean()


def test_every_replay_projects_alike(store: Store, tmp_path: Path) -> None:
    other = [{"id": "new", "features": {"x0": 0, "text": texts(1, seed=1)[0].tolist()}}, *items(texts(4))]
    stream = DecisionStream.create(store, "a", SETTINGS, clock=clock)
    stream.put_items(items(texts(30)))
    for k in range(20):
        duel = stream.ask(other[:4] if k % 2 else ALL)
        stream.tell(duel.ticket, "left")
    ranked, state = stream.rank(other), stream.snapshot_state()
    stream.close()  # leaves a snapshot, in which no projection is
    with DecisionStream.open(store, "a", clock=clock) as again:
        assert again.rank(other) == ranked
    backup(store, "a", tmp_path / "a.jsonl")
    log = read_backup(tmp_path / "a.jsonl")
    restore(store, log, name="copy")
    assert verify(store, "copy") == ()
    with DecisionStream.open(store, "copy", clock=clock) as copy:
        assert copy.snapshot_state() == state
        assert copy.rank(other) == ranked
    derive(store, "derived", SETTINGS, log)
    with DecisionStream.open(store, "derived") as derived:
        assert not derived.encoder.to_fit
        assert [one.id for one in derived.rank(other).items] == [one.id for one in ranked.items]


def test_a_second_server_knows_what_the_first_has_fitted(store: Store) -> None:
    candidates = items(texts(5))
    with (
        DecisionStream.create(store, "a", SETTINGS, clock=clock) as first,
        DecisionStream.open(store, "a", clock=clock) as second,
    ):
        first.put_items(items(texts(30)))
        assert not second.encoder.to_fit
        assert second.put_items(items(texts(30))) == (0, 0, 30)
        assert second.rank(candidates) == first.rank(candidates)


def test_what_cannot_be_fitted_is_refused_and_changes_nothing(store: Store) -> None:
    with DecisionStream.create(store, "a", SETTINGS, clock=clock) as stream:
        with pytest.raises(InvalidInput, match="there are 3; expected more than 3"):
            stream.put_items(items(texts(3)))
        with pytest.raises(InvalidInput, match="fitted to the items that are put first, and none are"):
            stream.ask(items(texts(3)))
        wrong = items(texts(10))
        wrong[7] = {"id": "odd", "features": {"x0": 1, "text": [1.0]}}
        with pytest.raises(InvalidInput, match="'text' of item 'odd' is no vector of 40"):
            stream.put_items(wrong)
        wrong[7] = {"id": "odd", "features": {"x0": "no", "text": [1.0] * LENGTH}}
        with pytest.raises(InvalidInput, match="'x0' of item 'odd'"):
            stream.put_items(wrong)
        with pytest.raises(InvalidInput, match="Item 7 is no record"):
            stream.put_items([*wrong[:7], 5])
        assert stream.model_version == 0
        assert stream.encoder.to_fit


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"length": 4, "dim": 5}, "expected levels"),
        ({"length": 4, "dim": 2, "projection": "best"}, "expected levels"),
        ({"length": 90_000, "dim": 90, "projection": "fitted"}, "at most 2000000"),
    ],
)
def test_bad_rules_are_refused(rule: dict[str, JSON], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        StreamSettings(context_dim=100, encodings={"text": rule})


def test_forged_projections_are_refused(store: Store) -> None:
    with DecisionStream.create(store, "a", SETTINGS, clock=clock) as stream:
        stream.put_items(items(texts(10)))
    log = read_lines(export_lines(store, "a"))
    projected = next(iter(log.log.events(after=0, upto=1)))
    fitted = projected.event
    assert isinstance(fitted, Projected)
    for wrong, says in [
        (fitted._replace(axes=np.eye(3)), "axes of shape"),
        (fitted._replace(centre=np.full(LENGTH, np.nan)), "centre"),
        (fitted._replace(name="picture"), "waits for none"),
    ]:
        forged = log._replace(log=type(log.log)([projected._replace(event=wrong)]))
        with pytest.raises(InvalidInput, match=says):
            restore(store, forged, name="forged")


def test_past_duels_may_give_vectors(store: Store, tmp_path: Path) -> None:
    left, right = texts(2, seed=3).tolist()
    line = {"left": {"x0": 1, "text": left}, "right": {"x0": 2, "text": right}, "winner": "left"}
    (tmp_path / "past.jsonl").write_text(json.dumps(line) + "\n")
    with DecisionStream.create(store, "a", SETTINGS, clock=clock) as stream:
        with pytest.raises(InvalidInput, match=r"none are.*Nothing was imported"):
            import_duels(stream, tmp_path / "past.jsonl")
        stream.put_items(items(texts(10)))
        assert import_duels(stream, tmp_path / "past.jsonl") == 1

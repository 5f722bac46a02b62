"""Real data: what is shipped is what UCI gives, a user's table is checked, nothing is made up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from duelwise.errors import InvalidInput, UnknownName
from duelwise.lab.play.world import World
from duelwise.lab.worlds import datasets
from duelwise.lab.worlds.datasets import DATASETS, load
from duelwise.lab.worlds.labelled import Labelled, Spreadsheet
from duelwise.testing.worlds import WorldConformance


@pytest.mark.parametrize(
    ("name", "shape", "counts"),
    [
        ("magic", (19020, 10), {"g": 12332, "h": 6688}),
        ("satimage", (6435, 36), {"1": 1533, "2": 703, "3": 1358, "4": 626, "5": 707, "7": 1508}),
        ("spambase", (4601, 57), {"0": 2788, "1": 1813}),
        ("wine", (6497, 12), {"3": 30, "4": 216, "5": 2138, "6": 2836, "7": 1079, "8": 193, "9": 5}),
    ],
)
def test_shipped_sets_are_whole(name: str, shape: tuple[int, int], counts: dict[str, int]) -> None:
    data = load(name)
    assert data.features.shape == shape
    assert dict(zip(data.classes, np.bincount(data.label.astype(int)).tolist(), strict=True)) == counts
    np.testing.assert_allclose(data.features.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(data.features.std(axis=0), 1.0)


def test_a_damaged_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = datasets.Dataset(title="", file="wine.csv.gz", sha256="0" * 64, context_dim=6, source="https://x")
    monkeypatch.setitem(DATASETS, "wrong", wrong)
    with pytest.raises(InvalidInput, match="pack_datasets"):
        load("wrong")


class TestLabelledWorld(WorldConformance):
    def make(self, runs: Sequence[int]) -> World:
        return Labelled(name="wine", arms=7).start(runs=runs, seed=3)


def test_candidates_differ_and_votes_follow_the_class() -> None:
    world = Labelled(name="wine", vote="deterministic").start(runs=(0, 1, 2), seed=0)
    seen: set[float] = set()
    for t in range(40):
        x = world.contexts(t)
        assert all(len(np.unique(x[run], axis=0)) > 20 for run in range(3))  # wines repeat; rows do not
        truth = world.reveal(t, x)
        arms = np.array([[0, 1]] * 3)
        lead = truth.utility[:, 0] - truth.utility[:, 1]
        np.testing.assert_array_equal(world.vote(t, truth, arms), 0.5 + 0.5 * np.sign(lead))
        seen |= set(lead.tolist())
    assert {-1.0, 0.0, 1.0} <= seen


def test_votes_are_as_often_as_bradley_and_terry_say() -> None:
    world = Labelled(name="magic").start(runs=tuple(range(40)), seed=0)
    wins: list[float] = []
    for t in range(200):
        truth = world.reveal(t, world.contexts(t))
        outcome = world.vote(t, truth, np.array([[0, 1]] * 40))
        wins += outcome[truth.utility[:, 0] - truth.utility[:, 1] == 1.0].tolist()
    expected = 1.0 / (1.0 + np.exp(-1.0))
    assert np.mean(wins) == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / len(wins)))


TABLE = "id;price;warmth;stars\n" + "\n".join(f"{i};{i * 2.5};{i % 3};{i % 5}" for i in range(12))


def test_a_users_table_becomes_a_world(tmp_path: Path) -> None:
    path = tmp_path / "meals.csv"
    path.write_text(TABLE)
    settings = Spreadsheet(
        path=str(path), before=("price",), after=("warmth",), utility="stars", arms=4, separator=";"
    )
    world = settings.start(runs=(0,), seed=0)
    truth = world.reveal(0, world.contexts(0))
    assert (world.context_dim, world.post_dim, world.arms) == (1, 1, 4)
    assert set(truth.utility.ravel()) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    before = settings.data_digest()
    path.write_text(TABLE + "\n13;1;1;1")
    assert settings.data_digest() != before


def test_blank_lines_at_the_end_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "meals.csv"
    path.write_text(TABLE + "\n\n\n")
    settings = Spreadsheet(
        path=str(path), before=("price",), after=(), utility="stars", arms=12, separator=";"
    )
    assert settings.start(runs=(0,), seed=0).arms == 12


def test_utilities_of_any_size_are_voted_on_without_a_warning(tmp_path: Path) -> None:
    """Prices, say: e to the power of a thousand is infinite, and a chance of 0 or 1 is right."""
    path = tmp_path / "meals.csv"
    path.write_text("warmth,price\n1,-400\n2,900\n")
    world = Spreadsheet(path=str(path), before=("warmth",), after=(), utility="price", arms=2).start(
        runs=(0,), seed=0
    )
    truth = world.reveal(0, world.contexts(0))
    best = int(truth.utility[0].argmax())
    assert [world.vote(0, truth, np.array([[a, 1 - a]]))[0] for a in (best, 1 - best)] == [1.0, 0.0]


def test_a_table_that_was_changed_is_read_again(tmp_path: Path) -> None:
    """In one process too: its curve would be kept under the name of the new content."""
    path = tmp_path / "meals.csv"
    settings = Spreadsheet(
        path=str(path), before=("price",), after=(), utility="stars", arms=13, separator=";"
    )
    for stars in (5.0, 7.0):
        path.write_text(TABLE + f"\n13;1;1;{stars}")
        world = settings.start(runs=(0,), seed=0)
        assert world.reveal(0, world.contexts(0)).utility.max() == stars


def test_a_users_mistakes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "meals.csv"
    path.write_text(TABLE.replace("2.5", "cheap"))
    told = {"path": str(path), "utility": "stars", "arms": 4, "separator": ";"}
    with pytest.raises(InvalidInput, match="Line 3, column 'price' holds 'cheap'"):
        Spreadsheet(before=("price",), after=(), **told).start(runs=(0,), seed=0)
    with pytest.raises(UnknownName, match="Did you mean 'warmth'"):
        Spreadsheet(before=("id",), after=("warmt",), **told).start(runs=(0,), seed=0)
    for before, after in ((("id",), ("id",)), (("id", "id"), ())):
        with pytest.raises(InvalidInput, match="none of them twice and none in both lists"):
            Spreadsheet(before=before, after=after, **told)
    for separator in ("", ";;", "\n"):
        with pytest.raises(InvalidInput, match="one character between columns"):
            Spreadsheet(before=("id",), after=(), **{**told, "separator": separator})
    with pytest.raises(InvalidInput, match="not at"):
        Spreadsheet(path="nowhere.csv", before=("id",), after=(), utility="stars").start(runs=(0,), seed=0)
    with pytest.raises(InvalidInput, match="smallest group holds 12"):
        Spreadsheet(path=str(path), before=("id",), after=(), utility="stars", arms=13, separator=";").start(
            runs=(0,), seed=0
        )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no rows"),
        (b"id,stars\n", "holds no rows"),
        (b"id,stars,caf\xe9\n1,2,3\n", "is not in UTF-8"),
        (b'id,stars\n"' + 200_000 * b"x" + b'",2\n', "is no CSV"),
        (b"id,stars,id\n1,2,3\n2,3,4\n", "2 columns called 'id'"),
    ],
)
def test_a_file_that_is_no_table_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "meals.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=said):
        Spreadsheet(path=str(path), before=("id",), after=(), utility="stars").start(runs=(0,), seed=0)


def test_a_constant_column_becomes_zero() -> None:
    numbers = np.stack([np.full(7, 0.1), np.arange(7.0)], axis=1)  # the mean of seven 0.1 is not 0.1
    constant, counted = datasets.standardised(numbers).T
    np.testing.assert_array_equal(constant, 0.0)
    np.testing.assert_allclose([counted.mean(), counted.std()], [0.0, 1.0], atol=1e-15)


def test_a_mark_before_the_text_belongs_to_no_column(tmp_path: Path) -> None:
    """As spreadsheets save "CSV UTF-8"."""
    path = tmp_path / "meals.csv"
    path.write_text(TABLE, encoding="utf-8-sig")
    settings = Spreadsheet(path=str(path), before=("id",), after=(), utility="stars", separator=";")
    assert settings.start(runs=(0,), seed=0).context_dim == 1

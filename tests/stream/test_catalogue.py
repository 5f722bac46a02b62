"""The items of a stream: put, put again, withdrawn, and read in pages and groups."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from duelwise.errors import InvalidInput, UnknownItem
from duelwise.stream import StreamSettings
from duelwise.stream.catalogue import ROOM, Catalogue, Offered, check_ids
from duelwise.stream.events import ItemsPut, ItemsWithdrawn


@pytest.fixture
def catalogue() -> Catalogue:
    """a and b in group g, c in h, d in none; y of a is known."""
    made = Catalogue(StreamSettings(context_dim=2, post_dim=1))
    made.take(
        ItemsPut(
            ["a", "b", "c", "d"], np.arange(8.0).reshape(4, 2), np.array([[5.0], [0.0], [0.0], [0.0]]),
            [True, False, False, False], ["g", "g", "h", None], [None, "text", None, None],
        )
    )  # fmt: skip
    return made


def ids(
    catalogue: Catalogue, *, group: str | None = None, after: str | None = None, limit: int = 9
) -> list[str]:
    return [item.id for item in catalogue.page(group=group, after=after, limit=limit)]


def test_items_are_read_page_by_page(catalogue: Catalogue) -> None:
    assert ids(catalogue, limit=2) == ["a", "b"]
    assert ids(catalogue, after="b", limit=1) == ["c"]
    assert ids(catalogue, after="d") == []
    assert ids(catalogue, after="gone") == []
    assert ids(catalogue, group="g", after="a") == ["b"]
    assert ids(catalogue, group="g", after="c") == []  # which is in another group


def test_a_reader_of_pages_goes_on_where_an_item_was_withdrawn(catalogue: Catalogue) -> None:
    catalogue.take(ItemsWithdrawn(["b"]))
    assert ids(catalogue, after="b") == ["c", "d"]
    assert ids(catalogue, group="g", after="a") == []
    catalogue.take(ItemsPut(["b"], np.array([[2.0, 2.0]])))
    assert ids(catalogue, after="c") == ["d", "b"]
    assert ids(catalogue, after="b") == []


def test_a_group_is_read_on_in_the_order_in_which_items_joined_it(catalogue: Catalogue) -> None:
    for group in ("h", "g"):
        catalogue.take(ItemsPut(["a"], np.zeros((1, 2)), groups=[group]))
    catalogue.take(ItemsPut(["b"], np.zeros((1, 2)), groups=["g"]))  # which was there already
    assert ids(catalogue, group="g") == ["b", "a"]
    catalogue.take(ItemsWithdrawn(["b"]))
    assert ids(catalogue, group="g", after="b") == ["a"]
    assert ids(catalogue, after="b") == ["c", "d"]
    catalogue.take(ItemsPut(["b"], np.zeros((1, 2)), groups=["h"]))
    assert ids(catalogue, group="g", after="b") == ["a"]
    assert ids(catalogue, group="h") == ["c", "b"]


def test_an_item_is_what_was_put_last(catalogue: Catalogue) -> None:
    first, second = catalogue.item("a"), catalogue.item("b")
    assert (first.x.tolist(), first.group) == ([0.0, 1.0], "g")
    assert first.y is not None
    assert first.y.tolist() == [5.0]
    assert (second.y, second.content) == (None, "text")
    before = catalogue.whole()
    catalogue.take(ItemsPut(["a"], np.array([[9.0, 9.0]]), groups=["h"]))
    assert catalogue.item("a").x.tolist() == [9.0, 9.0]
    assert catalogue.item("a").y is None
    assert before.x[0].tolist() == [0.0, 1.0]  # who looks keeps what it saw
    assert ids(catalogue, group="h") == ["c", "a"]
    assert ids(catalogue, group="g") == ["b"]
    assert len(catalogue) == 4


def test_a_group_ends_with_its_last_item(catalogue: Catalogue) -> None:
    catalogue.take(ItemsWithdrawn(["c", "d", "never there"]))
    assert catalogue.groups == ["g"]
    assert "c" not in catalogue
    assert catalogue.whole().ids == ["a", "b"]
    assert catalogue.whole().known.tolist() == [True, False]
    with pytest.raises(UnknownItem, match="no group 'h'"):
        catalogue.group("h")
    with pytest.raises(UnknownItem, match="no item 'c'"):
        catalogue.some(["a", "c"])


@pytest.mark.parametrize("count", [ROOM, ROOM + 1, 5 * ROOM])
def test_room_grows_with_the_items(count: int) -> None:
    catalogue = Catalogue(StreamSettings(context_dim=1))
    for start in range(0, count, 50):
        numbers = range(start, min(start + 50, count))
        catalogue.take(ItemsPut([f"i{k}" for k in numbers], np.array(numbers, dtype=float)[:, None]))
    whole = catalogue.whole()
    assert len(catalogue) == count
    assert whole.x[:, 0].tolist() == list(range(count))
    assert catalogue.some(["i3", "i1"]).x[:, 0].tolist() == [3.0, 1.0]


def test_a_duel_needs_two_items_each_named_once(catalogue: Catalogue) -> None:
    assert catalogue.offered(ids=["a", "b"], group=None).ids == ["a", "b"]
    with pytest.raises(InvalidInput, match="Items to choose from: 1"):
        catalogue.offered(ids=["a"], group=None)
    with pytest.raises(InvalidInput, match="'b' is named twice"):
        catalogue.offered(ids=["a", "b", "c", "b"], group=None)


def test_an_id_named_twice_is_found_without_comparing_all_with_all() -> None:
    compared = 0

    class Counted(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    names = [Counted(f"i{k}") for k in range(500)]
    with pytest.raises(InvalidInput, match="'i499' is named twice"):
        check_ids([*names, Counted("i499")])
    assert compared < 50


def test_ids_and_a_group_are_not_asked_for_together(catalogue: Catalogue) -> None:
    with pytest.raises(InvalidInput, match="Both ids and the group 'absent'"):
        catalogue.offered(ids=["a", "b"], group="absent")


def test_a_look_that_a_change_overtakes_is_not_kept(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = Catalogue._columns

    def overtaken(looked: Catalogue, rows: Mapping[str, int]) -> Offered:
        found = columns(looked, rows)
        monkeypatch.undo()
        looked.take(ItemsPut(["e"], np.zeros((1, 2))))
        return found

    monkeypatch.setattr(Catalogue, "_columns", overtaken)
    assert catalogue.whole().ids == ["a", "b", "c", "d"]
    assert catalogue.whole().ids == ["a", "b", "c", "d", "e"]

"""The items of a stream: kept as columns, so that a hundred thousand are offered without a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from duelwise.errors import InvalidInput, UnknownItem
from duelwise.storage import JSON
from duelwise.stream.candidates import CandidateSet, check_name
from duelwise.stream.events import Event, ItemsPut, ItemsWithdrawn
from duelwise.stream.settings import StreamSettings
from duelwise.types import Array, BoolArray

ROOM = 64  # rows to begin with; doubles when it is full


class Item(NamedTuple):
    """One item as it is kept."""

    id: str
    x: Array  # (dx,)
    y: Array | None  # (dy,) where it is known already
    group: str | None
    content: JSON


class Offered(NamedTuple):
    """Items of the catalogue, as columns that nothing will change."""

    ids: Sequence[str]
    x: Array  # (K, dx)
    y: Array  # (K, dy)
    known: BoolArray  # (K,) whether y is known


class Catalogue:
    """Items by id and by group. Rows once written are never written over: a look needs no lock."""

    def __init__(self, settings: StreamSettings) -> None:
        self._dims = (settings.context_dim, settings.post_dim)
        self._row: dict[str, int] = {}  # of every item that is offered
        self._first_row: dict[str, int] = {}  # of every item that ever was, since it came last
        self._groups: dict[str, dict[str, None]] = {}  # ids in order, as a set
        self._joined: dict[str, dict[str, int]] = {}  # by group: the row at which an id, gone or not, came
        self._ids: list[str] = []  # by row, those withdrawn or replaced among them
        self._group: list[str | None] = []
        self._content: list[JSON] = []
        self._x = np.empty((ROOM, self._dims[0]))
        self._y = np.empty((ROOM, self._dims[1]))
        self._known = np.zeros(ROOM, dtype=np.bool_)
        self._version = 0  # raised with every change
        self._whole: tuple[int, Offered] | None = None  # all items, and of which version

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, id: str) -> bool:
        return id in self._row

    def take(self, event: Event) -> None:
        """Items were put or withdrawn."""
        if isinstance(event, ItemsPut):
            self._put(event)
        elif isinstance(event, ItemsWithdrawn):
            for id in event.ids:
                self._drop(id)
        self._version += 1

    def item(self, id: str) -> Item:
        return self._item(self._row_of(id))

    def page(self, *, group: str | None, after: str | None, limit: int) -> list[Item]:
        """Some items in the order in which they came, those after `after`, be it withdrawn by now."""
        row_of = self._row.copy()  # others may withdraw them meanwhile
        ids, came = list(row_of), self._first_row
        if group is not None:
            ids, came = [id for id in list(self._members(group)) if id in row_of], self._joined[group]
        if after in ids:
            ids = ids[ids.index(after) + 1 :]
        elif after is not None:
            gone = came.get(after, len(self._ids))
            ids = [id for id in ids if came[id] > gone]
        return [self._item(row_of[id]) for id in ids[:limit]]

    @property
    def groups(self) -> list[str]:
        return list(self._groups)

    def offered(self, *, ids: Sequence[str] | None, group: str | None) -> CandidateSet:
        """What can be chosen from: the items of these ids, of a group, or all; at least two."""
        if ids is not None and group is not None:
            raise InvalidInput(
                f"Both ids and the group {group!r:.80} are given; expected one of them, or none for all."
            )
        if ids is not None:
            check_ids(ids)
            offered = self.some(ids)
        else:
            check_name("group", group)
            offered = self.whole() if group is None else self.group(group)
        if len(offered.ids) < 2:
            raise InvalidInput(
                f"Items to choose from: {len(offered.ids)}. Expected at least two: put more, or name others."
            )
        return CandidateSet(offered.x, offered.ids, offered.y, offered.known)

    def whole(self) -> Offered:
        """Every item."""
        version, held = self._version, self._whole
        if held is None or held[0] != version:
            held = version, self._columns(self._row.copy())
            self._whole = held
        return held[1]

    def group(self, name: str) -> Offered:
        """The items of a group."""
        members = list(self._members(name))
        return self._columns({id: row for id in members if (row := self._row.get(id)) is not None})

    def still(self, ids: Sequence[str]) -> list[str]:
        """Those of these ids that are offered; the others must have been, once."""
        for id in ids:
            if id not in self._first_row:
                self._row_of(id)  # refuses it
        return [id for id in ids if id in self._row]

    def some(self, ids: Sequence[str]) -> Offered:
        """The items of these ids, in this order."""
        return self._columns({id: self._row_of(id) for id in ids})

    def _columns(self, row_of: Mapping[str, int]) -> Offered:
        rows = np.fromiter(row_of.values(), np.int64, len(row_of))
        return Offered(list(row_of), self._x[rows], self._y[rows], self._known[rows])

    def _members(self, group: str) -> dict[str, None]:
        if group not in self._groups:
            raise UnknownItem(
                f"There is no group {group!r:.80} in this stream's catalogue; put its items first."
            )
        return self._groups[group]

    def _item(self, row: int) -> Item:
        y = self._y[row].copy() if self._known[row] else None
        return Item(self._ids[row], self._x[row].copy(), y, self._group[row], self._content[row])

    def _row_of(self, id: str) -> int:
        if id not in self._row:
            raise UnknownItem(
                f"There is no item {id!r:.80} in this stream's catalogue. Put it first, or give its features."
            )
        return self._row[id]

    def _put(self, put: ItemsPut) -> None:
        start, count = len(self._ids), len(put.ids)
        self._make_room(start + count)
        self._x[start : start + count] = put.x
        if put.y is not None:
            self._y[start : start + count] = put.y
            self._known[start : start + count] = True if put.known is None else put.known
        else:
            self._known[start : start + count] = False
        self._ids += put.ids
        groups = put.groups or [None] * count
        self._group += groups
        self._content += put.contents or [None] * count
        for row, (id, group) in enumerate(zip(put.ids, groups, strict=True), start=start):
            if id in self._row and self._group[self._row[id]] != group:
                self._leave_group(id)
            if id not in self._row:
                self._first_row[id] = row
            self._row[id] = row
            if group is not None and id not in self._groups.get(group, ()):
                self._joined.setdefault(group, {})[id] = row
                self._groups.setdefault(group, {})[id] = None

    def _drop(self, id: str) -> None:
        if id in self._row:
            self._leave_group(id)
            del self._row[id]

    def _leave_group(self, id: str) -> None:
        group = self._group[self._row[id]]
        if group is not None:
            del self._groups[group][id]
            if not self._groups[group]:
                del self._groups[group]

    def _make_room(self, rows: int) -> None:
        """Larger columns; those who look at the old ones keep them."""
        if rows <= len(self._x):
            return
        room = max(rows, 2 * len(self._x))
        for name in ("_x", "_y", "_known"):
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), dtype=old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)


def check_ids(ids: Sequence[str]) -> None:
    """Names, each once."""
    if isinstance(ids, str) or not isinstance(ids, Sequence | np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"The ids of items are {ids!r:.80}; expected a list of names.")
    for id in ids:
        check_name("id of an item", id)
    if len(set(ids)) != len(ids):
        times = Counter(ids)
        twice = next(id for id in ids if times[id] > 1)
        raise InvalidInput(f"The item {twice!r} is named twice; an item can be offered once.")

"""Worlds made of classification data: a row's utility is the position of its class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from duelwise.errors import InvalidInput, check_known
from duelwise.lab.play.checks import check_whole
from duelwise.lab.play.world import World
from duelwise.lab.worlds.datasets import as_numbers, dataset, digest, existing, load, read_table, standardised
from duelwise.lab.worlds.items import VOTE_RULES, Items, ItemWorld
from duelwise.text_files import opened_text
from duelwise.types import Array


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """A shipped set: K rows each round, utility the class's position, vote BTL on its difference."""

    name: str
    arms: int = 30  # the paper's K for real data
    vote: str = "btl"

    def __post_init__(self) -> None:
        dataset(self.name)
        check_whole("arms", self.arms, least=2)
        check_known("vote", self.vote, VOTE_RULES)

    def start(self, *, runs: Sequence[int], seed: int) -> World:
        data, split = load(self.name), dataset(self.name).context_dim
        items = _items(data.features, split, data.label)
        return ItemWorld(items, runs=runs, seed=seed, arms=self.arms, votes=VOTE_RULES[self.vote]())

    def data_digest(self) -> str:
        return dataset(self.name).sha256


@dataclass(frozen=True, kw_only=True)
class Spreadsheet:
    """A user's own CSV with a header: columns known before serving, columns known after, and the utility."""

    path: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    utility: str
    arms: int = 10
    vote: str = "btl"
    separator: str = ","

    def __post_init__(self) -> None:
        check_whole("arms", self.arms, least=2)
        check_known("vote", self.vote, VOTE_RULES)
        columns = [*self.before, *self.after]
        if not self.before or len(set(columns)) < len(columns):
            raise InvalidInput(
                f"before is {list(self.before)} and after {list(self.after)}. Expected at least one "
                "column before serving, none of them twice and none in both lists."
            )
        if len(self.separator) != 1 or self.separator in '\r\n"':
            raise InvalidInput(
                f"separator is {self.separator!r}. Expected the one character between columns, such as ','."
            )

    def start(self, *, runs: Sequence[int], seed: int) -> World:
        columns = (*self.before, *self.after)
        features, utility = _read(self.path, self.data_digest(), columns, self.utility, self.separator)
        items = _items(features, len(self.before), utility)
        return ItemWorld(items, runs=runs, seed=seed, arms=self.arms, votes=VOTE_RULES[self.vote]())

    def data_digest(self) -> str:
        return digest(existing(self.path, what="The table", source="wherever you keep it"))


def _items(features: Array, split: int, utility: Array) -> Items:
    """One group of all rows; the first `split` features are known before serving."""
    before = np.ascontiguousarray(features[:, :split])
    after = np.ascontiguousarray(features[:, split:])
    return Items(before, after, utility, (np.arange(len(utility)),))


@lru_cache(maxsize=2)
def _read(
    path: str, content: str, columns: tuple[str, ...], utility: str, separator: str
) -> tuple[Array, Array]:
    """(N, d) standardised columns and (N,) utilities as they stand, read anew when the digest is another."""
    file = existing(path, what="The table", source="wherever you keep it")
    with opened_text(file) as text:
        header, rows = read_table(text, separator=separator)
    if not rows:
        raise InvalidInput(
            f"{path} holds no rows. Expected a line with the columns' names, then one for each row."
        )
    for name in (*columns, utility):
        check_known(f"column in {path}", name, header)
        if header.count(name) > 1:
            raise InvalidInput(
                f"{path} has {header.count(name)} columns called {name!r}. Expected one: rename them."
            )
    wanted = [header.index(name) for name in (*columns, utility)]
    chosen = [[row[place] if place < len(row) else "" for place in wanted] for row in rows]
    numbers = as_numbers(chosen, [*columns, utility])
    return standardised(numbers[:, :-1]), numbers[:, -1]

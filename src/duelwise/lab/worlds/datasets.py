"""The UCI sets of the paper, shipped with the package, and where other data comes from."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from duelwise.errors import InvalidInput, check_known
from duelwise.types import Array


class LabelledData(NamedTuple):
    """Rows with features and an ordered class."""

    features: Array  # (N, d) standardised
    label: Array  # (N,) position of the row's class in sorted order: 0, 1, ...
    names: tuple[str, ...]  # of the features
    classes: tuple[str, ...]  # in sorted order


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A shipped set: a gzipped CSV, its last column the class."""

    title: str
    file: str
    sha256: str  # of the CSV text
    context_dim: int  # the first so many features are known before serving, the others after
    source: str


DATASETS: dict[str, Dataset] = {
    "magic": Dataset(
        title="MAGIC Gamma Telescope", file="magic.csv.gz", context_dim=6,
        source="https://archive.ics.uci.edu/dataset/159",
        sha256="d17e698678403f9f82f04982d24dab759b0da497d46b681bd9f284c4ab11b73f",
    ),
    "satimage": Dataset(
        title="Statlog (Landsat Satellite)", file="satimage.csv.gz", context_dim=20,
        source="https://archive.ics.uci.edu/dataset/146",
        sha256="11875cb5c55a6c0a1ee11ea87f4a5ad01a8a67e125d278a32962302211b3bd36",
    ),
    "spambase": Dataset(
        title="Spambase", file="spambase.csv.gz", context_dim=30,
        source="https://archive.ics.uci.edu/dataset/94",
        sha256="6360a1d0ac38224e1745a0c95b744d5933a3e800af606540f30911ba4b669379",
    ),
    "wine": Dataset(
        title="Wine Quality", file="wine.csv.gz", context_dim=6,
        source="https://archive.ics.uci.edu/dataset/186",
        sha256="bba2768925265d1f1eae2877fcda4a6cfa4f4721cb30b06b37a941d454e12c39",
    ),
}  # fmt: skip
"""Classes in sorted order; the split of the first three is the paper's, that of wine ours."""


def dataset(name: str) -> Dataset:
    """The shipped set of that name."""
    check_known("dataset", name, DATASETS)
    return DATASETS[name]


@lru_cache(maxsize=4)
def load(name: str) -> LabelledData:
    """A shipped set, checked against its checksum."""
    entry = dataset(name)
    raw = gzip.decompress(files("duelwise.lab.worlds").joinpath("data", entry.file).read_bytes())
    found = hashlib.sha256(raw).hexdigest()
    if found != entry.sha256:
        raise InvalidInput(
            f"The text in the shipped file {entry.file} has sha256 {found}. Expected {entry.sha256}: "
            f"install the package again, or make the file anew from {entry.source} with "
            "tools/pack_datasets.py."
        )
    header, rows = read_table(io.StringIO(raw.decode()), separator=",")
    numbers = as_numbers([row[:-1] for row in rows], header[:-1])
    return labelled(numbers, [row[-1] for row in rows], names=header[:-1])


def labelled(numbers: Array, classes: list[str], *, names: list[str]) -> LabelledData:
    """Standardised features and class positions; numeric classes are sorted as numbers."""
    try:
        order = sorted(set(classes), key=float)
    except ValueError:
        order = sorted(set(classes))
    position = {name: float(place) for place, name in enumerate(order)}
    label = np.array([position[name] for name in classes])
    return LabelledData(standardised(numbers), label, tuple(names), tuple(order))


def standardised(numbers: Array) -> Array:
    """Zero mean and unit variance in each column; a constant column becomes zero."""
    differs = np.ptp(numbers, axis=0) > 0  # rounding alone can give equal numbers a spread
    return (numbers - numbers.mean(axis=0)) / np.where(differs, numbers.std(axis=0), np.inf)


def read_table(text: Iterable[str], *, separator: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the lines of a CSV, but for blank ones at its end; both empty where it is."""
    header, *rows = list(csv.reader(text, delimiter=separator)) or [[]]
    while rows and not rows[-1]:
        rows.pop()
    return header, rows


def as_numbers(rows: list[list[str]], names: list[str]) -> Array:
    """(N, d) the cells as finite numbers, or an error that names the first that is none."""
    table = np.empty((len(rows), len(names)))
    for i, row in enumerate(rows):
        for j, name in enumerate(names):
            try:
                table[i, j] = float(row[j])
            except (ValueError, IndexError):
                shown = row[j] if j < len(row) else "nothing"
                raise InvalidInput(
                    f"Line {i + 2}, column {name!r} holds {shown!r}. Expected a number."
                ) from None
    if not np.isfinite(table).all():
        i, j = np.argwhere(~np.isfinite(table))[0].tolist()
        raise InvalidInput(f"Line {i + 2}, column {names[j]!r} is not finite. Expected a finite number.")
    return table


def existing(path: str, *, what: str, source: str) -> Path:
    """The path, or an error that says where its data is to be had."""
    found = Path(path).expanduser()
    if not found.exists():
        raise InvalidInput(
            f"{what} is not at {path!r}. Expected it there: get it from {source} and name where it lies."
        )
    return found


def digest(*paths: Path) -> str:
    """sha256 over the bytes of some files."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.read_bytes())
    return total.hexdigest()

"""Curves on disk: one Parquet file for each cell, named by its key, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from duelwise.atomic_files import write_whole
from duelwise.errors import InvalidInput, missing_extra
from duelwise.lab.cells.experiment import Cell, decode_cell
from duelwise.lab.cells.playing import Curve
from duelwise.lab.sweep.keys import key, key_of, provenance
from duelwise.learning.monitoring import Watched

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ModuleNotFoundError as error:
    raise missing_extra(error, extra="lab", purpose="A folder of curves") from error

WATCHED = "watched."  # before the names of columns
PER_RUN = ("distinct_regret", "self_duels", "told", "flips_spent", "delay_spent", "recorded_share")


class CurveStore:
    """A folder of curves. A file under another key is another cell: nothing is ever reused by position."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._cells = self.folder / "cells"

    def path(self, name: str) -> Path:
        """Where the curve of that key lies."""
        return self._cells / f"{name}.parquet"

    def read(self, cell: Cell) -> Curve:
        """The curve of a cell played under this code."""
        return self.open(key(cell))

    def open(self, name: str) -> Curve:
        """The curve of a key, its content checked against its name."""
        path = self.path(name)
        if not path.exists():
            raise InvalidInput(f"There is no curve {name} in {self.folder}. Run the sweep again to make it.")
        table = pq.read_table(path)
        about = table.schema.metadata or {}
        canonical, stands_on = about[b"cell"].decode(), json.loads(about[b"provenance"])
        if key_of(canonical, stands_on) != name:
            raise InvalidInput(
                f"The file {path} holds another cell than its name says. Expected the content whose "
                "hash is the name: delete the file and run the sweep again."
            )
        return _curve(table, decode_cell(canonical), json.loads(about[b"facts"]))

    def is_watched(self, name: str) -> bool:
        """Whether the monitors were on when this curve was played."""
        return any(column.startswith(WATCHED) for column in pq.read_schema(self.path(name)).names)

    def write(self, curve: Curve) -> str:
        """Keep a curve; a reader sees all of it or nothing. Gives its key."""
        name, stands_on = key(curve.cell), provenance(curve.cell)
        columns = {"run": pa.array(curve.cell.runs), "regret": pa.array(list(curve.regret))}
        columns |= {field: pa.array(getattr(curve, field)) for field in PER_RUN}
        if curve.watched is not None:
            columns |= {WATCHED + name: pa.array(values) for name, values in vars(curve.watched).items()}
        facts = {"rounds": curve.rounds.tolist(), "seconds": curve.seconds, "machine": curve.machine}
        table = pa.table(columns).replace_schema_metadata(
            {
                "cell": curve.cell.canonical(),
                "provenance": json.dumps(stands_on, sort_keys=True),
                "facts": json.dumps(facts),
            }
        )
        write_whole(self.path(name), lambda temporary: pq.write_table(table, temporary))
        return name


def _curve(table: pa.Table, cell: Cell, facts: dict[str, object]) -> Curve:
    return Curve(
        cell=cell,
        rounds=np.array(facts["rounds"]),
        regret=np.array(table["regret"].to_pylist()),
        seconds=float(str(facts["seconds"])),
        machine=str(facts["machine"]),
        watched=_watched(table),
        **{field: table[field].to_numpy() for field in PER_RUN},
    )


def _watched(table: pa.Table) -> Watched | None:
    names = [name for name in table.schema.names if name.startswith(WATCHED)]
    seen = {name.removeprefix(WATCHED): table[name].to_numpy() for name in names}
    return Watched(**seen) if seen else None

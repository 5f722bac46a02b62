"""Compare the curves of two folders of results, made by two versions: python tools/compare_curves.py OLD NEW

Keys name the code, so they differ; cells are matched by what they played. Settings that only the newer
version knows are left out of the match.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def curves(folder: Path) -> list[tuple[dict[str, Any], pa.Table]]:
    """What was played, and the table that was kept of it."""
    tables = [pq.read_table(path) for path in sorted((folder / "cells").glob("*.parquet"))]
    return [(json.loads((table.schema.metadata or {})[b"cell"]), table) for table in tables]


def known(cell: Any, like: Any) -> Any:
    """The cell with only those settings that `like`, an older cell of the same kind, has."""
    if isinstance(cell, dict) and isinstance(like, dict):
        return {name: known(cell[name], like[name]) for name in like if name in cell}
    return cell


def same(one: pa.Table, other: pa.Table) -> bool:
    """Bit for bit, column for column."""
    return one.column_names == other.column_names and all(
        np.array_equal(
            np.asarray(one[name].to_numpy().tolist()),
            np.asarray(other[name].to_numpy().tolist()),
            equal_nan=True,
        )
        for name in one.column_names
    )


def main(old: Path, new: Path) -> int:
    """Print how many are equal; the number of those that differ or are missing."""
    older, newer = curves(old), curves(new)
    if not older:
        raise SystemExit(
            f"{old} holds no curves, so there is nothing to compare. Expected a folder of results."
        )
    equal, different, missing = 0, 0, 0
    for cell, table in older:
        found = [other for played, other in newer if known(played, cell) == cell]
        if not found:
            missing += 1
        elif any(same(table, other) for other in found):
            equal += 1
        else:
            different += 1
            print("differs:", json.dumps(cell["method"]), json.dumps(cell["problem"]))
    print(f"{equal} curves equal to the last bit, {different} different, {missing} only in {old}")
    return different + missing


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1]), Path(sys.argv[2])), 1))

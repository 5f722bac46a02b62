"""Two folders of results are equal only where there is something to compare."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tools.compare_curves import main


def kept(folder: Path, regret: list[float], **settings: object) -> Path:
    (folder / "cells").mkdir(parents=True)
    said = {"cell": json.dumps({"method": "rcdb", "problem": "linear", **settings})}
    table = pa.table({"regret": pa.array(np.array(regret))}).replace_schema_metadata(said)
    pq.write_table(table, folder / "cells" / "one.parquet")
    return folder


def test_curves_are_equal_bit_for_bit_or_not(tmp_path: Path) -> None:
    old = kept(tmp_path / "old", [1.0, float("nan")])
    assert main(old, kept(tmp_path / "new", [1.0, float("nan")], later=1)) == 0  # an option of the newer one
    assert main(old, kept(tmp_path / "off", [1.0 + 2**-52, float("nan")])) == 1
    assert main(old, kept(tmp_path / "other", [1.0, float("nan")], problem="abs")) == 1


def test_nothing_is_not_equal_to_nothing(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="holds no curves"):
        main(tmp_path, kept(tmp_path / "new", [1.0]))

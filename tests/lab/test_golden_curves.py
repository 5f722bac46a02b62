"""The curves of 0.1, float for float: every recipe, both delays, three estimates, with and without φ̂."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tools.golden import CELLS, curve

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("cell", CELLS, ids=["/".join(map(str, cell)) for cell in CELLS])
def test_a_curve_has_not_moved(cell: tuple[str, str, str, str | None]) -> None:
    then = np.load(GOLDEN / "curves.npz")
    for key, values in curve(*cell).items():
        np.testing.assert_array_equal(values, then[key], err_msg=key)

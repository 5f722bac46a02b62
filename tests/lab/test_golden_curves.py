"""The curves of 0.1, float for float: every recipe, both delays, three estimates, with and without φ̂.

What a baseline learns from predictions goes through BLAS, whose last bits depend on the processor: 0.1
wrote the curves with kernels for AVX-512, and those that differ again with kernels for AVX2
(OPENBLAS_CORETYPE=Haswell).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_info
from tools.golden import CELLS, curve

GOLDEN = Path(__file__).parents[1] / "golden"
AVX512 = {"SkylakeX", "Cooperlake", "SapphireRapids"}
AVX2 = {"Haswell", "Zen"}
KERNELS = {str(blas.get("architecture")) for blas in threadpool_info() if blas["user_api"] == "blas"}


def written(name: str) -> dict[str, NDArray[np.float64]]:
    with np.load(GOLDEN / name) as file:
        return dict(file)


@pytest.fixture(scope="module")
def then() -> dict[str, NDArray[np.float64]]:
    """The arrays of 0.1 on a processor like this one."""
    return written("curves.npz") | (written("curves-haswell.npz") if KERNELS <= AVX2 else {})


@pytest.mark.parametrize("cell", CELLS, ids=["/".join(map(str, cell)) for cell in CELLS])
def test_a_curve_has_not_moved(
    cell: tuple[str, str, str, str | None], then: dict[str, NDArray[np.float64]]
) -> None:
    for key, values in curve(*cell).items():
        if KERNELS <= AVX2 or KERNELS <= AVX512:
            np.testing.assert_array_equal(values, then[key], err_msg=key)
        else:  # another kind of processor, for which 0.1 has written nothing
            np.testing.assert_allclose(values, then[key], rtol=1e-9, atol=1e-9, err_msg=key)

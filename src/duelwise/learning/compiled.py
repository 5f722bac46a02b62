"""The one way code is compiled here: cached on disk, without the GIL, IEEE arithmetic.

No fastmath: sums keep their order, so a result depends on neither the number of
threads nor the width of the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """A serial kernel."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


def compiled_over_runs(function: Callable[P, T]) -> Callable[P, T]:
    """A kernel whose `prange` loop over runs is spread over threads."""
    return numba.njit(cache=True, nogil=True, parallel=True, error_model="numpy")(function)


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """A helper that only kernels call."""
    return numba.njit(cache=True, nogil=True, inline="always", error_model="numpy")(function)

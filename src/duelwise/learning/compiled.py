"""The one way code is compiled here: cached on disk, without the GIL, IEEE arithmetic.

No fastmath: sums keep their order, so a result depends on neither the number of
threads nor the width of the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """A serial kernel."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


def compiled_over_runs(function: Callable[P, T]) -> Callable[P, T]:
    """A kernel whose `prange` loop over runs is spread over threads.

    The same function may also be `compiled` as its serial form, for callers with several
    Python threads.
    """
    return numba.njit(cache=True, nogil=True, parallel=True, error_model="numpy")(_renamed(function))


def _renamed(function: Callable[P, T]) -> Callable[P, T]:
    """A twin under another name: the cache tells code apart by name and line, not by how it is compiled."""
    assert isinstance(function, FunctionType)
    twin = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    twin.__qualname__ = f"{function.__qualname__}_over_runs"
    twin.__module__ = function.__module__
    return twin

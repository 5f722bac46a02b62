"""The one way code is compiled here: cached on disk, without the GIL, IEEE arithmetic.

No fastmath: sums keep their order, so a result depends on neither the number of
threads nor the width of the batch.

numba looks at a kernel's own file to see whether the one on disk is out of date, not at the kernels
compiled into it: a change elsewhere would leave the old code running, and a curve would be kept under
the digest of a source that did not make it. Here every kernel is as old as the youngest file that may
hold one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import numba

from duelwise.sources import digest, sources

P = ParamSpec("P")
T = TypeVar("T")

STAMP = digest([*sources("learning"), *sources("lab"), *sources("storage")])


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """A serial kernel."""
    return _stamped(numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def compiled_over_runs(function: Callable[P, T]) -> Callable[P, T]:
    """A kernel whose `prange` loop over runs is spread over threads.

    The same function may also be `compiled` as its serial form, for callers with several
    Python threads.
    """
    kernel = numba.njit(cache=True, nogil=True, parallel=True, error_model="numpy")(_renamed(function))
    return _stamped(kernel)


def _stamped(kernel: Any) -> Any:
    """The kernel, on disk only for sources of this stamp."""
    file = getattr(getattr(kernel, "_cache", None), "_cache_file", None)  # none where nothing is kept
    if file is not None:
        file._source_stamp = (file._source_stamp, STAMP)
        file._load_index = partial(_readable, file._load_index)
    return kernel


def _readable(load_index: Callable[[], Any]) -> Any:
    """The index of what is on disk; none where an older version's names a type that is gone."""
    try:
        return load_index()
    except (ImportError, AttributeError):
        return {}


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

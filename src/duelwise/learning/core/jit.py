"""The one way code is compiled here: cached on disk, without the GIL, IEEE arithmetic.

No fastmath: sums keep their order, so a result depends on neither the number of
threads nor the width of the batch.

numba looks at a kernel's own file to see whether the one on disk is out of date, not at the kernels
compiled into it: a change elsewhere would leave the old code running, and a curve would be kept under
the digest of a source that did not make it. Here every kernel is as old as the youngest file that may
hold one, and a kernel that holds somebody's own part has files of its own, named by that part's source.
"""

# numba's caches have no types to check against.
# pyright: basic, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false

from __future__ import annotations

import hashlib
import inspect
import uuid
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import types
from numba.core.caching import IndexDataCacheFile
from numba.extending import register_jitable

from duelwise.learning.core.compiling_once import Turns
from duelwise.learning.core.deferred_compilation import DeferredKernel
from duelwise.learning.core.kernel_compiler import Kernel
from duelwise.learning.core.state_pointer import Reference
from duelwise.sources import digest, sources

P = ParamSpec("P")
T = TypeVar("T")

STAMP = digest([*sources("learning"), *sources("lab"), *sources("storage")])
_ABOVE = {"duelwise.answers": STAMP + digest(sources("answers"))}
"""Packages that no kernel below them calls: a change there compiles theirs anew, and nobody else's."""
_FOREIGN: dict[type, str] = {}  # state classes of parts from outside, and a digest of their source


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """A serial kernel."""
    return _on_disk(Kernel(function))


def compiled_when_it_pays(function: Callable[P, T]) -> Callable[P, T]:
    """A kernel that Python calls from the first decision on, compiled after some of them."""
    return _on_disk(DeferredKernel(function))


def also_compiled(function: Callable[P, T]) -> Callable[P, T]:
    """A Python function that kernels may call as well."""
    return register_jitable(function)


def compiled_over_runs(function: Callable[P, T]) -> Callable[P, T]:
    """A kernel whose `prange` loop over runs is spread over threads.

    The same function may also be `compiled` as its serial form, for callers with several
    Python threads.
    """
    kernel = numba.njit(cache=True, nogil=True, parallel=True, error_model="numpy")(_renamed(function))
    return _stamped(kernel)


def mark_foreign(state: type, kernel: Callable[..., Any]) -> None:
    """Kernels that hold a part of this state are only as good as that part's own source."""
    if kernel.__module__.startswith("duelwise."):
        return
    try:
        source = Path(inspect.getfile(kernel)).read_bytes()
    except (OSError, TypeError):  # typed in at a prompt: good for this process only
        source = uuid.uuid4().bytes
    _FOREIGN[state] = _FOREIGN.get(state, "") + hashlib.sha256(source).hexdigest()[:8]


def _on_disk(kernel: Any) -> Any:
    """The kernel, kept for other processes."""
    kernel.enable_caching()
    return _stamped(kernel)


def _stamped(kernel: Any) -> Any:
    """The kernel, on disk only for sources of this stamp."""
    cache = getattr(kernel, "_cache", None)
    if hasattr(cache, "_cache_file"):  # it has none where nothing is kept
        cache._cache_file = _CacheFiles(cache, _stamp_of(kernel.py_func.__module__))
    return kernel


def _stamp_of(module: str) -> str:
    return _ABOVE.get(module.rpartition(".")[0], STAMP)


class _CacheFiles:
    """The files of one kernel: those of the package's own parts, and others for each foreign part."""

    def __init__(self, cache: Any, stamp: str) -> None:
        self._path, self._base = cache._cache_path, cache._impl.filename_base
        self._stamp = (cache._cache_file._source_stamp, stamp)
        self._files: dict[str, IndexDataCacheFile] = {}
        self._turns = Turns(self._path, self._base)

    def load(self, key: Any) -> Any:
        """None where it has to be compiled, which then nobody else does until it is saved."""
        found = self._of(key).load(key)
        if found is None and self._turns.take(key):
            found = self._of(key).load(key)
        if found is not None:
            self._turns.give_back(key)
        return found

    def save(self, key: Any, data: Any) -> None:
        try:
            self._of(key).save(key, data)
        finally:
            self._turns.give_back(key)

    def holds(self, key: Any) -> bool:
        """Whether it is on disk, for this package's own parts."""
        return key in self._of(key)._load_index()

    def flush(self) -> None:
        self._file("").flush()

    def _of(self, key: Any) -> IndexDataCacheFile:
        return self._file("-".join(_foreign_parts(key[0])))

    def _file(self, parts: str) -> IndexDataCacheFile:
        if parts not in self._files:
            base = f"{self._base}-{parts}" if parts else self._base
            self._files[parts] = _ReadableFile(self._path, base, self._stamp)
        return self._files[parts]


class _ReadableFile(IndexDataCacheFile):
    """An index that names a type which is gone, an older version's, is as good as none."""

    def _load_index(self) -> dict[Any, str]:
        try:
            return super()._load_index()
        except (ImportError, AttributeError):
            return {}


def _foreign_parts(signature: Any) -> list[str]:
    """Digests of the foreign parts in a signature, in its order."""
    found: list[str] = []
    for kind in signature:
        if getattr(kind, "instance_class", None) in _FOREIGN:
            found.append(_FOREIGN[kind.instance_class])
        if isinstance(kind, types.BaseTuple | Reference):
            found += _foreign_parts(kind.types)
    return found


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

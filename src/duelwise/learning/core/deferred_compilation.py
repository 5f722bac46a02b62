"""Kernels that are not compiled before it pays.

To compile what a stream's first answers need takes many times as long as to start; whoever asks for ten
decisions would wait for nothing. So a kernel on small arrays is run as text (interpreted.py) until that has
taken `PATIENCE` seconds, and compiled then. One that is on disk is taken from there at once. Numbers are the
same in every bit, so it cannot be told from a result which of the two has made it.
"""

# numba's dispatchers have no types to check against.
# pyright: basic, reportAttributeAccessIssue=false

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from duelwise.learning.core.interpreted import NoText, functions_in, text_of
from duelwise.learning.core.kernel_compiler import Kernel
from duelwise.learning.core.state_pointer import Handle, arrays_in
from duelwise.types import Array

PATIENCE = 2.0
"""Seconds that a kernel is run as text at most, for states of one type, before it is compiled.

Half as long as compiling it took the last time, or as compiling its functions should take, if that is less.
"""
A_FUNCTION = 0.1  # seconds that a function takes to compile, about
SMALL_STATE, SMALL_INPUT = 100_000, 1_000
"""Up to so many numbers, in the largest array of a state and in all arrays beside it, Python is quick."""

_patience: ContextVar[float | None] = ContextVar("patience", default=None)


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """In this context kernels are run as text for so long; with 0 they are compiled at once."""
    before = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(before)


class DeferredKernel(Kernel):
    """A kernel that Python calls, compiled for each type of state when that is worth it."""

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._worth_compiling: set[int] = set()  # types of the first two arguments, by identity
        self._read_for: dict[int, float] = {}  # seconds
        self._pays_after: float | None = None  # seconds; until the kernel is first met

    def _compile_for_args(self, *args: Any, **named: Any) -> Any:
        """What serves these arguments, for which nothing is compiled yet: numba calls it with them.

        What is compiled numba calls without a look at this.
        """
        kind = id(getattr(args[0], "_numba_type_", None))
        if len(args) > 1:
            kind ^= id(getattr(args[1], "_numba_type_", None)) << 1
        if kind not in self._worth_compiling and self._is_worth_reading(kind, args):
            return partial(self._read_or_compile, kind)
        self._worth_compiling.add(kind)
        return super()._compile_for_args(*args, **named)

    def _read_or_compile(self, kind: int, *args: Any) -> Any:
        try:
            return self._read(kind, args)
        except NoText:
            self._worth_compiling.add(kind)
            return self(*args)

    def compile(self, sig: Any) -> Any:
        """The first type of state pays for all that the kernel calls; later ones cost less, and wait less."""
        began, taken = time.perf_counter(), sum(self.stats.cache_hits.values())
        made = super().compile(sig)
        if sum(self.stats.cache_hits.values()) == taken:
            self._pays_after = min(PATIENCE, (time.perf_counter() - began) / 2)
        return made

    def _long_enough(self) -> float:
        """Seconds that this may be read for."""
        given = _patience.get()
        if given is not None:
            return given
        if self._pays_after is None:
            try:
                count = functions_in(text_of(self))
            except NoText:
                count = 0
            self._pays_after = min(PATIENCE, count * A_FUNCTION / 2)
        return self._pays_after

    def _is_worth_reading(self, kind: int, args: tuple[Any, ...]) -> bool:
        if self._read_for.get(kind, 0.0) >= self._long_enough():
            return False
        beside = sum(arg.size for arg in args if isinstance(arg, np.ndarray))
        largest = max((array.size for array in _arrays(args)), default=0)
        if beside > SMALL_INPUT or largest > SMALL_STATE:
            return False
        return kind in self._read_for or not self._is_on_disk(args)

    def _read(self, kind: int, args: tuple[Any, ...]) -> Any:
        """What the text makes of this call; where it fails, or is interrupted, nothing has changed."""
        held, began = [arg.held if isinstance(arg, Handle) else arg for arg in args], time.perf_counter()
        before = [(array, array.copy()) for array in _arrays(args) if array.flags.writeable]
        try:
            with np.errstate(all="ignore"):
                return _as_boxed(text_of(self)(*held))
        except BaseException as problem:
            for array, values in before:
                array[...] = values
            if isinstance(problem, Exception):  # compiled code says what is wrong, if anything is
                raise NoText(self.py_func.__qualname__) from problem
            raise
        finally:
            self._read_for[kind] = self._read_for.get(kind, 0.0) + time.perf_counter() - began

    def _is_on_disk(self, args: tuple[Any, ...]) -> bool:
        files = getattr(self._cache, "_cache_file", None)
        if files is None:
            return False
        signature = tuple(self.typeof_pyval(arg) for arg in args)
        return files.holds(self._cache._index_key(signature, self.targetctx.codegen()))


def _arrays(args: tuple[Any, ...]) -> Iterator[Array]:
    """Those that the arguments hold."""
    for arg in args:
        yield from arg.arrays if isinstance(arg, Handle) else arrays_in(arg)


def _as_boxed(value: Any) -> Any:
    """Numbers as compiled code hands them to Python."""
    if isinstance(value, tuple):
        boxed = [_as_boxed(one) for one in value]
        return type(value)(*boxed) if hasattr(value, "_fields") else tuple(boxed)
    return value.item() if isinstance(value, np.generic) else value

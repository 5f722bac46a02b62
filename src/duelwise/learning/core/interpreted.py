"""A kernel's text run by Python, to the last bit what compiled code makes of it.

Sums keep their order in both, and `math` asks the same library. What else differs stands here: in compiled
code a division by zero is infinite, and so is the exponential of a large number; numpy's own exp and log are
other functions than the library's; and what a kernel says in LLVM's words has a twin in Python's. A kernel
that has numpy add up, multiply matrices or draw at random has no text, since numpy keeps another order.
"""

from __future__ import annotations

import dis
import math
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from duelwise.learning.core.kernel_compiler import Kernel
from duelwise.types import Array

ANOTHER_ORDER = {"dot", "sum", "cumsum", "linalg", "random", "prange", "@", "**"}
"""What a text has no business with. A square by the power's own function may have another last bit."""

_TEXTS: dict[Callable[..., Any], Callable[..., Any]] = {}
_STAND_INS: dict[int, Callable[..., Any]] = {}


class NoText(Exception):
    """Python would not make of this kernel what compiled code does."""


def stands_for(intrinsic: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a Python function do in texts what an intrinsic, or a kernel, does in compiled code."""

    def register(twin: Callable[..., Any]) -> Callable[..., Any]:
        _STAND_INS[id(intrinsic)] = twin
        return twin

    return register


def text_of(function: Any) -> Callable[..., Any]:
    """The function with every kernel that it calls as text; a kernel of somebody's own has none."""
    if id(function) in _STAND_INS:
        return _STAND_INS[id(function)]
    function = getattr(function, "py_func", function)
    if function not in _TEXTS:
        names = set(_names(function.__code__))
        ours = function.__module__.startswith("duelwise.") and function.__closure__ is None
        if not ours or names & ANOTHER_ORDER:
            raise NoText(function.__qualname__)
        meant: dict[str, Any] = {}
        _TEXTS[function] = FunctionType(function.__code__, meant, function.__name__, function.__defaults__)
        known = function.__globals__
        try:
            meant.update({name: _meant(known[name]) for name in names if name in known})
        except NoText:
            del _TEXTS[function]
            raise
    return _TEXTS[function]


def functions_in(text: Callable[..., Any]) -> int:
    """How many functions a text is made of, itself and those that it calls."""
    texts, found, left = set(_TEXTS.values()), set[Callable[..., Any]](), [text]
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            named = [value for value in one.__globals__.values() if isinstance(value, FunctionType)]
            left += [value for value in named if value in texts]
    return len(found)


def _names(code: CodeType) -> Iterator[str]:
    """What a text names, its operators included."""
    yield from code.co_names
    yield from (step.argrepr.rstrip("=") for step in dis.get_instructions(code) if step.opname == "BINARY_OP")
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _meant(value: Any) -> Any:
    """What a global of a kernel is in its text."""
    if id(value) in _STAND_INS:
        return _STAND_INS[id(value)]
    if value is math:
        return _MATH
    if value is np:
        return _NUMPY
    if isinstance(value, Kernel) or (isinstance(value, FunctionType) and not hasattr(value, "is_role")):
        return text_of(value)
    return value


def _ieee(function: Callable[[float], float], beyond: Callable[[float], float]) -> Callable[[Any], Any]:
    """The library's function of a number or of each in an array, with its limit where Python raises."""

    def of_one(value: float) -> float:
        try:
            return function(value)
        except (ValueError, OverflowError):
            return beyond(value)

    def of(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            values = cast(Array, value)
            return np.array([of_one(float(one)) for one in values.ravel()]).reshape(values.shape)
        return np.float64(of_one(value))  # which, unlike Python's, may be divided by zero

    return of


_LIKE_COMPILED = {
    "exp": _ieee(math.exp, lambda _: math.inf),
    "log": _ieee(math.log, lambda x: -math.inf if x == 0.0 else math.nan),
    "log1p": _ieee(math.log1p, lambda x: -math.inf if x == -1.0 else math.nan),
    "sqrt": _ieee(math.sqrt, lambda _: math.nan),
}


class _Library:
    """A module, but for the functions that compiled code has otherwise."""

    def __init__(self, module: ModuleType) -> None:
        self.__dict__.update(_LIKE_COMPILED)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


_MATH, _NUMPY = _Library(math), _Library(np)

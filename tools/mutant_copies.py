"""Copies of the checkout to change: one whose kernels stay compiled, and one where they are compiled anew.

Most of a test run after a change is compiling: every kernel on disk is of one digest over all sources. A
change outside of kernels cannot change them, so in the first copy `jit.py` is told the digest from before it.
A change to a kernel, or to what may be compiled into one, is made in the second copy, as it is.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.mutations import Mutation

JIT = Path("src/duelwise/learning/core/jit.py")
COMPILING = ("compiled", "inlined", "also_compiled", "compiled_over_runs", "kernel", "role", "optional_role")
WHOLLY = "src/duelwise/learning/core/"  # here plain functions, too, run while a kernel is compiled
NOT_COPIED = (".git", ".venv", "_build", "build", "dist", "results", "demo", ".*_cache", ".hypothesis")
PINNED = """
_before, _stamp_then, _init_then = {stamp!r}, _stamp_of, _CacheFiles.__init__
_stamp_now, _above_now = STAMP, {above!r}


def _stamp_of(module):
    if STAMP != _stamp_now or not module.startswith("duelwise."):
        return _stamp_then(module)
    return _above_now.get(module.rpartition(".")[0], _before)


def _init(self, cache, stamp):
    _init_then(self, cache, stamp)
    locator = cache._impl.locator
    if locator._py_file == {file!r}:
        locator._py_file = {unchanged!r}
        self._stamp = (locator.get_source_stamp(), stamp)
        locator._py_file = {file!r}


_CacheFiles.__init__ = _init
"""


def copy_of(root: Path, folder: Path) -> Path:
    """The checkout with the kernels that are compiled already; the times of its files are kept for them."""
    shutil.copytree(root, folder, ignore=shutil.ignore_patterns(*NOT_COPIED), dirs_exist_ok=True)
    return folder


def touches_kernels(mutation: Mutation, text: str) -> bool:
    """Whether a change may be compiled into a kernel: in one, or beside one and outside of any function."""
    if mutation.file.startswith(WHOLLY):
        return True
    tree = ast.parse(text)
    kernels = _kernels(tree)
    if not kernels:
        return False
    around = [node for node in ast.walk(tree) if _holds(node, mutation.line)]
    functions = [node for node in around if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    if functions:
        return any(node.name in kernels for node in functions)
    return not any(isinstance(node, ast.ClassDef) for node in around)  # a field of a class is of none


def _kernels(tree: ast.AST) -> set[str]:
    """Names of functions that are decorated with, or handed to, what compiles."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            if any(_name(one) in COMPILING for one in node.decorator_list):
                found.add(node.name)
        elif isinstance(node, ast.Call) and _name(node.func) in COMPILING:
            found |= {one.id for one in node.args if isinstance(one, ast.Name)}
    return found


def _holds(node: ast.AST, line: int) -> bool:
    return isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line)


def _name(node: ast.expr) -> str:
    """`kernel` of `@kernel(role, State)`, `compiled` of `jit.compiled`."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class Copies:
    """Two copies of a checkout, changed one mutant at a time."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.warm = copy_of(root, folder / "warm")
        self.cold = copy_of(root, folder / "cold")
        self._stamps = _stamps(self.warm) if (self.warm / JIT).exists() else None

    @contextmanager
    def changed(self, mutation: Mutation) -> Iterator[Path]:
        """The copy with the change made; afterwards it is as it was, times included."""
        text = (self.warm / mutation.file).read_text(encoding="utf-8")
        if self._stamps is None or touches_kernels(mutation, text):
            with _rewritten(self.cold / mutation.file, mutation.applied(text)):
                yield self.cold
        else:
            file, jit = self.warm / mutation.file, self.warm / JIT
            stamp, above = self._stamps
            unchanged = str(self.cold / mutation.file)
            pin = PINNED.format(stamp=stamp, above=above, file=str(file), unchanged=unchanged)
            pinned = jit.read_text(encoding="utf-8") + pin
            with _rewritten(file, mutation.applied(text)), _rewritten(jit, pinned):
                yield self.warm


@contextmanager
def _rewritten(file: Path, text: str) -> Iterator[None]:
    before, times = file.read_text(encoding="utf-8"), file.stat()
    file.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(before, encoding="utf-8")
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def _stamps(copy: Path) -> tuple[str, dict[str, str]]:
    """What the kernels of an unchanged copy are stamped with."""
    ask = "from duelwise.learning.core import jit; print(repr((jit.STAMP, jit._ABOVE)))"
    environment = os.environ | {"PYTHONPATH": str(copy / "src")}
    done = subprocess.run(
        [sys.executable, "-c", ask], env=environment, check=True, capture_output=True, text=True
    )
    return ast.literal_eval(done.stdout)

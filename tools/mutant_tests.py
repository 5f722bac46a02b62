"""Which tests run a function, and how long they take: a plugin for pytest, and what it found.

A test covers a function when it was seen to run it, in its own process. Kernels cannot be seen; their tests
are found by name.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

import pytest

USERS = {
    "learning": ["learning", "lab"],
    "lab": ["lab", "cli"],
    "stream": ["stream", "service"],
    "service": ["service", "doors"],
}
"""Folders of tests by package, its own first."""

DEFAULTS = "tests/api/test_defaults.py"
"""Reads the sources: it notices defaults and constants, and runs none of them."""


class Recorder:
    """Writes down, test by test, which functions of the package ran, by file and first line."""

    def __init__(self, root: Path, out: Path) -> None:
        self._root, self._package, self._out = root, str(root / "src" / "duelwise"), out
        self._ran: set[CodeType] = set()
        self._digests: dict[str, str] = {}
        self._rows: list[str] = []
        self._failed: set[str] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        files = {_file(item) for item in session.items}
        self._digests = {file: of_sources(self._root, file) for file in files}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        self._ran.clear()
        begun = time.monotonic()
        threading.settrace(self._note)
        sys.settrace(self._note)
        yield
        sys.settrace(None)
        seconds = time.monotonic() - begun
        inside = [code for code in list(self._ran) if code.co_filename.startswith(self._package)]
        functions = sorted(
            f"{Path(code.co_filename).relative_to(self._root).as_posix()}:{code.co_firstlineno}"
            for code in inside
        )
        row = {"test": item.nodeid, "seconds": seconds, "ran": functions, "of": self._digests[_file(item)]}
        if item.nodeid not in self._failed:
            self._rows.append(json.dumps(row) + "\n")
        if nextitem is None or nextitem.path != item.path:  # a file of tests is whole
            with self._out.open("a", encoding="utf-8") as file:
                file.writelines(self._rows)
            self._rows.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)

    def _note(self, frame: FrameType, _event: str, _value: object) -> None:
        self._ran.add(frame.f_code)


def _file(item: pytest.Item) -> str:
    return item.nodeid.split("::")[0]


@dataclass(frozen=True)
class Seen:
    """What a run with the recorder saw."""

    tests: dict[str, list[str]]  # by function, the quickest first
    by_file: dict[str, list[str]]
    seconds: dict[str, float]  # of whole files of tests

    @classmethod
    def read(cls, out: Path) -> Seen:
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        tests: dict[str, list[str]] = {}
        by_file: dict[str, list[str]] = {}
        seconds: dict[str, float] = {}
        for row in sorted(rows, key=lambda row: row["seconds"]):
            for function in row["ran"]:
                tests.setdefault(function, []).append(row["test"])
            for file in {function.rpartition(":")[0] for function in row["ran"]}:
                by_file.setdefault(file, []).append(row["test"])
            own = row["test"].split("::")[0]
            seconds[own] = seconds.get(own, 0.0) + row["seconds"]
        return cls(tests, by_file, seconds)

    def covering(self, root: Path, file: str, line: int) -> list[str]:
        """Tests of a line: those that ran its function or, outside of any, those that ran its file.

        A kernel is never seen to run: first come files of tests that name its module, then tests that ran
        something else of its file, then all others of its package, the quickest file first. Before all of
        them, for a default or a constant, comes the test of these.
        """
        tree = ast.parse((root / file).read_text(encoding="utf-8"))
        function = enclosing(tree, line)
        found = self.tests.get(f"{file}:{function}") if function else self.by_file.get(file)
        first = [DEFAULTS] if (root / DEFAULTS).exists() and not in_body(tree, line) else []
        if found:
            return [*first, *near_first(found, file)]
        near, others = named(file, root / "tests")
        others.sort(key=lambda test: self.seconds.get(test, math.inf))
        near += near_first(self.by_file.get(file, []), file)
        return list(dict.fromkeys([*first, *near, *others])) or ["tests"]


def enclosing(tree: ast.AST, line: int) -> int | None:
    """The first line, decorators included, of the innermost function around a line."""
    starts = [
        min([node.lineno, *(one.lineno for one in node.decorator_list)])
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= line <= (node.end_lineno or line)
    ]
    return max(starts, default=None)


def in_body(tree: ast.AST, line: int) -> bool:
    """Whether a line is among the statements of a function, not in its head and not outside of any."""
    return any(
        node.body[0].lineno <= line <= (node.end_lineno or line)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def near_first(tests: list[str], file: str) -> list[str]:
    """File by file: those named alike, then those of the package's own folder, then the others."""
    stem, package = Path(file).stem, Path(file).parts[2]
    files = list(dict.fromkeys(test.split("::")[0] for test in tests))
    alike = [one for one in files if stem in Path(one).stem]
    own = [one for one in files if one.startswith(f"tests/{package}/")]
    return [
        test for one in dict.fromkeys([*alike, *own, *files]) for test in tests if test.split("::")[0] == one
    ]


def named(file: str, tests: Path) -> tuple[list[str], list[str]]:
    """Files of tests named after a source file or importing it, and the others of its package and users."""
    parts = Path(file).relative_to("src/duelwise").with_suffix("").parts
    module = ".".join(["duelwise", *parts])
    files = files_of_tests(tests.parent, [parts[0]])
    alike = [one for one in files if parts[-1] in Path(one).stem]
    importing = [
        one for one in files if f"{module} import" in (tests.parent / one).read_text(encoding="utf-8")
    ]
    near = list(dict.fromkeys([*alike, *importing]))
    return near, [one for one in files if one not in near]


def files_of_tests(root: Path, packages: Iterable[str]) -> list[str]:
    """Files of tests that may run one of the packages."""
    folders = dict.fromkeys(name for package in packages for name in USERS.get(package, [package]))
    files = [path for name in folders for path in sorted((root / "tests" / name).rglob("test_*.py"))]
    return [path.relative_to(root).as_posix() for path in files]


def of_sources(root: Path, test: str) -> str:
    """A digest of the package and of a file of tests: what is recorded holds for these."""
    total = hashlib.sha256()
    for file in [*sorted((root / "src").rglob("*.py")), root / test]:
        total.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return total.hexdigest()[:16]


def outdated(root: Path, out: Path, tests: list[str]) -> list[str]:
    """Files of tests to record, after the record has lost what is out of date."""
    lines = out.read_text(encoding="utf-8").splitlines(keepends=True) if out.exists() else []
    digests = {json.loads(line)["of"]: json.loads(line)["test"].split("::")[0] for line in lines}
    kept = {of for of, test in digests.items() if (root / test).exists() and of_sources(root, test) == of}
    out.write_text("".join(line for line in lines if json.loads(line)["of"] in kept), encoding="utf-8")
    return [test for test in tests if of_sources(root, test) not in kept]


def record(root: Path, out: Path, tests: list[str]) -> int:
    """Run tests of a checkout with the recorder; pytest's code."""
    words = [*tests, "-q", "-p", "no:cacheprovider", "--no-header", "--tb=short"]
    return int(pytest.main(words, plugins=[Recorder(root, out)]))


if __name__ == "__main__":
    sys.exit(record(Path.cwd(), Path(sys.argv[1]), sys.argv[2:]))

"""One-line changes to a source file that a good test should notice, by operator."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OPERATORS = ("sign", "comparison", "off by one", "swapped argument", "dropped term", "default")
SIGNS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
}
COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}


SYMMETRIC = ("max", "min")
"""Functions that take their arguments in any order: swapped, they say the same."""


@dataclass(frozen=True, order=True)
class Mutation:
    """A span of one line, and what stands there instead."""

    file: str  # below the root
    line: int  # from 1
    begin: int  # in characters
    end: int
    operator: str
    before: str
    after: str

    def applied(self, text: str) -> str:
        """The source with the change made."""
        lines = text.split("\n")
        line = lines[self.line - 1]
        assert line[self.begin : self.end] == self.before, (self, line)
        lines[self.line - 1] = line[: self.begin] + self.after + line[self.end :]
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.operator}: `{self.before}` → `{self.after}`"


def mutations(root: Path, file: Path) -> list[Mutation]:
    """Every change the operators can make to a file."""
    text = file.read_text(encoding="utf-8")
    return sorted(set(_Finder(text, file.relative_to(root).as_posix()).found(ast.parse(text))))


def draw(root: Path, files: list[Path], *, count: int, seed: int) -> list[Mutation]:
    """A sample with the same share of every operator, as far as there are enough."""
    chosen = random.Random(seed)
    by_operator: dict[str, list[Mutation]] = {name: [] for name in OPERATORS}
    for file in sorted(files):
        for mutation in mutations(root, file):
            by_operator[mutation.operator].append(mutation)
    for found in by_operator.values():
        chosen.shuffle(found)
    taken: list[Mutation] = []
    while len(taken) < count and any(by_operator.values()):
        taken += [found.pop() for found in by_operator.values() if found]
    return sorted(taken[:count])


def _is_symmetric(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id in SYMMETRIC


class _Finder:
    """Walks a syntax tree; positions are those of the text, one line each."""

    def __init__(self, text: str, file: str) -> None:
        self._lines, self._file = text.split("\n"), file

    def found(self, tree: ast.AST) -> Iterator[Mutation]:
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
                yield from self._between(node.left, node.right, "sign", *SIGNS[type(node.op)])
                if isinstance(node.op, ast.Add | ast.Sub):
                    yield from self._replaced(node, "dropped term", self._text(node.left))
            elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
                pair = COMPARISONS[type(node.ops[0])]
                yield from self._between(node.left, node.comparators[0], "comparison", *pair)
            elif isinstance(node, ast.Constant) and type(node.value) is int:
                yield from self._replaced(node, "off by one", str(node.value + 1))
            elif isinstance(node, ast.Call) and len(node.args) > 1 and not _is_symmetric(node.func):
                yield from self._swapped(node)
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield from self._defaults(node)

    def _defaults(self, node: ast.FunctionDef | ast.ClassDef) -> Iterator[Mutation]:
        """Defaults of parameters, and of the fields of a class."""
        if isinstance(node, ast.FunctionDef):
            values = [*node.args.defaults, *(value for value in node.args.kw_defaults if value is not None)]
        else:
            values = [
                one.value for one in node.body if isinstance(one, ast.AnnAssign) and one.value is not None
            ]
        for value in values:
            if isinstance(value, ast.Constant) and isinstance(value.value, bool | int | float):
                other = not value.value if isinstance(value.value, bool) else value.value * 2 + 1
                yield from self._replaced(value, "default", repr(other))

    def _swapped(self, node: ast.Call) -> Iterator[Mutation]:
        first, second = node.args[:2]
        if any(isinstance(one, ast.Starred) for one in (first, second)) or not self._one_line(first, second):
            return
        left, right = self._text(first), self._text(second)
        if left != right:
            gap = self._lines[first.lineno - 1][self._column(first, end=True) : self._column(second)]
            yield self._mutation(first, second, "swapped argument", f"{right}{gap}{left}")

    def _between(
        self, left: ast.expr, right: ast.expr, operator: str, before: str, after: str
    ) -> Iterator[Mutation]:
        """The sign between two operands."""
        if not self._one_line(left, right):
            return
        line, begin = self._lines[left.lineno - 1], self._column(left, end=True)
        at = line.find(before, begin, self._column(right))
        if at >= 0:
            yield Mutation(self._file, left.lineno, at, at + len(before), operator, before, after)

    def _replaced(self, node: ast.expr, operator: str, after: str) -> Iterator[Mutation]:
        if self._one_line(node, node) and after != self._text(node):
            yield self._mutation(node, node, operator, after)

    def _mutation(self, first: ast.expr, last: ast.expr, operator: str, after: str) -> Mutation:
        begin, end = self._column(first), self._column(last, end=True)
        before = self._lines[first.lineno - 1][begin:end]
        return Mutation(self._file, first.lineno, begin, end, operator, before, after)

    def _one_line(self, first: ast.expr, last: ast.expr) -> bool:
        return first.lineno == first.end_lineno == last.lineno == last.end_lineno

    def _text(self, node: ast.expr) -> str:
        if not self._one_line(node, node):
            return ""
        return self._lines[node.lineno - 1][self._column(node) : self._column(node, end=True)]

    def _column(self, node: ast.expr, *, end: bool = False) -> int:
        """In characters; the parser counts bytes."""
        line = self._lines[node.lineno - 1].encode()
        count = (node.end_col_offset or 0) if end else node.col_offset
        return len(line[:count].decode())

"""Every public default, as a text: of parameters, of the fields of classes, and constants in capitals.

    python -m tools.defaults > tests/api/defaults.txt

Read from the sources and written as it stands there. Results, kept curves and callers rest on these numbers,
so the listing is kept, and tests/api/test_defaults.py says which of them have moved.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("answers", "lab", "learning", "service", "stream")
PLAIN = ast.Constant | ast.BinOp | ast.UnaryOp | ast.Tuple | ast.List | ast.Dict
PARTS = ast.operator | ast.unaryop | ast.expr_context
LONGEST = 200  # letters of a constant: what is longer is a text, or data


def listing(root: Path = ROOT) -> str:
    """A paragraph for each file that has any."""
    paragraphs: list[str] = []
    for package in PACKAGES:
        for file in sorted((root / "src" / "duelwise" / package).rglob("*.py")):
            found = list(_of_body(ast.parse(file.read_text(encoding="utf-8")).body))
            if found:
                paragraphs.append("\n    ".join([file.relative_to(root / "src").as_posix(), *found]))
    return "\n\n".join(paragraphs) + "\n"


def _of_body(body: list[ast.stmt], owner: str = "") -> Iterator[str]:
    """Lines of a module or, with an owner, of a class."""
    for node in body:
        if isinstance(node, ast.ClassDef) and _is_public(node.name):
            yield from _of_body(node.body, f"{owner}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_public(node.name):
            said = ", ".join(f"{name}={ast.unparse(value)}" for name, value in _of_parameters(node.args))
            if said:
                yield f"{owner}{node.name}({said})"
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0])
            if owner and isinstance(node, ast.AnnAssign) and _is_public(target):
                yield f"{owner}{target} = {ast.unparse(node.value)}"
            elif target.isupper():
                yield from _constant(f"{owner}{target}", node.value)


def _constant(name: str, value: ast.expr) -> Iterator[str]:
    """Numbers, words, and tables of such, which have a line for each entry."""
    if isinstance(value, ast.Dict):
        for key, entry in zip(value.keys, value.values, strict=True):
            if key is not None:
                yield from _constant(f"{name}[{ast.unparse(key)}]", entry)
    elif all(isinstance(one, PLAIN | PARTS) for one in ast.walk(value)):
        line = f"{name} = {ast.unparse(value)}"
        if len(line) <= LONGEST and "\\n" not in line:
            yield line


def _of_parameters(taken: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    by_place = [*taken.posonlyargs, *taken.args]
    last = by_place[len(by_place) - len(taken.defaults) :]
    names, values = [*last, *taken.kwonlyargs], [*taken.defaults, *taken.kw_defaults]
    return ((one.arg, value) for one, value in zip(names, values, strict=True) if value is not None)


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name == "__init__"


if __name__ == "__main__":
    print(listing(), end="")

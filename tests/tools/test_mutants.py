"""The mutants' tool: finds changes by operator, makes and takes back each, and tells who noticed."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.mutant_copies import Copies, touches_kernels
from tools.mutant_tests import DEFAULTS, Seen, enclosing, in_body, named
from tools.mutants import ROOT, forget_survivors, read, report, run
from tools.mutations import OPERATORS, Mutation, draw, mutations

SOURCE = '''"""Sums."""


def reach(a: int, b: int, *, limit: int = 10) -> int:
    """ω + 1: how far; letters before a sign may take two bytes."""
    ω = max(a, b) - pow(a, 0)
    return ω + 2 * b if a < limit else 0


def unused() -> int:
    return 7 + 1
'''
TEST = """
from duelwise.lab.sums import reach

def test_reach():
    assert (reach(1, 2), reach(9, 2), reach(10, 2), reach(2, 1)) == (5, 12, 0, 3)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "duelwise" / "lab"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "sums.py").write_text(SOURCE)
    (tmp_path / "tests" / "lab").mkdir(parents=True)
    (tmp_path / "tests" / "lab" / "test_sums.py").write_text(TEST)
    return tmp_path


def test_every_operator_is_found_and_every_change_is_code(project: Path) -> None:
    file = project / "src" / "duelwise" / "lab" / "sums.py"
    found = mutations(project, file)
    assert {mutation.operator for mutation in found} == set(OPERATORS)
    for mutation in found:
        changed = mutation.applied(SOURCE)
        ast.parse(changed)
        assert changed != SOURCE
        assert len(changed.splitlines()) == len(SOURCE.splitlines())
    told = {str(mutation).split(" ", 1)[1] for mutation in found}
    assert "comparison: `<` → `<=`" in told
    assert "swapped argument: `a, 0` → `0, a`" in told
    assert "default: `10` → `21`" in told
    assert "dropped term: `ω + 2 * b` → `ω`" in told
    assert sum("swapped argument" in one for one in told) == 1  # the largest is the same in any order


def test_a_draw_follows_its_seed_and_takes_every_operator() -> None:
    files = list((ROOT / "src" / "duelwise" / "learning").rglob("*.py"))
    chosen = draw(ROOT, files, count=60, seed=1)
    assert chosen == draw(ROOT, files, count=60, seed=1) != draw(ROOT, files, count=60, seed=2)
    assert {mutation.operator for mutation in chosen} == set(OPERATORS)
    assert len(set(chosen)) == 60


def test_what_no_test_sees_survives_and_the_rest_is_killed(project: Path, tmp_path: Path) -> None:
    file = project / "src" / "duelwise" / "lab" / "sums.py"
    lines = {mutation.line: mutation for mutation in mutations(project, file) if mutation.operator == "sign"}
    chosen = [lines[6], lines[11]]  # in `reach`, and in `unused`
    out = tmp_path / "mutants.jsonl"
    first, second = run(chosen, out, project)
    assert first.killed
    assert "test_sums.py" in first.by
    assert not second.killed
    assert file.read_text() == SOURCE
    assert read(out) == [first, second] == run(chosen, out, project)  # from the file, not again
    text, share = report([first, second], "")
    assert "1 of 2 survived, 1 of them unexplained" in text
    assert share == 0.5
    assert report([first, second], f"{second.mutation}\n  nobody calls it")[1] == 0.0


def test_survivors_are_tried_again_on_request(project: Path, tmp_path: Path) -> None:
    file = project / "src" / "duelwise" / "lab" / "sums.py"
    lines = {mutation.line: mutation for mutation in mutations(project, file) if mutation.operator == "sign"}
    chosen, out = [lines[6], lines[11]], tmp_path / "mutants.jsonl"
    killed, survivor = run(chosen, out, project, workers=2)
    tests = project / "tests" / "lab" / "test_sums.py"
    tests.write_text(f"{TEST}\nfrom duelwise.lab.sums import unused\ndef test_7(): assert unused() == 8\n")
    forget_survivors(out)
    assert read(out) == [killed]
    again = run(chosen, out, project)
    assert again[0] == killed
    assert again[1].mutation == survivor.mutation
    assert again[1].killed


def test_tests_named_after_a_file_come_first() -> None:
    near, others = named("src/duelwise/learning/core/links.py", ROOT / "tests")
    assert near[0].endswith("test_links.py")
    assert "tests/lab/test_presets.py" in others
    assert not set(near) & set(others)


def test_the_innermost_function_is_found_with_its_decorators() -> None:
    tree = ast.parse("a = 1\n@b\ndef f():\n    def g():\n        return 1\n    return g\n")
    assert [enclosing(tree, line) for line in (1, 3, 5, 6)] == [None, 2, 4, 2]


def test_a_head_and_what_is_outside_of_functions_are_in_no_body() -> None:
    tree = ast.parse("A = 1\n\ndef f(\n    a=2,\n):\n    return a\n\nclass B:\n    c: int = 3\n")
    assert [in_body(tree, line) for line in (1, 3, 4, 6, 9)] == [False, False, False, True, False]


def test_a_default_meets_the_listing_of_defaults_first() -> None:
    file = "src/duelwise/lab/cells/problem.py"
    lines = (ROOT / file).read_text().splitlines()
    field = 1 + next(number for number, line in enumerate(lines) if line.startswith("    horizon: int = "))
    inside = 1 + next(number for number, line in enumerate(lines) if line.startswith("        return "))
    seen = Seen({}, {file: ["tests/lab/test_presets.py::test_it"]}, {})
    assert seen.covering(ROOT, file, field) == [DEFAULTS, "tests/lab/test_presets.py::test_it"]
    assert DEFAULTS not in seen.covering(ROOT, file, inside)


KERNELS = """LIMIT = 3


class Ramp:
    low: int = 4


@compiled
def step(x):
    return x + LIMIT


def start(x):
    return x - 1


over_runs = compiled_over_runs(start_all)
"""


def test_only_what_may_be_compiled_into_a_kernel_compiles_them_anew() -> None:
    def touching(file: str, line: int) -> bool:
        return touches_kernels(Mutation(file, line, 0, 0, "sign", "", ""), KERNELS)

    file = "src/duelwise/learning/ramps.py"
    assert [touching(file, line) for line in (1, 5, 10, 14)] == [True, False, True, False]
    assert touching("src/duelwise/learning/core/ramps.py", 14)
    assert not touches_kernels(Mutation(file, 1, 0, 0, "sign", "", ""), "LIMIT = 3\n")


ASK = """
from numba.core.dispatcher import Dispatcher
from duelwise.learning.core import links
from duelwise.learning.weighting import audit
for module in (audit, links):
    kernels = [one for one in vars(module).values() if isinstance(one, Dispatcher)]
    print([(one.py_func.__name__, one._cache._cache_file._stamp) for one in kernels])
"""


def _stamps(copy: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(copy / "src")}
    return subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_a_change_outside_of_kernels_leaves_them_compiled(tmp_path: Path) -> None:
    """The digest and the file's own date are told as they were, and everything is put back."""
    kernels = shutil.ignore_patterns("__pycache__")  # some may be made at this moment
    shutil.copytree(ROOT / "src", tmp_path / "checkout" / "src", ignore=kernels)
    copies = Copies(tmp_path / "checkout", tmp_path)
    file = tmp_path / "checkout" / "src" / "duelwise" / "learning" / "weighting" / "audit.py"
    text = file.read_text()
    found = mutations(tmp_path / "checkout", file)
    plain = next(one for one in found if not touches_kernels(one, text))
    inside = next(one for one in found if touches_kernels(one, text))
    before = _stamps(copies.warm)
    assert "on_the_ramp" in before
    with copies.changed(plain) as copy:
        assert copy == copies.warm
        assert (copy / plain.file).read_text() == plain.applied(text)
        assert _stamps(copy) == before
    with copies.changed(inside) as copy:
        assert copy == copies.cold
        assert _stamps(copy) != before
    assert _stamps(copies.warm) == before == _stamps(copies.cold)

"""The mutants' tool: finds changes by operator, makes and takes back each, and tells who noticed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tools.mutants import ROOT, covering, read, report, run
from tools.mutations import OPERATORS, draw, mutations

SOURCE = '''"""Sums."""


def reach(a: int, b: int, *, limit: int = 10) -> int:
    """ω + 1: how far; letters before a sign may take two bytes."""
    ω = max(a, b) - 1
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
    assert "swapped argument: `a, b` → `b, a`" in told
    assert "default: `10` → `21`" in told
    assert "dropped term: `ω + 2 * b` → `ω`" in told


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


def test_tests_named_after_a_file_come_first() -> None:
    near = covering("src/duelwise/learning/links.py", ROOT / "tests")
    assert near[0].endswith("test_links.py")
    assert near[-1].endswith("tests/lab")

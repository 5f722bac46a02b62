"""Which tests two versions share, and what they take."""

from pathlib import Path

import pytest
from tools.cold_tests import Taken, names, options, taken, told


def test_a_checkout_of_three_tests(tmp_path: Path) -> None:
    """One of them about packaging, one with a name that is not read back from a file."""
    (tmp_path / "src").mkdir()
    (tmp_path / "tests" / "packaging").mkdir(parents=True)
    (tmp_path / "tests" / "packaging" / "test_wheel.py").write_text("def test_it(): pass\n")
    (tmp_path / "tests" / "test_both.py").write_text(
        "import os, pytest\n"
        "@pytest.mark.parametrize('name', ['plain', 'φ̂'], ids=str)\n"
        "def test_it(name): assert 'kernels' in os.environ['NUMBA_CACHE_DIR']\n"
    )
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = -q -m 'not long'\nmarkers = long\n"
        "disable_test_id_escaping_and_forfeit_all_rights_to_community_support = true\n"
    )
    shared = names(tmp_path)
    assert shared == ["tests/test_both.py::test_it[plain]"]
    (tmp_path / "Makefile").write_text("test: ready\n\tpython -m pytest -n 1 --dist load  # one\n")
    assert options(tmp_path) == ["-n", "1", "--dist", "load"]
    run = taken(tmp_path, shared)
    assert min(run.processor, run.clock) > 0.0
    assert run.told.startswith("1 passed")


def test_a_checkout_that_runs_no_tests_is_named(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\techo none\ncheck:\n\tpython -m pytest\n")
    with pytest.raises(SystemExit, match=r"Makefile has no target `test`"):
        options(tmp_path)


def test_the_ratio_is_taken_turn_by_turn() -> None:
    here, there = (
        [Taken(9.0, 20.0, ""), Taken(30.0, 40.0, "")],
        [Taken(10.0, 10.0, ""), Taken(20.0, 80.0, "")],
    )
    text = told(7, here, there)
    assert "| by the clock | 20 | 15 | 1.20 (0.90 to 1.50) |" in text
    assert "| processor time | 30 | 45 | 1.25 (0.50 to 2.00) |" in text

"""Which tests two versions share, and what they take."""

from pathlib import Path

from tools.cold_tests import names, seconds


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
    used, told = seconds(tmp_path, shared)
    assert used > 0.0
    assert told.startswith("1 passed")

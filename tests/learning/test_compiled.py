"""Kernels on disk are those of the sources at hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from duelwise import sources
from duelwise.learning.core import jit

HEAD = "from duelwise.learning.core.jit import compiled\n"
INNER = HEAD + "\n@compiled\ndef g():\n    return {}\n"
OUTER = HEAD + "from inner import g\n\n@compiled\ndef f():\n    return g()\n"
TELL = """
import sys
from duelwise.learning.core import jit
jit.STAMP = sys.argv[1]
from outer import f
print(f(), sum(f.stats.cache_hits.values()))
"""


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_kernel_follows_the_kernel_it_calls(tmp_path: Path, elsewhere: bool) -> None:
    """f calls g of another file; both beside their source, or where NUMBA_CACHE_DIR says."""
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    if elsewhere:
        environment |= {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def told(stamp: str, value: int) -> list[str]:
        (tmp_path / "inner.py").write_text(INNER.format(value))
        command = [sys.executable, "-c", TELL, stamp]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout.split()

    (tmp_path / "outer.py").write_text(OUTER)
    assert told("first", 1) == ["1", "0"]
    assert told("first", 1) == ["1", "1"]  # from disk
    assert told("second", 22) == ["22", "0"]


def test_the_stamp_is_of_every_file_that_may_hold_a_kernel() -> None:
    root = Path(jit.__file__).parents[2]
    holders = {
        file.relative_to(root).as_posix()
        for file in root.rglob("*.py")
        if "@compiled" in file.read_text() or "compiled_over_runs(" in file.read_text()
    }
    stamped = [*sources.sources("learning"), *sources.sources("lab"), *sources.sources("storage")]
    above = {name for name, _ in sources.sources("answers")}  # has a stamp of its own, this one included
    assert holders <= {name for name, _ in stamped} | above
    assert sources.digest(stamped) == jit.STAMP


def test_a_digest_sees_names_and_contents(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("a")
    two.write_text("b")
    before = sources.digest([("one.py", one), ("two.py", two)])
    assert sources.digest([("two.py", two), ("one.py", one)]) == before
    assert sources.digest([("one.py", two), ("two.py", one)]) != before
    two.write_text("c")
    assert sources.digest([("one.py", one), ("two.py", two)]) != before


def test_what_is_no_file_is_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "part" / "__pycache__").mkdir(parents=True)
    (tmp_path / "part" / "module.py").write_text("")
    (tmp_path / "part" / "__pycache__" / "old.py").write_text("")
    (tmp_path / "part" / ".#module.py").symlink_to("nobody@nowhere")  # an editor's lock
    monkeypatch.setattr(sources, "files", lambda _: tmp_path)
    assert [name for name, _ in sources.sources("part")] == ["part/module.py"]
    assert sources.sources("absent") == []

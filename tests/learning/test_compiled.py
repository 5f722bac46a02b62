"""Kernels on disk are those of the sources at hand."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numba
import pytest

from duelwise import sources
from duelwise.learning.core import compiling_once, jit
from duelwise.learning.core.compile_time import compile_time

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


AT_ONCE = """
import time, sys
from outer import f
time.sleep(max(0.0, float(sys.argv[1]) - time.time()))
print(f(), sum(f.stats.cache_hits.values()))
"""


def test_of_two_processes_at_once_one_compiles(tmp_path: Path) -> None:
    (tmp_path / "inner.py").write_text(INNER.format(1))
    (tmp_path / "outer.py").write_text(OUTER)
    command = [sys.executable, "-c", AT_ONCE, str(time.time() + 6)]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(one.communicate(timeout=60)[0] for one in both) == ["1 0\n", "1 1\n"]
    assert not list(tmp_path.rglob("*.lock"))


def test_a_process_that_died_while_compiling_keeps_nobody_waiting(tmp_path: Path) -> None:
    holds = "import sys\nfrom duelwise.learning.core.compiling_once import Turns\n"
    take = "Turns(sys.argv[1], 'k').take('s')"
    subprocess.run([sys.executable, "-c", holds + take, str(tmp_path)], check=True)
    assert list(tmp_path.glob("k-*.lock"))
    turns = compiling_once.Turns(str(tmp_path), "k")
    assert not turns.take("s")
    turns.give_back("s")
    assert not list(tmp_path.glob("k-*.lock"))


def test_who_waits_for_another_looks_again_when_it_is_done(tmp_path: Path) -> None:
    first, second = compiling_once.Turns(str(tmp_path), "k"), compiling_once.Turns(str(tmp_path), "k")
    assert not first.take("s")
    done = threading.Timer(0.3, first.give_back, ["s"])
    done.start()
    assert second.take("s")
    second.give_back("s")
    done.join()


def test_who_waits_too_long_compiles_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling_once, "LONGEST_WAIT", 0.1)
    first, second = compiling_once.Turns(str(tmp_path), "k"), compiling_once.Turns(str(tmp_path), "k")
    assert not first.take("s")
    assert not second.take("other")  # another signature is nobody's business
    assert not second.take("s")
    first.give_back("s")
    assert not second.take("s")


def test_compiling_is_timed_apart_and_once() -> None:
    def work(x: float) -> float:
        return x + 1.0

    heard: list[bool] = []
    kernel = numba.njit()(work)
    with compile_time(heard.append) as spent:
        kernel(1.0)
        seconds = spent.seconds
        kernel(2.0)  # it is there now
    assert heard == [True, False]
    assert 0 < seconds == spent.seconds
    assert spent.processor_seconds > 0


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

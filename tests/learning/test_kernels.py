"""Kernels on disk are those of the sources at hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from duelwise.kernels import drop_stale


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with a module, a kernel of it and a file that is none."""
    folder = tmp_path / "thing"
    cache = folder / "part" / "__pycache__"
    cache.mkdir(parents=True)
    (folder / "part" / "module.py").write_text("value = 1\n")
    for name in ("module.f-1.py311.nbi", "module.f-1.py311.1.nbc", "module.cpython-311.pyc"):
        (cache / name).write_text("compiled")
    return folder


def left(package: Path) -> set[str]:
    return {file.suffix for file in (package / "part" / "__pycache__").iterdir()}


def test_kernels_of_unknown_origin_are_dropped_once(package: Path) -> None:
    assert drop_stale(package)
    assert left(package) == {".pyc"}
    (package / "part" / "__pycache__" / "module.f-1.py311.nbi").write_text("compiled anew")
    assert not drop_stale(package)
    assert left(package) == {".pyc", ".nbi"}


@pytest.mark.parametrize("change", ["edited", "touched", "added", "removed"])
def test_any_change_of_the_sources_drops_them(package: Path, change: str) -> None:
    source = package / "part" / "module.py"
    drop_stale(package)
    (package / "part" / "__pycache__" / "module.f-1.py311.nbi").write_text("compiled anew")
    if change == "edited":
        source.write_text("value = 22\n")
    elif change == "touched":
        os.utime(source, ns=(1, 1))
    elif change == "added":
        (package / "other.py").write_text("")
    else:
        source.unlink()
    assert drop_stale(package)
    assert left(package) == {".pyc"}


def test_a_folder_that_cannot_be_written_is_left_alone(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "read-only")

    monkeypatch.setattr(Path, "unlink", refuse)  # as root, permissions alone would not refuse
    assert not drop_stale(package)
    assert ".nbi" in left(package)


def test_a_kernel_follows_the_kernel_it_calls(tmp_path: Path) -> None:
    folder = tmp_path / "thing"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "import pathlib, duelwise.kernels\nduelwise.kernels.drop_stale(pathlib.Path(__file__).parent)\n"
    )
    (folder / "outer.py").write_text(
        "import numba\nfrom thing.inner import g\n\n@numba.njit(cache=True)\ndef f():\n    return g()\n"
    )
    inner = "import numba\n\n@numba.njit(cache=True)\ndef g():\n    return {}\n"
    told: list[str] = []
    for value in (1, 22):
        (folder / "inner.py").write_text(inner.format(value))
        code = "from thing.outer import f; print(f())"
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        told.append(done.stdout.strip())
    assert told == ["1", "22"]

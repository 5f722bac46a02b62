"""Bare environments made from the built wheel: only what its metadata asks for, linked from this environment.

Nothing is downloaded, and a dependency that the metadata forgets is missing here as it would be for a user.
"""

from __future__ import annotations

import importlib.metadata as metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
NOT_COPIED = (
    ".*_cache", ".git", ".hypothesis", ".venv", "__pycache__", "*.egg-info", "_build", "build", "dist",
    "results",
)  # fmt: skip


def build(folder: Path) -> Path:
    """The wheel and the source archive of this checkout; gives the wheel.

    A copy is built: two builds of one folder at a time would meet in it.
    """
    copy = folder.with_name(f"{folder.name}-source")
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NOT_COPIED))
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(copy)]
    subprocess.run(words, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


class Bare:
    """A virtual environment with the dependencies of some extras, and perhaps Duelwise itself."""

    def __init__(self, folder: Path, wheel: Path, extras: str = "", *, install: bool = True) -> None:
        self.folder, self.wheel = folder, wheel
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self.site = folder / "lib" / version / "site-packages"
        wanted = _requirements(wheel, set(extras.split(",")) - {""})
        for name in _closure([*wanted, "pip"]):
            self._link(name)
        self._script("pip", "from pip._internal.cli.main import main")
        if install:
            with zipfile.ZipFile(wheel) as packed:
                packed.extractall(self.site)
            self._script("duelwise", "from duelwise.cli import main")

    @property
    def environment(self) -> dict[str, str]:
        """As after `activate`; pip finds the wheel and needs no network."""
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        return kept | {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "VIRTUAL_ENV": str(self.folder),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheel.parent),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def run(self, script: str, folder: Path, *, timeout: float = 600) -> str:
        """What a shell script says; it must end well."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    def _link(self, name: str) -> None:
        """Every file or folder that a distribution has beside others."""
        source = Path(str(metadata.distribution(name).locate_file("")))
        for top in {Path(file).parts[0] for file in metadata.files(name) or ()} - {"..", "__pycache__"}:
            place = self.site / top
            if not place.exists() and (source / top).exists():
                place.symlink_to(source / top)

    def _script(self, name: str, importing: str) -> None:
        file = self.folder / "bin" / name
        file.write_text(f"#!{self.folder / 'bin' / 'python'}\nimport sys\n{importing}\nsys.exit(main())\n")
        file.chmod(0o755)


def _requirements(wheel: Path, extras: set[str]) -> list[str]:
    """What the wheel's own metadata asks for."""
    with zipfile.ZipFile(wheel) as packed:
        name = next(name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        text = packed.read(name).decode()
    asked = [Requirement(line) for line in re.findall(r"^Requires-Dist: (.*)$", text, flags=re.M)]
    found: list[str] = []
    for one in asked:
        if _wanted(one, extras):
            inner = one.name.lower() == "duelwise"
            found += _requirements(wheel, set(one.extras)) if inner else [one.name, *_extra(one)]
    return found


def _extra(one: Requirement) -> list[str]:
    """What a dependency's own extras bring."""
    asked = [Requirement(line) for line in metadata.requires(one.name) or ()]
    return (
        [need.name for need in asked if need.marker and _wanted(need, set(one.extras))] if one.extras else []
    )


def _wanted(one: Requirement, extras: set[str]) -> bool:
    return one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras | {""})


def _closure(names: list[str]) -> set[str]:
    """Distributions and all that they need in turn."""
    known: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name.lower() in known:
            continue
        try:
            asked = [Requirement(line) for line in metadata.requires(name) or ()]
        except metadata.PackageNotFoundError:
            continue  # for another platform
        known.add(name.lower())
        waiting += [one.name for one in asked if _wanted(one, set())]
    return known

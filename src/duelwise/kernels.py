"""Compiled kernels on disk: dropped when any source file of the package has changed.

numba keeps a kernel beside its source and compiles it anew when that one file changes. It does not
look at the kernels that were compiled into it, so after a change elsewhere the old code would run on
under a new name: nobody should have to think of that, least of all a sweep whose curves are kept by
the digest of their source.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

STAMP = "kernels.stamp"


def drop_stale(package: Path) -> bool:
    """Remove the kernels of a package whose sources are not those they were compiled from.

    Returns whether it did. Where nothing can be written there is nothing stale: numba then keeps
    its kernels elsewhere, by the time of installation.
    """
    stamp, now = package / "__pycache__" / STAMP, _stamp_of(package)
    try:
        if stamp.exists() and stamp.read_text() == now:
            return False
        for kernel in _files(package, ".nbi", ".nbc"):
            Path(kernel.path).unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        fresh = stamp.with_suffix(f".{os.getpid()}")  # whole or not at all, whoever else starts now
        fresh.write_text(now)
        fresh.replace(stamp)
    except OSError:
        return False
    return True


def _stamp_of(package: Path) -> str:
    """A hash over every source file's name, size and time of change."""
    seen = sorted(
        (file.path, stat.st_size, stat.st_mtime_ns)
        for file in _files(package, ".py")
        for stat in (file.stat(),)
    )
    return hashlib.sha256(repr(seen).encode()).hexdigest()


def _files(folder: Path | str, *suffixes: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path, *suffixes)
            elif entry.name.endswith(suffixes):
                yield entry

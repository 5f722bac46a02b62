"""Quick tests that another version has too, from an empty folder of kernels, both versions beside each other.

    python -m tools.cold_tests --today PATH/src [--page docs/decisions/a-compiled-loop.md]

The other version runs in this environment, its package first on the path. Tests that start processes with a
path of their own would find this package instead, and tests of packaging need none: both are left out.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.timing import write_between_marks

ROOT = Path(__file__).parents[1]
LEFT_OUT = re.compile(r"tests/packaging|test_a_kernel_follows_the_kernel_it_calls|[^ -~]")
"""Besides what the docstring says, tests whose name pytest could not read back from a file."""

PYTEST = [sys.executable, "-m", "pytest", "-o", "addopts=", "-q", "-m", "not long", "-p", "no:cacheprovider"]
"""Whatever options a checkout sets for itself: with another -q the names would not be told."""


def environment(checkout: Path, kernels: str) -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": str(checkout / "src"), "NUMBA_CACHE_DIR": kernels, "OMP_NUM_THREADS": "1",
    }  # fmt: skip


def names(checkout: Path) -> list[str]:
    """Of all quick tests, in order."""
    places = environment(checkout, tempfile.gettempdir())
    command = [*PYTEST, "--collect-only"]
    done = subprocess.run(command, cwd=checkout, env=places, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line and not LEFT_OUT.search(line)]


def seconds(checkout: Path, tests: Sequence[str]) -> tuple[float, str]:
    """Of processor time, and what pytest says last."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "tests"
        listed.write_text("\n".join(tests))
        measure = (
            "import resource, subprocess, sys; "
            "done = subprocess.run(sys.argv[1:], capture_output=True, text=True); "
            "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
            "print(done.stdout.strip().splitlines()[-1]); print(used.ru_utime + used.ru_stime)"
        )
        places = environment(checkout, f"{folder}/kernels")
        command = [sys.executable, "-c", measure, *PYTEST, "-n", "1", f"@{listed}"]
        done = subprocess.run(command, cwd=checkout, env=places, capture_output=True, text=True, check=True)
    told, used = done.stdout.splitlines()[-2:]
    return float(used), told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--today", type=Path, required=True, help="the src folder of another checkout")
    parser.add_argument("--page", type=Path, help="a page to write the figures into, between its marks")
    given = parser.parse_args()
    checkouts = (ROOT, given.today.resolve().parent)
    here, there = map(names, checkouts)
    shared = sorted(set(here) & set(there), key=here.index)
    if not shared:
        raise SystemExit(f"{ROOT} and {checkouts[1]} have no quick test under the same name.")
    with ThreadPoolExecutor(2) as pool:  # beside each other, a core for each
        (ours, told), (theirs, told_there) = pool.map(lambda checkout: seconds(checkout, shared), checkouts)
    print(f"here:  {told}\nthere: {told_there}")
    text = (
        f"{len(shared)} tests: {ours:.0f} s of processor time here, {theirs:.0f} s with the other version "
        f"({ours / theirs:.2f}).\n"
    )
    print(text)
    if given.page is not None:
        write_between_marks(given.page, "cold tests", text)


if __name__ == "__main__":
    main()

"""Quick tests that another version has too, from an empty folder of kernels, the versions in turns.

    python -m tools.cold_tests --today PATH/src [--page docs/decisions/a-compiled-loop.md]

Each checkout's own `make test` says how it runs them: on how many workers, dealt out how. The other version
runs in this environment, its package first on the path. Tests that start processes with a path of their own
would find this package instead, and tests of packaging need none: both are left out.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

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


def options(checkout: Path) -> list[str]:
    """What `make test` gives to pytest."""
    makefile = (checkout / "Makefile").read_text()
    found = re.search(r"^test:.*\n(?:\t.*\n)*?\t.*-m pytest\b(.*)$", makefile, re.MULTILINE)
    if found is None:
        raise SystemExit(f"{checkout / 'Makefile'} has no target `test` that runs pytest.")
    return shlex.split(found[1], comments=True)


class Taken(NamedTuple):
    """What a run took, and what pytest said last."""

    clock: float  # seconds
    processor: float
    told: str


def taken(checkout: Path, tests: Sequence[str]) -> Taken:
    """The tests, run as the checkout runs them, with no kernel on disk."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "tests"
        listed.write_text("\n".join(tests))
        command = [*PYTEST, *options(checkout), f"@{listed}"]
        places = environment(checkout, f"{folder}/kernels")
        before, began = _processor(), time.perf_counter()
        done = subprocess.run(command, cwd=checkout, env=places, capture_output=True, text=True, check=True)
        clock = time.perf_counter() - began
        return Taken(clock, _processor() - before, done.stdout.strip().splitlines()[-1])


def _processor() -> float:
    """Of all processes that have ended so far, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--today", type=Path, required=True, help="the src folder of another checkout")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--page", type=Path, help="a page to write the figures into, between its marks")
    given = parser.parse_args()
    checkouts = {"here": ROOT, "there": given.today.resolve().parent}
    here, there = map(names, checkouts.values())
    shared = sorted(set(here) & set(there), key=here.index)
    if not shared:
        raise SystemExit(f"{ROOT} and {checkouts['there']} have no quick test under the same name.")
    turns: dict[str, list[Taken]] = {place: [] for place in checkouts}
    for number in range(given.repeats):  # there and back, so that nobody always comes second
        for place in sorted(checkouts, reverse=number % 2 == 1):
            turns[place].append(taken(checkouts[place], shared))
            print(place, turns[place][-1], flush=True)
    text = told(len(shared), turns["here"], turns["there"])
    print(text)
    if given.page is not None:
        write_between_marks(given.page, "cold tests", text)


def told(count: int, here: Sequence[Taken], there: Sequence[Taken]) -> str:
    """A table of medians, and of the ratio turn by turn."""
    lines = [
        f"| {count} tests, {len(here)} turns | here, s | there, s | here / there (spread) |",
        "|---|---|---|---|",
    ]
    for name, ours, theirs in (
        ("by the clock", [one.clock for one in here], [one.clock for one in there]),
        ("processor time", [one.processor for one in here], [one.processor for one in there]),
    ):
        each = [mine / other for mine, other in zip(ours, theirs, strict=True)]
        lines.append(
            f"| {name} | {statistics.median(ours):.0f} | {statistics.median(theirs):.0f} "
            f"| {statistics.median(each):.2f} ({min(each):.2f} to {max(each):.2f}) |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()

"""How long the machine itself makes a program wait, whatever the program does.

    python -m benchmarks.pauses [--seconds 5]

A loop on every core reads the clock and does nothing else. Where two readings lie apart, something took the
core away: another process, or another tenant of the host. From the gaps follows how long a request would wait
that comes at any moment and takes no time: no server on this machine has a better p99.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain

import numpy as np

SHORTEST = 0.0005  # seconds: what is shorter is the loop's own
STEPS = 40  # of bisection


def gaps(seconds: float) -> list[float]:
    """Seconds for which this loop was stopped, each time."""
    found: list[float] = []
    end = (now := time.perf_counter()) + seconds
    while now < end:
        before, now = now, time.perf_counter()
        if now - before > SHORTEST:
            found.append(now - before)
    return found


def wait(gaps: Sequence[float], seconds: float, share: float) -> float:
    """What `share` of the moments of so many seconds have to wait longer than: seconds."""
    stopped = np.array(gaps)
    low, high = 0.0, float(stopped.max(initial=0.0))
    for _ in range(STEPS):
        middle = (low + high) / 2
        longer = np.maximum(stopped - middle, 0).sum() / seconds > share
        low, high = (middle, high) if longer else (low, middle)
    return high


def machine_waits(seconds: float, share: float = 0.01) -> float:
    """The same of all cores at once."""
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores) as pool:
        found = list(chain.from_iterable(pool.map(gaps, [seconds] * cores)))
    return wait(found, cores * seconds, share)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    seconds = parser.parse_args().seconds
    print(f"one moment in a hundred waits longer than {1e3 * machine_waits(seconds):.1f} ms")


if __name__ == "__main__":
    main()

"""Ratios taken in one run: both sides interleaved, several repeats, the spread beside the median."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    work: str
    against: str
    asked: str
    ratio: float
    low: float
    high: float
    ours: str
    theirs: str

    def plain(self) -> dict[str, object]:
        return asdict(self)


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long one call takes."""
    begun = clock()
    work()
    return clock() - begun


def compare(
    work: str, against: str, asked: str, ours: Callable[[], object], theirs: Callable[[], object], *,
    repeats: int, theirs_times: float = 1.0, clock: Callable[[], float] = time.perf_counter,
) -> Row:  # fmt: skip
    """theirs / ours, repeat by repeat; `theirs_times` scales a part of the work up to the whole.

    Small differences want a `clock` of processor time: others on the machine do not count in it.
    """
    ours()  # compiled code is loaded before anything is timed
    pairs = [(seconds(ours, clock), theirs_times * seconds(theirs, clock)) for _ in range(repeats)]
    ratios = [slow / fast for fast, slow in pairs]
    return Row(
        work, against, asked, median(ratios), min(ratios), max(ratios),
        ours=_duration(median(fast for fast, _ in pairs)),
        theirs=_duration(median(slow for _, slow in pairs)),
    )  # fmt: skip


def write_between_marks(page: Path, name: str, text: str) -> None:
    """Put a table where a page has the marks of that name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, rest = page.read_text().split(begin, 1)
    page.write_text(f"{before}{begin}{text}{end}{rest.split(end, 1)[1]}")


def _duration(value: float) -> str:
    return f"{value:.3g} s" if value >= 0.01 else f"{1e6 * value:.3g} µs"

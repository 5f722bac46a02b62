"""What a sweep says before it begins, and its progress bar."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from duelwise.lab.paper.conduct import Meter
    from duelwise.lab.sweep.forecast import Work

COMPILES = "The first time ever it also compiles for half a minute."


def announce(work: Sequence[Work], *, workers: int, quiet: bool) -> None:
    """Say before a sweep what it takes."""
    from duelwise.lab.sweep.forecast import forecast

    told = f"At most {forecast(work, workers=workers)}; what is kept is not played again."
    Console(stderr=True, quiet=quiet).print(f"{told} {COMPILES}", highlight=False)


@contextmanager
def progress(*, quiet: bool = False) -> Generator[ProgressBar]:
    """Shows how far a sweep is while it lasts."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[cells]}"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    console = Console(stderr=True, quiet=quiet)
    # One estimate over the whole job: cells differ in cost by a factor of hundreds.
    with Progress(*columns, console=console, speed_estimate_period=86_400, disable=quiet) as bar:
        yield ProgressBar(bar)


class ProgressBar:
    """Shows a meter."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("playing", total=None, cells="")

    def __call__(self, meter: Meter) -> None:
        kept = f", {meter.kept} kept before" if meter.kept else ""
        cells = f"{meter.cells} of {meter.cells_expected} cells{kept}"
        self._progress.update(self._task, completed=meter.done, total=meter.expected, cells=cells)

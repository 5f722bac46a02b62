"""What a piece of work will take, said before it starts; and a refusal where it cannot fit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from duelwise.errors import InvalidInput
from duelwise.lab.cells.experiment import Method
from duelwise.lab.cells.problem import Problem, Synthetic
from duelwise.lab.sweep.costs import memory, seconds

GIGABYTE = 1e9
SMALL = 1e8  # bytes: nothing is refused below, whatever the machine says it has


@dataclass(frozen=True, kw_only=True)
class Work:
    """One curve to play, before any of its run numbers is written out."""

    problem: Problem
    method: Method
    runs: int

    def memory(self) -> float:
        """Bytes."""
        return memory(self.problem, self.method, self.runs)

    def seconds(self) -> float:
        """Of one thread."""
        return seconds(self.problem, self.method, self.runs)


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Curves, seconds by the clock and bytes, all roughly."""

    curves: int
    seconds: float
    memory: float

    def __str__(self) -> str:
        size = f"up to {self.memory / GIGABYTE:.1f} GB" if self.memory > 0.1 * GIGABYTE else "under 0.1 GB"
        return f"{self.curves} curves, about {duration(self.seconds)}, {size} of memory"


def forecast(work: Sequence[Work], *, workers: int = 1) -> Forecast:
    """What the work takes when so many workers share it, one curve each at a time."""
    total = sum(one.seconds() for one in work)
    largest = sorted((one.memory() for one in work), reverse=True)[:workers]
    return Forecast(curves=len(work), seconds=total / min(workers, max(len(work), 1)), memory=sum(largest))


def refuse_too_large(work: Sequence[Work], *, workers: int = 1, free: float | None = None) -> None:
    """Refuse work that needs more memory than is free, naming the setting that weighs most."""
    room = free_memory() if free is None else free
    needed = forecast(work, workers=workers).memory
    if room is None or needed < max(room, SMALL):
        return
    largest = max(work, key=Work.memory)
    name, value = heaviest_setting(largest)
    raise InvalidInput(
        f"{name} is {value:,}: this would need about {needed / GIGABYTE:,.0f} GB of memory, and "
        f"{room / GIGABYTE:.1f} GB are free. Expected work that fits: lower {name}, or use a larger machine."
    )


def heaviest_setting(work: Work) -> tuple[str, int]:
    """The setting whose fall to a usual value frees most memory, and its value."""
    world, problem = work.problem.world, work.problem
    smaller: dict[str, tuple[int, Work]] = {
        "runs": (work.runs, replace(work, runs=min(work.runs, 10))),
        "horizon": (
            problem.horizon,
            replace(work, problem=replace(problem, horizon=min(problem.horizon, 2000))),
        ),
    }
    if isinstance(world, Synthetic):
        for label, field in (("context_dim (--dim)", "context_dim"), ("arms", "arms")):
            value = getattr(world, field)
            less = replace(problem, world=replace(world, **{field: min(value, 10)}))
            smaller[label] = (value, replace(work, problem=less))
    name = min(smaller, key=lambda label: smaller[label][1].memory())
    return name, smaller[name][0]


def free_memory() -> float | None:
    """Bytes that new work may take; None where the system does not say."""
    about = Path("/proc/meminfo")
    if about.exists():
        lines = dict(line.split(":", 1) for line in about.read_text().splitlines() if ":" in line)
        if "MemAvailable" in lines:
            return 1024.0 * float(lines["MemAvailable"].split()[0])
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None


def duration(seconds: float) -> str:
    """In the unit a person would say."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:,.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:,.0f} days"

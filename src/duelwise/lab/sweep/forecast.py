"""What a piece of work will take, roughly, said before it starts; and a refusal where it cannot fit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from duelwise.errors import InvalidInput
from duelwise.lab.cells.experiment import Cell, Method
from duelwise.lab.cells.problem import Problem, Synthetic, sizes
from duelwise.learning.recipes import STREAM_RECIPES
from duelwise.randomness import BLOCK

KNOTS = 13  # of the spline, for each coordinate
NUMBER = 8  # bytes of a float
IN_PYTHON = 400.0  # µs that a round of a peer without kernels takes more
IN_FLIGHT = 1024  # votes of a run that wait at once; what the queue has room for, roughly
GIGABYTE = 1e9
SMALL = 1e8  # bytes: nothing is refused below, whatever the machine says it has


@dataclass(frozen=True, kw_only=True)
class Work:
    """One curve to play, before any of its run numbers is written out."""

    problem: Problem
    method: Method
    runs: int

    @classmethod
    def of(cls, cell: Cell) -> Work:
        """The work of a cell."""
        return cls(problem=cell.problem, method=cell.method, runs=len(cell.runs))

    def seconds(self) -> float:
        """Of one thread, fitted to the times of the paper's own cells.

        Choosing costs K d a round, the geometry d², the exact estimate about d, a spline its
        coefficients squared, the network the rows it has seen.
        """
        method, horizon = self.method, self.problem.horizon
        context_dim, _, arms = sizes(self.problem.world)
        dim, learns = self._shape()
        per_round = 3.0 + 0.045 * arms * dim + 0.008 * dim**2  # µs for each run
        if method.name not in STREAM_RECIPES:
            per_round += IN_PYTHON
        if self._is_exact():
            per_round += 0.25e-3 * dim * horizon
        if learns and method.post_serving == "mlp":
            per_round += 1.2 * horizon
        elif learns and method.post_serving == "mlp-replay":
            per_round += 400.0
        elif learns:
            per_round += 1.2e-3 * (KNOTS * context_dim) ** 2
        return 1e-6 * per_round * horizon * self.runs

    def memory(self) -> float:
        """Bytes at the peak.

        Two blocks of rounds with their temporaries, a trajectory, matrices and inverses of two
        geometries, votes on their way, the history of the exact estimate, and what φ̂ keeps.
        """
        method, horizon = self.method, self.problem.horizon
        context_dim, post_dim, arms = sizes(self.problem.world)
        dim, learns = self._shape()
        block = 4 * BLOCK * arms * (context_dim + post_dim + 3)
        trajectory = 5 * horizon
        geometry = 5 * dim**2
        votes = 2 * min(horizon + BLOCK, IN_FLIGHT) * (dim + 3)
        history = 2 * horizon * (dim + 2) + dim**2 if self._is_exact() else 0
        model = 0
        if learns and method.post_serving.startswith("mlp"):
            model = 6 * horizon * (context_dim + post_dim + 128)  # two rows a round, hidden layers of 64
        elif learns:
            features = KNOTS * context_dim
            model = 2 * features**2 + features * post_dim
        return float(NUMBER * self.runs * (block + trajectory + geometry + votes + history + model))

    def _is_exact(self) -> bool:
        estimate = self.method.estimate
        return estimate == "full-mle" or (estimate is None and self.method.name == "rcdp-ucb")

    def _shape(self) -> tuple[int, bool]:
        """d of this method, and whether it learns φ̂."""
        context_dim, post_dim, _ = sizes(self.problem.world)
        learns = self.method.post_serving != "none" and post_dim > 0
        return context_dim + (post_dim if learns else 0), learns


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
        lines = dict(
            line.split(":", 1) for line in about.read_text(encoding="utf-8").splitlines() if ":" in line
        )
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

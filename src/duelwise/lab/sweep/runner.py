"""Playing the cells that are missing, on local cores or a cluster, and keeping each as it comes in."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duelwise.errors import DuelwiseError, InvalidInput, require
from duelwise.lab.cells.experiment import Cell
from duelwise.lab.cells.playing import Curve, play_cell
from duelwise.lab.sweep.forecast import Work
from duelwise.lab.sweep.keys import key, provenance
from duelwise.lab.sweep.store import CurveStore
from duelwise.lab.sweep.worker_lifetime import deaf_to_interrupts, end_with

if TYPE_CHECKING:
    from distributed import Client
    from joblib import Parallel


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What a call did."""

    computed: int
    reused: int
    seconds: float  # of processor time for simulation, summed over workers

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            computed=self.computed + other.computed,
            reused=self.reused + other.reused,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, kw_only=True)
class Runner:
    """Where cells are played and where curves are kept.

    `jobs` workers on this machine, or those of the Dask scheduler at `cluster`. Each cell is
    played in one thread, so the numbers are the same whatever the workers; a kill loses only
    the cells in flight.
    """

    store: CurveStore
    jobs: int = -1  # -1: one for each core
    cluster: str | None = None
    monitors: bool = False  # also keep what the runs say of the theory's assumptions

    def __post_init__(self) -> None:
        if self.jobs == 0 or self.jobs < -1:
            raise InvalidInput(f"jobs is {self.jobs}. Expected a number of workers, or -1 for every core.")

    @property
    def workers(self) -> int:
        """How many curves are played at once on this machine."""
        if self.cluster is not None:
            return 1
        return self.jobs if self.jobs > 0 else os.cpu_count() or 1

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """The different cells that are not in the store, the longest first so that no worker ends alone."""
        different = {key(cell): cell for cell in cells}
        absent = [cell for name, cell in different.items() if not self._is_kept(name)]
        return sorted(absent, key=lambda cell: Work.of(cell).seconds(), reverse=True)

    def _is_kept(self, name: str) -> bool:
        return self.store.path(name).exists() and (not self.monitors or self.store.is_watched(name))

    def run(self, cells: Iterable[Cell], *, progress: Callable[[Cell], None] | None = None) -> Tally:
        """Play what is missing; `progress` hears each cell once it is safely kept."""
        wanted = list(cells)
        absent, seconds = self.missing(wanted), 0.0
        if absent:
            for curve in self._played(absent):
                self.store.write(curve)
                seconds += curve.seconds
                if progress is not None:
                    progress(curve.cell)
        return Tally(computed=len(absent), reused=len(set(map(key, wanted))) - len(absent), seconds=seconds)

    def _played(self, cells: list[Cell]) -> Iterator[Curve]:
        """Curves in the order they are done."""
        from joblib import delayed

        parent = os.getpid() if self.cluster is None else None
        calls = (delayed(_play)(cell, parent, self.monitors) for cell in cells)
        with self._workers() as parallel:
            with deaf_to_interrupts():
                begun = parallel(calls)
            with closing(begun) as played:  # whatever happens, so that the workers' queue ends too
                for curve, stood_on in played:
                    _expect_the_same(stood_on, provenance(curve.cell))
                    yield curve

    @contextmanager
    def _workers(self) -> Generator[Parallel]:
        require("joblib", extra="lab", purpose="Running an experiment")
        from joblib import Parallel, parallel_config

        if self.cluster is None:
            with parallel_config("loky", inner_max_num_threads=1):
                yield Parallel(n_jobs=self.jobs, return_as="generator_unordered", batch_size=1)
            return
        require("distributed", extra="cluster", purpose="Running on a cluster")
        with _client(self.cluster), parallel_config("dask"):
            yield Parallel(n_jobs=-1, return_as="generator_unordered", batch_size=1)


def _play(cell: Cell, parent: int | None, monitors: bool) -> tuple[Curve, dict[str, str]]:
    """A worker's part; with a parent on this machine it ends when that does."""
    if parent is not None:
        end_with(parent)
    stands_on = provenance(cell)  # data that changes from here on is not what was played
    return play_cell(cell, monitors=monitors), stands_on


def _expect_the_same(stood_on: dict[str, str], here: dict[str, str]) -> None:
    if stood_on != here:
        raise DuelwiseError(
            f"A worker played with {stood_on}, but here it is {here}. "
            "Expected the same code and versions everywhere: install the same on all machines, or, "
            "if you changed the data meanwhile, run this again."
        )


def _client(address: str) -> Client:
    from distributed import Client

    try:
        return Client(address)
    except OSError as error:
        raise DuelwiseError(
            f"No Dask scheduler answers at {address!r}: {error}. Expected the address that "
            "`dask scheduler` prints, such as tcp://host:8786."
        ) from error

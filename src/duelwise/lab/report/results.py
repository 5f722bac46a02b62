"""What was played, at its place: select it, tabulate it, compare methods pairwise."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from duelwise.errors import InvalidInput, require
from duelwise.lab.cells.playing import Curve
from duelwise.lab.paper.figures import FIGURES, Panel
from duelwise.lab.paper.records import StudyRecord, records_in
from duelwise.lab.sweep.store import CurveStore
from duelwise.types import Array

if TYPE_CHECKING:
    from pandas import DataFrame

Wanted = str | Collection[str] | None


@dataclass(frozen=True, kw_only=True)
class PlacedCurve:
    """A curve and where it stands."""

    study: str
    protocol: str
    post_serving: str
    figure: str
    panel: str
    variant: str
    method: str
    curve: Curve

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Everything but the method: lines of one place were played on the same draws."""
        return self.study, self.figure, self.panel, self.variant

    @property
    def drawn_in(self) -> Panel:
        """The panel of the paper; an experiment of one's own has none."""
        return next(panel for panel in FIGURES[self.figure].panels if panel.title == self.panel)


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """The mean of first - second over paired runs, with its 95 % interval."""

    figure: str
    panel: str
    variant: str
    first: str
    second: str
    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Which method has the lower regret, as far as the interval says."""
        if self.high < 0:
            return "lower"
        return "higher" if self.low > 0 else "no difference shown"


class Results:
    """Lines that were played, in the order of the paper; experiments of one's own are figure "own"."""

    def __init__(self, lines: Collection[PlacedCurve], records: Collection[StudyRecord] = ()) -> None:
        self.lines, self.records = tuple(lines), tuple(records)

    @classmethod
    def load(cls, folder: Path | str) -> Results:
        """Everything in a folder of results."""
        store, records = CurveStore(folder), records_in(Path(folder))
        opened: dict[str, Curve] = {}
        lines: list[PlacedCurve] = []
        for record in records:
            order = {number: place for place, number in enumerate(FIGURES)}
            for entry in sorted(record.entries, key=lambda entry: order.get(entry.figure, 0)):
                if entry.key not in opened:
                    opened[entry.key] = store.open(entry.key)
                lines.append(
                    PlacedCurve(
                        study=record.name, protocol=record.protocol, post_serving=record.post_serving,
                        figure=entry.figure, panel=entry.panel, variant=entry.variant, method=entry.method,
                        curve=opened[entry.key],
                    )
                )  # fmt: skip
        return cls(lines, records)

    def __len__(self) -> int:
        return len(self.lines)

    def __iter__(self) -> Iterator[PlacedCurve]:
        return iter(self.lines)

    def where(
        self, *, study: Wanted = None, protocol: Wanted = None, post_serving: Wanted = None,
        figure: Wanted = None, panel: Wanted = None, variant: Wanted = None, method: Wanted = None,
    ) -> Results:  # fmt: skip
        """The lines whose labels are those asked for: one name, several, or None for any."""
        wanted = {
            "study": study, "protocol": protocol, "post_serving": post_serving, "figure": figure,
            "panel": panel, "variant": variant, "method": method,
        }  # fmt: skip
        return Results(
            [line for line in self.lines if all(_is(getattr(line, k), v) for k, v in wanted.items())],
            self.records,
        )

    def places(self) -> list[Results]:
        """One result for each panel, variant and study."""
        found: dict[tuple[str, ...], list[PlacedCurve]] = {}
        for line in self.lines:
            found.setdefault(line.place, []).append(line)
        return [Results(lines, self.records) for lines in found.values()]

    def line(self, method: str) -> PlacedCurve:
        """The line of a method in one place."""
        found = [line for line in self.lines if line.method == method]
        if len(found) != 1:
            raise InvalidInput(
                f"There are {len(found)} lines of {method!r} here. Expected one: select a single place "
                "with where(study=..., figure=..., panel=..., variant=...)."
            )
        return found[0]

    def methods(self) -> tuple[str, ...]:
        """The methods present, in the paper's order."""
        return tuple(dict.fromkeys(line.method for line in self.lines))

    def contrast(self, first: str, second: str) -> list[Contrast]:
        """first - second in every place that has both, paired by run."""
        places = [place for place in self.places() if {first, second} <= set(place.methods())]
        return [_contrast(place.line(first), place.line(second)) for place in places]

    def to_pandas(self) -> DataFrame:
        """One row for each run of each line."""
        require("pandas", extra="lab", purpose="A data frame of results")
        from pandas import DataFrame

        rows = [
            {
                "study": line.study, "protocol": line.protocol, "post_serving": line.post_serving,
                "figure": line.figure, "panel": line.panel, "variant": line.variant, "method": line.method,
                "run": run, "final_regret": line.curve.final[i],
                "final_distinct_regret": line.curve.distinct_regret[i],
                "self_duels": line.curve.self_duels[i], "told": line.curve.told[i],
                "seconds": line.curve.seconds,
            }
            for line in self.lines
            for i, run in enumerate(line.curve.cell.runs)
        ]  # fmt: skip
        return DataFrame(rows)


def interval(values: Array) -> tuple[float, float, float]:
    """Mean and 95 % t interval of (n,) values."""
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return mean, math.nan, math.nan
    half = float(stdtrit(n - 1, 0.975)) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return mean, mean - half, mean + half


def _contrast(first: PlacedCurve, second: PlacedCurve) -> Contrast:
    if first.curve.cell.runs != second.curve.cell.runs:
        raise InvalidInput(
            f"{first.method} was played on runs {first.curve.cell.runs}, {second.method} on "
            f"{second.curve.cell.runs}. Expected the same runs: paired differences need them."
        )
    mean, low, high = interval(first.curve.final - second.curve.final)
    return Contrast(
        figure=first.figure, panel=first.panel, variant=first.variant,
        first=first.method, second=second.method, mean=mean, low=low, high=high,
    )  # fmt: skip


def _is(label: str, wanted: Wanted) -> bool:
    if wanted is None or isinstance(wanted, str):
        return wanted is None or label == wanted
    return label in wanted

"""A study: figures of the paper under one protocol, and the cells that follow."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duelwise.errors import check_known
from duelwise.lab.cells.experiment import Cell, Method
from duelwise.lab.paper.figures import Figure, Panel
from duelwise.lab.paper.protocols import Finals, Protocol, Trial
from duelwise.lab.paper.records import Entry
from duelwise.lab.play.checks import check_whole
from duelwise.lab.sweep.forecast import Work
from duelwise.lab.sweep.keys import key
from duelwise.learning.post_serving import POST_SERVING


@dataclass(frozen=True, kw_only=True)
class Study:
    """What is asked for: some figures, a protocol, a φ̂ and a number of runs."""

    figures: tuple[Figure, ...]
    protocol: Protocol
    variants: tuple[str, ...] = ()  # of the protocol; none named: all of them
    post_serving: str = "spline"
    runs: int = 10
    link: str | None = None  # that learners fit by; None: the published one

    def __post_init__(self) -> None:
        check_whole("runs", self.runs, least=1)
        check_known("post-serving model", self.post_serving, POST_SERVING)

    def places(self) -> list[tuple[Figure, Panel, str, str]]:
        """Figure, panel, variant and method of every curve."""
        return [
            (figure, panel, variant, name)
            for figure in self.figures
            for panel in figure.panels
            for variant in self.variants or self.protocol.variants
            for name in panel.methods
        ]

    def trials(self) -> list[Trial]:
        """What the protocol plays first."""
        panels = [panel for figure in self.figures for panel in figure.panels]
        trials = self.protocol.search(panels, post_serving=self.post_serving)
        return [trial for trial in trials if not self.variants or trial.variant in self.variants]

    def outline(self) -> list[Work]:
        """Curves as costly as they may be, before a search has said their settings."""
        curves: dict[tuple[str, Work], None] = {}
        for _, panel, variant, name in self.places():
            model = panel.model_of(name, self.post_serving)
            estimate = "full-mle" if self.protocol.name == "fair" else None  # else the published one
            method = Method(name=name, post_serving=model, estimate=estimate)
            curves[variant, Work(problem=panel.problem, method=method, runs=self.runs)] = None
        return [curve for _, curve in curves]

    def work(self) -> list[Work]:
        """All that has to be played where nothing is kept yet."""
        cells = {trial.cell for trial in self.trials()}
        return [Work.of(cell) for cell in cells] + self.outline()

    def cells(self, finals: Finals) -> list[Cell]:
        """Every curve in the order of places, once the search has answered."""
        found: list[Cell] = []
        for _, panel, variant, name in self.places():
            method = self.protocol.method(panel, name, variant, post_serving=self.post_serving, finals=finals)
            if self.link is not None:
                method = replace(method, link=self.link)
            found.append(Cell(problem=panel.problem, method=method, runs=tuple(range(self.runs))))
        return found

    def plan(self, finals: Finals) -> list[tuple[Entry, Cell]]:
        """Every curve and where it stands."""
        return [
            (
                Entry(figure=figure.number, panel=panel.title, variant=variant, method=name, key=key(cell)),
                cell,
            )
            for (figure, panel, variant, name), cell in zip(self.places(), self.cells(finals), strict=True)
        ]

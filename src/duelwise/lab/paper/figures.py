"""Every figure of the paper as data, with the paper's own numbers, labels and captions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from duelwise.errors import unknown_name
from duelwise.lab.cells.problem import DelaySettings, Problem, Synthetic, WorldSettings
from duelwise.lab.paper.captions import CAPTIONS
from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import GaussianDelay, StrategicDelay
from duelwise.lab.worlds.labelled import Labelled
from duelwise.learning.recipes import PAPER_FIVE

METHODS = PAPER_FIVE
HORIZON, CORRUPTION = 2000, 25
REGIMES: dict[str, DelaySettings] = {
    "strategic": StrategicDelay(budget=10_000),
    "stochastic": GaussianDelay(
        mean=100.0, std=100.0
    ),  # the captions of Figs. 1-3 say std 10, table and code 100
}


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One plot: a problem, the methods drawn in it, and who of them learns φ."""

    title: str
    task: str  # linear, abs, …: a world at its base setting
    regime: str  # of delay
    base: Problem  # the task at its base setting under this regime: what settings are searched on
    problem: Problem
    methods: tuple[str, ...] = METHODS
    learners: tuple[str, ...] = METHODS

    def model_of(self, name: str, post_serving: str) -> str:
        """The φ̂ of one method, where those who learn have this one."""
        return post_serving if name in self.learners else "none"


Regimes = Mapping[str, Panel]
"""A task at its base setting, under each regime of delay."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of the paper."""

    number: str
    label: str  # in the paper's source
    caption: str
    panels: tuple[Panel, ...]


def _task(name: str, world: WorldSettings, *, learners: tuple[str, ...] = METHODS) -> Regimes:
    found: dict[str, Panel] = {}
    for regime, delay in REGIMES.items():
        base = Problem(
            world=world, delay=delay, corruption=StrategicCorruption(budget=CORRUPTION), horizon=HORIZON
        )
        found[regime] = Panel(
            title=regime.title(), task=name, regime=regime, base=base, problem=base, learners=learners
        )
    return found


LINEAR = _task("linear", Synthetic(mapping="none", parameters="published"), learners=())
ABSOLUTE = _task("abs", Synthetic(mapping="abs", parameters="published"))
POLYNOMIAL = _task("polynomial", Synthetic(mapping="polynomial", parameters="published"))
SINUSOIDAL = _task("sinusoidal", Synthetic(mapping="sinusoidal", parameters="published"))
ALONE = _task(
    "abs, only RCDP-UCB learns φ", Synthetic(mapping="abs", parameters="published"), learners=("rcdp-ucb",)
)
REAL = {
    name: _task(data, Labelled(name=data))
    for name, data in (("Magic", "magic"), ("Statlog", "satimage"), ("Spambase", "spambase"))
}


def _resized(panel: Panel, title: str, *, context_dim: int = 10, arms: int = 10) -> Panel:
    assert isinstance(panel.problem.world, Synthetic)  # only synthetic worlds have a size to choose
    world = replace(panel.problem.world, context_dim=context_dim, arms=arms)
    return replace(panel, title=title, problem=replace(panel.problem, world=world))


def _delayed(task: Regimes, delay: DelaySettings, title: str, corruption: int = CORRUPTION) -> Panel:
    panel = task["strategic" if isinstance(delay, StrategicDelay) else "stochastic"]
    problem = replace(panel.problem, delay=delay, corruption=StrategicCorruption(budget=corruption))
    return replace(panel, title=title, problem=problem)


def _dimensions(task: Regimes) -> tuple[Panel, ...]:
    return tuple(
        _resized(panel, f"{panel.title}: d = {dim}", context_dim=dim)
        for panel in task.values()
        for dim in (10, 20, 30)
    )


def _arms(task: Regimes) -> tuple[Panel, ...]:
    return tuple(
        _resized(panel, f"{panel.title}: K = {arms}", arms=arms)
        for panel in task.values()
        for arms in (10, 20, 30)
    )


def _delays(task: Regimes) -> tuple[Panel, ...]:
    """The captions of absolute and polynomial give C = 20 at Λ = 10,000; the published code pairs σ = μ."""
    lowered = task in (ABSOLUTE, POLYNOMIAL)
    strategic = tuple(
        _delayed(
            task, StrategicDelay(budget=budget), f"Strategic: Λ = {budget:,}",
            corruption=20 if lowered and budget == 10_000 else CORRUPTION,
        )
        for budget in (3_600, 6_400, 10_000)
    )  # fmt: skip
    return strategic + tuple(
        _delayed(task, GaussianDelay(mean=mean, std=mean), f"Stochastic: μ = {mean:.0f}")
        for mean in (60.0, 80.0, 100.0)
    )


def _corruptions() -> tuple[Panel, ...]:
    """σ = 100 as in the caption; the text says 10."""
    panels: list[Panel] = []
    for dim in (10, 20):
        for budget in (10, 15, 20):
            panel = _resized(LINEAR["stochastic"], f"d = {dim}, C = {budget}", context_dim=dim)
            problem = replace(panel.problem, corruption=StrategicCorruption(budget=budget))
            panels.append(replace(panel, problem=problem))
    return tuple(panels)


def _variances() -> tuple[Panel, ...]:
    """The text's variances, then the numbers that the published code passes as standard deviations."""
    text = [(f"σ² = {square}", math.sqrt(square)) for square in (0, 50, 100, 150)]
    code = [(f"σ = {std} (code)", float(std)) for std in (50, 100, 150)]
    return tuple(
        replace(_delayed(LINEAR, GaussianDelay(mean=100.0, std=std), title), methods=("rcdp-ucb",))
        for title, std in text + code
    )


def _mapped() -> tuple[Panel, ...]:
    return tuple(
        replace(panel, title=f"{panel.title}: {panel.task.title()}")
        for task in (SINUSOIDAL, POLYNOMIAL, ABSOLUTE)
        for panel in task.values()
    )


def _alone() -> tuple[Panel, ...]:
    return tuple(
        replace(ALONE[regime], title=f"{regime.title()}: Abs") for regime in ("stochastic", "strategic")
    )


def _real() -> tuple[Panel, ...]:
    return tuple(
        replace(panel, title=f"{name}: {panel.title}")
        for name, task in REAL.items()
        for panel in task.values()
    )


PANELS: dict[str, tuple[Panel, ...]] = {
    "ablation": tuple(LINEAR.values()),
    "robustness_results": _mapped(),
    "robustness_results2": _alone(),
    "appendix_real_data": _real(),
    "appendix_dimension_no_ps": _dimensions(LINEAR),
    "appendix_dimension_ps_abs": _dimensions(ABSOLUTE),
    "appendix_dimension_ps_poly": _dimensions(POLYNOMIAL),
    "appendix_dimension_ps_sin": _dimensions(SINUSOIDAL),
    "appendix_arms_no_ps": _arms(LINEAR),
    "appendix_arms_ps_abs": _arms(ABSOLUTE),
    "appendix_arms_ps_poly": _arms(POLYNOMIAL),
    "appendix_arms_ps_sin": _arms(SINUSOIDAL),
    "appendix_corruption_poly": _corruptions(),
    "appendix_delay_no_ps": _delays(LINEAR),
    "appendix_delay_ps_abs": _delays(ABSOLUTE),
    "appendix_delay_ps_poly": _delays(POLYNOMIAL),
    "appendix_delay_ps_sin": _delays(SINUSOIDAL),
    "appendix_std_ablation": _variances(),
}
"""By the figure's label, in the paper's order."""
IN_THE_TEXT = 3  # figures before the appendix, whose figures are E.1, E.2, ...


def _number(place: int) -> str:
    return str(place) if place <= IN_THE_TEXT else f"E.{place - IN_THE_TEXT}"


FIGURES: dict[str, Figure] = {
    _number(place): Figure(number=_number(place), label=label, caption=CAPTIONS[label], panels=panels)
    for place, (label, panels) in enumerate(PANELS.items(), start=1)
}
"""By the paper's numbers."""


def figures_named(names: tuple[str, ...]) -> tuple[Figure, ...]:
    """Figures by number or label; `all` is every one."""
    by_label = {figure.label: figure for figure in FIGURES.values()}
    chosen: dict[str, Figure] = {}
    for name in names:
        if name == "all":
            return tuple(FIGURES.values())
        figure = FIGURES.get(name) or by_label.get(name.removeprefix("fig:"))
        if figure is None:
            raise unknown_name("figure", name, [*FIGURES, *by_label, "all"])
        chosen[figure.number] = figure
    return tuple(chosen.values())

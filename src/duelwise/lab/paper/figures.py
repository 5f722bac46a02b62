"""Every figure of the paper as data, with the paper's own numbers, labels and captions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

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
class Task:
    """A world at its base setting, and who learns φ in it."""

    name: str
    world: WorldSettings
    learners: tuple[str, ...] = METHODS
    delays: Mapping[str, DelaySettings] = field(default_factory=lambda: REGIMES)
    corruption: int = CORRUPTION
    horizon: int = HORIZON
    seed: int = 0

    def problem(self, regime: str) -> Problem:
        """The base setting under one regime of delay."""
        return Problem(
            world=self.world,
            delay=self.delays[regime],
            corruption=StrategicCorruption(budget=self.corruption),
            horizon=self.horizon,
            seed=self.seed,
        )


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One plot: a problem and the methods drawn in it."""

    title: str
    task: Task
    regime: str
    problem: Problem
    methods: tuple[str, ...] = METHODS


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of the paper."""

    number: str
    label: str  # in the paper's source
    caption: str
    panels: tuple[Panel, ...]


LINEAR = Task(name="linear", world=Synthetic(mapping="none", parameters="published"), learners=())
ABSOLUTE = Task(name="abs", world=Synthetic(mapping="abs", parameters="published"))
POLYNOMIAL = Task(name="polynomial", world=Synthetic(mapping="polynomial", parameters="published"))
SINUSOIDAL = Task(name="sinusoidal", world=Synthetic(mapping="sinusoidal", parameters="published"))
ALONE = replace(ABSOLUTE, name="abs, only RCDP-UCB learns φ", learners=("rcdp-ucb",))
REAL = tuple(Task(name=name, world=Labelled(name=name)) for name in ("magic", "satimage", "spambase"))


def _base(task: Task, regime: str, title: str) -> Panel:
    return Panel(title=title, task=task, regime=regime, problem=task.problem(regime))


def _resized(task: Task, regime: str, title: str, *, context_dim: int = 10, arms: int = 10) -> Panel:
    assert isinstance(task.world, Synthetic)  # only synthetic worlds have a size to choose
    world = replace(task.world, context_dim=context_dim, arms=arms)
    return Panel(title=title, task=task, regime=regime, problem=replace(task.problem(regime), world=world))


def _delayed(task: Task, delay: DelaySettings, title: str, corruption: int = CORRUPTION) -> Panel:
    regime = "strategic" if isinstance(delay, StrategicDelay) else "stochastic"
    problem = replace(task.problem(regime), delay=delay, corruption=StrategicCorruption(budget=corruption))
    return Panel(title=title, task=task, regime=regime, problem=problem)


def _dimensions(task: Task) -> tuple[Panel, ...]:
    return tuple(
        _resized(task, regime, f"{regime.title()}: d = {dim}", context_dim=dim)
        for regime in REGIMES
        for dim in (10, 20, 30)
    )


def _arms(task: Task) -> tuple[Panel, ...]:
    return tuple(
        _resized(task, regime, f"{regime.title()}: K = {arms}", arms=arms)
        for regime in REGIMES
        for arms in (10, 20, 30)
    )


def _delays(task: Task) -> tuple[Panel, ...]:
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
            panel = _resized(LINEAR, "stochastic", f"d = {dim}, C = {budget}", context_dim=dim)
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


def _real() -> tuple[Panel, ...]:
    names = zip(REAL, ("Magic", "Statlog", "Spambase"), strict=True)
    return tuple(
        _base(task, regime, f"{name}: {regime.title()}") for task, name in names for regime in REGIMES
    )


def _mapped() -> tuple[Panel, ...]:
    return tuple(
        _base(task, regime, f"{regime.title()}: {task.name.title()}")
        for task in (SINUSOIDAL, POLYNOMIAL, ABSOLUTE)
        for regime in REGIMES
    )


PANELS: dict[str, tuple[Panel, ...]] = {
    "ablation": tuple(_base(LINEAR, regime, regime.title()) for regime in REGIMES),
    "robustness_results": _mapped(),
    "robustness_results2": tuple(
        _base(ALONE, regime, f"{regime.title()}: Abs") for regime in ("stochastic", "strategic")
    ),
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

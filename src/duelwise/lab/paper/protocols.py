"""How methods are set for a comparison: as published, or fairly.

`paper`: each method with its published settings, which differ in more than the method.
`fair`: one estimator (full MLE), observed features, one φ̂, one geometry (V of all served
duels) and one κ for all; exploration width and clip of each method chosen by the same
search on held-out seeds; self-duels allowed and forbidden are both run.
`listing-1`, `theory`, `appendix`: as published, but RCDP-UCB as that part of the paper has it,
with the C and D of each panel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Protocol as Interface

from duelwise.errors import check_known
from duelwise.lab.cells.codec import encode
from duelwise.lab.cells.experiment import Cell, Method
from duelwise.lab.cells.presets import PresetName
from duelwise.lab.cells.problem import DelaySettings, Problem, sizes
from duelwise.lab.paper.figures import CORRUPTION, HORIZON, Panel
from duelwise.lab.play.delays import UNLIMITED
from duelwise.learning.radii import delay_complexity
from duelwise.learning.recipes import PAPER_CURVATURE, PAPER_ERROR_BUDGET
from duelwise.types import Array

Finals = Callable[[Cell], Array]
"""(R,) the final regrets of a cell that was played."""


class Protocol(Interface):
    """Which settings each method of a panel gets."""

    @property
    def name(self) -> str: ...
    @property
    def variants(self) -> tuple[str, ...]:
        """Every panel is played once for each."""
        ...

    def search(self, panels: Iterable[Panel], *, post_serving: str) -> list[Trial]:
        """What has to be played first, to choose settings by."""
        ...

    def method(self, panel: Panel, name: str, variant: str, *, post_serving: str, finals: Finals) -> Method:
        """A method's settings in a panel; `finals` answers for the trials of the search."""
        ...


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One candidate of the search, and the cell that judges it."""

    task: str
    regime: str
    variant: str
    method: str
    exploration_width: float
    clip_rule: str | None
    cell: Cell


@dataclass(frozen=True, kw_only=True)
class PaperProtocol:
    """As published: nothing is tuned."""

    name: str = "paper"
    variants: tuple[str, ...] = ("as published",)

    def search(self, panels: Iterable[Panel], *, post_serving: str) -> list[Trial]:
        return []

    def method(self, panel: Panel, name: str, variant: str, *, post_serving: str, finals: Finals) -> Method:
        return Method(name=name, post_serving=panel.model_of(name, post_serving))


@dataclass(frozen=True, kw_only=True)
class PresetProtocol:
    """As published, but RCDP-UCB read from another part of the paper."""

    name: PresetName
    variants: tuple[str, ...] = ("as published",)

    def search(self, panels: Iterable[Panel], *, post_serving: str) -> list[Trial]:
        return []

    def method(self, panel: Panel, name: str, variant: str, *, post_serving: str, finals: Finals) -> Method:
        method = Method(name=name, post_serving=panel.model_of(name, post_serving))
        if name != "rcdp-ucb":
            return method
        problem = panel.problem
        return replace(
            method,
            preset=self.name,
            corruption_budget=float(problem.corruption.budget),
            delay=delay_complexity_of(problem.delay),
        )


def delay_complexity_of(delay: DelaySettings) -> float:
    """D = max(√Λ, μ) of a delay model: the budget where there is one, else the mean it states."""
    if delay.budget < UNLIMITED:
        return delay_complexity(delay_budget=delay.budget)
    stated = encode(delay)
    return float(next((value for value in stated.values() if isinstance(value, int | float)), 0.0))


SELF_DUELS, DISTINCT = "self-duels allowed", "distinct pairs"
CLIP_RULES: dict[str, float] = {
    "√d/C": float(CORRUPTION),
    "√d/(C+D)": PAPER_ERROR_BUDGET,
    "√d/√T": math.sqrt(HORIZON),
}
"""α = √d over these, with the budgets of the base setting in every panel, as the published runs do."""
WEIGHING = ("rcdp-ucb", "rcdb")


@dataclass(frozen=True, kw_only=True)
class FairProtocol:
    """The same treatment for all, and the same search on seeds that no curve shows."""

    name: str = "fair"
    variants: tuple[str, ...] = (SELF_DUELS, DISTINCT)
    widths: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    held_out: tuple[int, ...] = tuple(range(1000, 1010))
    search_horizon: int = 1000

    def search(self, panels: Iterable[Panel], *, post_serving: str) -> list[Trial]:
        """Once for each task and regime, at its base setting, for the methods that are drawn."""
        wanted = {(p.task, p.regime, name): p for p in panels for name in p.methods}
        return [
            trial
            for panel, name in ((panel, name) for (_, _, name), panel in wanted.items())
            for variant in self.variants
            for trial in self._trials(panel, name, variant, post_serving)
        ]

    def method(self, panel: Panel, name: str, variant: str, *, post_serving: str, finals: Finals) -> Method:
        trials = self._trials(panel, name, variant, post_serving)
        best = min(trials, key=lambda trial: float(finals(trial.cell).mean()))
        learner = _fair(panel, name, variant, post_serving)
        return tuned(learner, panel.problem, best.exploration_width, best.clip_rule)

    def _trials(self, panel: Panel, name: str, variant: str, post_serving: str) -> list[Trial]:
        problem = replace(panel.base, horizon=self.search_horizon)
        learner = _fair(panel, name, variant, post_serving)
        rules: list[str | None] = [*CLIP_RULES] if name in WEIGHING else [None]
        return [
            Trial(
                task=panel.task, regime=panel.regime, variant=variant, method=name,
                exploration_width=width, clip_rule=rule,
                cell=Cell(problem=problem, method=tuned(learner, problem, width, rule), runs=self.held_out),
            )
            for width, rule in product(self.widths, rules)
        ]  # fmt: skip


def _fair(panel: Panel, name: str, variant: str, post_serving: str) -> Method:
    """What all methods share."""
    return Method(
        name=name,
        post_serving=panel.model_of(name, post_serving),
        estimate="full-mle",
        features="observed",
        geometry="served",
        curvature=PAPER_CURVATURE,
        distinct_pair=variant == DISTINCT,
    )


def tuned(method: Method, problem: Problem, width: float, rule: str | None) -> Method:
    """The method with a width, and with the clip that a rule gives in this problem."""
    clip = None
    if rule is not None:
        size = sizes(problem.world)
        dim = size.context_dim + (size.post_dim if method.post_serving != "none" else 0)
        clip = math.sqrt(dim) / CLIP_RULES[rule]
    return replace(method, exploration_width=width, clip=clip)


PAPER = PaperProtocol()
PROTOCOLS: dict[str, Protocol] = {
    "paper": PAPER,
    "fair": FairProtocol(),
    "listing-1": PresetProtocol(name="listing-1"),
    "theory": PresetProtocol(name="theory"),
    "appendix": PresetProtocol(name="appendix"),
}


def protocol_named(name: str) -> Protocol:
    """The protocol of that name."""
    check_known("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]

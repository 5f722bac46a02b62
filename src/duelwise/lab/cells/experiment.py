"""An experiment is cells: one method on one problem over its runs, written down as data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, cast, get_args

from duelwise.errors import InvalidInput, check_known
from duelwise.lab.cells.codec import Plain, Table, decode, encode, table_at
from duelwise.lab.cells.presets import PresetName, preset_options
from duelwise.lab.cells.problem import LAWS, Problem, decode_problem, sizes
from duelwise.lab.play.checks import check_whole
from duelwise.lab.play.world import World
from duelwise.learning.core.links import LINKS
from duelwise.learning.learner import DuelingLearner, FeaturesName, GeometryName
from duelwise.learning.post_serving import POST_SERVING
from duelwise.learning.recipes import (
    PAPER_CORRUPTION,
    PAPER_ERROR_BUDGET,
    PAPER_FIVE,
    RECIPES,
    Options,
    recipe,
)
from duelwise.learning.validation import check_budget


@dataclass(frozen=True, kw_only=True)
class Method:
    """A recipe, what it learns φ̂ with, and what it is told instead of its preset. None: the preset's."""

    name: str
    post_serving: str = "none"  # "none": it sees only what is known before serving
    preset: PresetName = "paper"
    exploration_width: float | Literal["theory", "data"] | None = None
    clip: float | None = None
    curvature: float | None = None
    regularisation: float | None = None
    estimate: str | None = None
    features: FeaturesName | None = None
    geometry: GeometryName | None = None
    distinct_pair: bool | None = None
    link: str | None = None
    corruption_budget: float | Literal["unknown"] | None = None  # C, where a part or the preset needs it
    delay: float | Literal["unknown"] | None = None  # D, likewise
    norm_bound: float | None = None  # M, likewise
    confidence: float | None = None  # δ, likewise
    feature_bound: float | None = None  # L, likewise
    horizon: int | None = None  # T, where a budget is unknown
    ramp_votes: float | None = None
    ramp_power: float | None = None
    distrust_votes: int | None = None

    def __post_init__(self) -> None:
        check_known("method", self.name, RECIPES)
        check_known("post-serving model", self.post_serving, POST_SERVING)
        check_known("preset", self.preset, get_args(PresetName))
        for name in ("corruption_budget", "delay"):
            if getattr(self, name) is not None:
                check_budget(name, getattr(self, name))
        if self.link is not None:
            check_known("link", self.link, LINKS)
        if self.preset != "paper" and self.name != "rcdp-ucb":
            raise InvalidInput(
                f"{self.name} has no preset {self.preset!r}: Listing 1 and the theory are rcdp-ucb's. "
                "Leave the preset out, or name single settings."
            )

    def start(self, world: World, *, runs: tuple[int, ...], seed: int) -> DuelingLearner:
        """A fresh learner that fits the world."""
        learns = self.post_serving != "none" and world.post_dim > 0
        place: Options = {
            "runs": runs,
            "seed": seed,
            "context_dim": world.context_dim,
            "post_dim": world.post_dim if learns else 0,
            "post_serving": self.post_serving if learns else "none",
        }
        reading = preset_options(
            self.preset,
            dim=place["context_dim"] + place.get("post_dim", 0),
            corruption_budget=_or(self.corruption_budget, PAPER_CORRUPTION),
            delay=_or(self.delay, PAPER_ERROR_BUDGET - PAPER_CORRUPTION),
            norm_bound=_or(self.norm_bound, 1.0),
            feature_bound=_or(self.feature_bound, 1.0),
        )
        told = self.told()
        if self.preset == "appendix" and told.get("delay") != "unknown":
            told.pop("delay", None)  # the preset has three times as much
        return recipe(self.name)(**cast(Options, {**reading, **place, **told}))

    def told(self) -> dict[str, Plain]:
        """What replaces the preset."""
        own = ("name", "post_serving", "preset")
        return {name: value for name, value in encode(self).items() if value is not None and name not in own}


def _or(given: float | str | None, default: float) -> float:
    return default if given is None or isinstance(given, str) else given


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One curve: a method on a problem, for all its runs. The unit of work and of storage."""

    problem: Problem
    method: Method
    runs: tuple[int, ...]  # run numbers: each has its own draws, the same for every method

    def __post_init__(self) -> None:
        if not self.runs or len(set(self.runs)) < len(self.runs):
            raise InvalidInput(f"runs is {self.runs}. Expected different run numbers, at least one.")
        for run in self.runs:
            check_whole("run number", run, least=0)

    def encode(self) -> dict[str, Plain]:
        """As plain tables: the content that a key is made of."""
        return {"problem": self.problem.encode(), "method": encode(self.method), "runs": list(self.runs)}

    def canonical(self) -> str:
        """The one JSON text of this cell: names sorted, no blanks."""
        return json.dumps(self.encode(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def decode_cell(text: str) -> Cell:
    """The cell of a canonical text."""
    table = table_at(json.loads(text), "cell")
    problem = table_at(table["problem"], "problem")
    horizon, seed = problem["horizon"], problem["seed"]
    if not (isinstance(horizon, int) and isinstance(seed, int)):
        raise InvalidInput(f"The cell has horizon {horizon!r} and seed {seed!r}. Expected whole numbers.")
    return Cell(
        problem=decode_problem(problem, horizon=horizon, seed=seed),
        method=decode(table["method"], Method, where="method"),
        runs=tuple(cast(Sequence[int], table["runs"])),
    )


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A user's own comparison: some methods on one problem."""

    title: str
    problem: Problem
    methods: tuple[Method, ...]
    runs: int

    def cells(self) -> tuple[Cell, ...]:
        """One cell for each method."""
        runs = tuple(range(self.runs))
        return tuple(Cell(problem=self.problem, method=method, runs=runs) for method in self.methods)


@dataclass(frozen=True, kw_only=True)
class _Head:
    """The top-level entries of an experiment's file."""

    title: str = "Experiment"
    horizon: int = 2000
    runs: int = 10
    seed: int = 0
    methods: tuple[str, ...] = PAPER_FIVE
    post_serving: str = "spline"
    learners_of_post_serving: tuple[str, ...] | None = None  # None: all of them

    def __post_init__(self) -> None:
        check_whole("runs", self.runs, least=1)
        if not self.methods or len(set(self.methods)) < len(self.methods):
            raise InvalidInput(f"methods is {list(self.methods)}. Expected different methods, at least one.")


def decode_experiment(table: Table) -> Experiment:
    """The experiment that a file's tables describe; docs/experiments.md has the schema."""
    parts = ("world", "delay", "corruption", "contexts", "method")
    for name in table:
        check_known("key in experiment", name, (*parts, *(field.name for field in fields(_Head))))
    head = decode({k: v for k, v in table.items() if k not in parts}, _Head, where="experiment")
    told = table_at(table.get("method", {}), "method")
    for name in told:
        check_known("method", name, head.methods)
    if "world" not in table:
        raise InvalidInput("world is missing. Expected a table [world] with at least its kind.")
    problem = decode_problem(table, horizon=head.horizon, seed=head.seed)
    _refuse_unheard(table_at(table.get("contexts", {}), "contexts"))
    learners, methods = _learners(head, problem), list[Method]()
    for name in head.methods:
        learns = name in learners
        preset: Table = {"name": name, "post_serving": head.post_serving if learns else "none"}
        own = table_at(told.get(name, {}), f"method.{name}")
        methods.append(decode({**preset, **own}, Method, where=f"method.{name}"))
    return Experiment(title=head.title, problem=problem, methods=tuple(methods), runs=head.runs)


def _refuse_unheard(contexts: Table) -> None:
    """How late contexts are is said with the law that they are late by."""
    late = contexts.get("late", "no")
    for name in ("mean", "std"):
        if contexts.get(name) and name not in LAWS[str(late)]:
            fitting = " or ".join(repr(law) for law, heard in LAWS.items() if name in heard)
            raise InvalidInput(
                f"contexts.{name} is {contexts[name]!r}, but contexts.late is {late!r}. "
                f"Expected it with late = {fitting}: leave it out, or say that."
            )


def _learners(head: _Head, problem: Problem) -> tuple[str, ...]:
    """Who learns φ̂: those the file names, else all.

    Where nothing is seen after serving, methods besides the paper's five keep the "none" that their
    stored curves have in their keys: what is played is the same.
    """
    if head.learners_of_post_serving is not None:
        for name in head.learners_of_post_serving:
            check_known("method for learners_of_post_serving", name, head.methods)
        return head.learners_of_post_serving
    others = set(head.methods).difference(PAPER_FIVE)
    return PAPER_FIVE if others and sizes(problem.world).post_dim == 0 else head.methods

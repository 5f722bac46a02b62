"""The five algorithms of the paper, each a few parts named together.

| recipe       | selection                     | geometry  | weight           | estimate (paper) |
|--------------|-------------------------------|-----------|------------------|------------------|
| rcdp-ucb     | leader + UCB challenger       | served V  | served leverage  | full MLE         |
| rcdb         | joint UCB                     | arrived W | arrived leverage | one step         |
| max-pair-ucb | joint UCB                     | arrived W | uniform          | one step         |
| max-inp      | leader + most informative     | arrived W | uniform          | one step         |
| colstim      | perturbed leader + challenger | arrived W | uniform          | one step         |

`preset="paper"` is what reproduces the published curves; every setting can be named
instead. docs/departures.md says where the paper's text, listing and code disagree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal, Protocol, Required, TypedDict, Unpack

from duelwise.errors import unknown_name
from duelwise.learning import radii
from duelwise.learning.estimation import ESTIMATORS, Estimator
from duelwise.learning.learner import DuelingLearner, FeaturesName, GeometryName
from duelwise.learning.post_serving import post_serving as post_serving_named
from duelwise.learning.post_serving.model import PostServing
from duelwise.learning.selection import (
    JointUCB,
    LeaderChallenger,
    MostInformative,
    PerturbedLeader,
    Selection,
)
from duelwise.learning.weighting import ArrivedLeverage, ServedLeverage, Uniform, Weighting
from duelwise.learning.widths import ConstantWidth, ObservedWidth, TheoryWidth, Width
from duelwise.types import Array

PAPER_CORRUPTION = 25.0  # C of the published runs
PAPER_ERROR_BUDGET = 125.0  # C + D, fixed in every published sweep, whatever the world's budgets
PAPER_CURVATURE = 0.25  # κ of the published code; Listing 1 has 0.1


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the parts of a recipe are set to. Arrays give each run its own value."""

    exploration_width: float | Array | Literal["theory", "data"]  # c_t, β_t or η
    clip: float | Array = math.inf  # α
    curvature: float | Array = 1.0  # κ
    regularisation: float | Array = 1.0  # λ
    estimate: str | Estimator = "one-step"
    features: FeaturesName = "predicted"
    geometry: GeometryName = "arrived"
    distinct_pair: bool = False
    link: str = "logistic"
    corruption_budget: float = PAPER_CORRUPTION  # C, where the width needs it
    delay: float = PAPER_ERROR_BUDGET - PAPER_CORRUPTION  # D, likewise
    norm_bound: float = 1.0  # M, likewise
    confidence: float = 0.05  # δ, likewise
    feature_bound: float = 1.0  # L, of the theory's width

    def width(self) -> Width:
        """The part that `exploration_width` names."""
        if not isinstance(self.exploration_width, str):
            return ConstantWidth(value=self.exploration_width)
        if self.exploration_width == "theory":
            return TheoryWidth(
                corruption_budget=self.corruption_budget, delay=self.delay, clip=self.clip,
                norm_bound=self.norm_bound, confidence=self.confidence, feature_bound=self.feature_bound,
            )  # fmt: skip
        if self.exploration_width == "data":
            return ObservedWidth(
                corruption_budget=self.corruption_budget, clip=self.clip,
                norm_bound=self.norm_bound, confidence=self.confidence,
            )  # fmt: skip
        raise unknown_name("exploration width", self.exploration_width, ["theory", "data"])

    def estimator(self) -> Estimator:
        """The part that `estimate` names."""
        if not isinstance(self.estimate, str):
            return self.estimate
        if self.estimate not in ESTIMATORS:
            raise unknown_name("estimator", self.estimate, ESTIMATORS)
        return ESTIMATORS[self.estimate]


class Options(TypedDict, total=False):
    """What a recipe may be told: its place, a preset, and any field of `Settings` instead of the preset's."""

    context_dim: Required[int]
    post_dim: int  # 0: there is no post-serving context, or the learner ignores it
    runs: int | Sequence[int]  # a sequence lists run numbers, whose draws repeat where a number does
    post_serving: str | PostServing  # φ̂; by default none without post-serving context, else the spline
    seed: int
    preset: Literal["paper"]
    select: Selection  # instead of the algorithm's own rule
    weigh: Weighting  # instead of the algorithm's own weights

    exploration_width: float | Array | Literal["theory", "data"]
    clip: float | Array
    curvature: float | Array
    regularisation: float | Array
    estimate: str | Estimator
    features: FeaturesName
    geometry: GeometryName
    distinct_pair: bool
    link: str
    corruption_budget: float
    delay: float
    norm_bound: float
    confidence: float
    feature_bound: float


class Recipe(Protocol):
    """Names the parts of one algorithm together."""

    def __call__(self, **options: Unpack[Options]) -> DuelingLearner: ...


def rcdp_ucb(**options: Unpack[Options]) -> DuelingLearner:
    """RCDP-UCB, Algorithm 1: greedy leader, challenger and weight in V, full MLE on arrived votes."""
    paper = Settings(
        exploration_width=0.1,  # published code; Listing 1 has 0.5, the theory 2β_t
        clip=radii.clip(_dim(options), PAPER_ERROR_BUDGET),
        curvature=PAPER_CURVATURE,
        estimate="full-mle",
        features="observed",
        geometry="served",
    )
    chosen = _settle(paper, options)
    return _learner(options, chosen, LeaderChallenger(), ServedLeverage(clip=chosen.clip))


def rcdb(**options: Unpack[Options]) -> DuelingLearner:
    """RCDB: the pair of highest joint bound, weights by leverage among the votes that arrived.

    Published α = √d/(√κ C) and β = √d + αC = 3√d. Exploring in the served geometry, it
    takes its weights there too.
    """
    root = math.sqrt(_dim(options))
    clip = root / (math.sqrt(PAPER_CURVATURE) * PAPER_CORRUPTION)
    paper = Settings(exploration_width=root + clip * PAPER_CORRUPTION, clip=clip)
    chosen = _settle(paper, options)
    leverage = ServedLeverage if chosen.geometry == "served" else ArrivedLeverage
    return _learner(options, chosen, JointUCB(), leverage(clip=chosen.clip))


def max_pair_ucb(**options: Unpack[Options]) -> DuelingLearner:
    """MaxPairUCB: the pair of highest joint bound, every vote counted alike."""
    root = math.sqrt(_dim(options))
    paper = Settings(exploration_width=3.0 * root if options.get("post_dim") else root)
    return _learner(options, _settle(paper, options), JointUCB(), Uniform())


def max_inp(**options: Unpack[Options]) -> DuelingLearner:
    """MaxInP: the greedy leader against the least certain arm that may still be best."""
    root = math.sqrt(_dim(options))
    paper = Settings(exploration_width=3.0 * root if options.get("post_dim") else 0.5, distinct_pair=True)
    return _learner(options, _settle(paper, options), MostInformative(), Uniform())


def colstim(**options: Unpack[Options]) -> DuelingLearner:
    """CoLSTIM: a leader by perturbed utility against its toughest competitor."""
    paper = Settings(exploration_width=0.5, distinct_pair=True)
    return _learner(options, _settle(paper, options), PerturbedLeader(), Uniform())


RECIPES: dict[str, Recipe] = {
    "rcdp-ucb": rcdp_ucb,
    "rcdb": rcdb,
    "colstim": colstim,
    "max-inp": max_inp,
    "max-pair-ucb": max_pair_ucb,
}


PAPER_FIVE = ("rcdp-ucb", "rcdb", "colstim", "max-inp", "max-pair-ucb")
"""The algorithms of the paper's figures. A new recipe is not one of them."""


def recipe(name: str) -> Recipe:
    """The recipe of that name."""
    if name not in RECIPES:
        raise unknown_name("method", name, RECIPES)
    return RECIPES[name]


def _dim(options: Options) -> int:
    return options["context_dim"] + options.get("post_dim", 0)


def _settle(paper: Settings, options: Options) -> Settings:
    """The preset's settings with those the caller named in their place."""
    preset = options.get("preset", "paper")
    if preset != "paper":
        raise unknown_name("preset", preset, ["paper"])
    known = {field.name for field in fields(Settings)}
    place = Options.__annotations__.keys() - known
    for name in options:
        if name not in known and name not in place:
            raise unknown_name("option", name, known | place)
    return replace(paper, **{name: value for name, value in options.items() if name in known})


def _learner(options: Options, chosen: Settings, select: Selection, weigh: Weighting) -> DuelingLearner:
    post_dim = options.get("post_dim", 0)
    model = options.get("post_serving", "spline" if post_dim else "none")
    return DuelingLearner(
        runs=options.get("runs", 1),
        context_dim=options["context_dim"],
        post_dim=post_dim,
        seed=options.get("seed", 0),
        post_serving=post_serving_named(model) if isinstance(model, str) else model,
        select=options.get("select", select),
        weigh=options.get("weigh", weigh),
        estimate=chosen.estimator(),
        width=chosen.width(),
        geometry=chosen.geometry,
        features=chosen.features,
        link=chosen.link,
        regularisation=chosen.regularisation,
        curvature=chosen.curvature,
        distinct_pair=chosen.distinct_pair,
    )

"""The five algorithms of the paper, three peers and two of our own, each a few parts named together.

| recipe       | selection                     | geometry  | weight           | estimate (paper) |
|--------------|-------------------------------|-----------|------------------|------------------|
| rcdp-ucb     | leader + UCB challenger       | served V  | served leverage  | full MLE         |
| rcdb         | joint UCB                     | arrived W | arrived leverage | one step         |
| max-pair-ucb | joint UCB                     | arrived W | uniform          | one step         |
| max-inp      | leader + most informative     | arrived W | uniform          | one step         |
| colstim      | perturbed leader + challenger | arrived W | uniform          | one step         |
| steady       | distrust, then as rcdp-ucb    | served V  | audited ramp     | full MLE         |
| live         | distrust, then as rcdp-ucb    | requested S | arrival ramp   | proximal         |
| thompson     | two draws of Θ                | arrived W | uniform          | one step         |
| feel-good    | two optimistic draws of Θ     | arrived W | uniform          | full MLE         |
| vacdb        | layer by layer                | its layers' | its layers'    | MLE in each layer |

`preset="paper"` is what reproduces the published curves; every setting can be named
instead. docs/departures.md says where the paper's text, listing and code disagree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal, Protocol, Required, TypedDict, Unpack

from duelwise.errors import InvalidInput, check_known, unknown_name
from duelwise.learning import radii
from duelwise.learning.estimation import ESTIMATORS, Estimator, FullMLE
from duelwise.learning.learner import DuelingLearner, FeaturesName, GeometryName
from duelwise.learning.peers.feel_good import FeelGood, FeelGoodDraws
from duelwise.learning.peers.layered import Layered, LayeredPair
from duelwise.learning.post_serving import post_serving as post_serving_named
from duelwise.learning.post_serving.model import PostServing
from duelwise.learning.selection import (
    Distrust,
    JointUCB,
    LeaderChallenger,
    MostInformative,
    PerturbedLeader,
    Selection,
    TwoDraws,
)
from duelwise.learning.validation import check_budget, check_whole
from duelwise.learning.weighting import (
    ArrivalRamp,
    ArrivedLeverage,
    AuditedRamp,
    ServedLeverage,
    Uniform,
    UnknownBudgets,
    Weighting,
)
from duelwise.learning.widths import ConstantWidth, ObservedWidth, TheoryWidth, Width
from duelwise.types import Array

PAPER_CORRUPTION = 25.0  # C of the published runs
PAPER_ERROR_BUDGET = 125.0  # C + D, fixed in every published sweep, whatever the world's budgets
UNKNOWN_HORIZON = 10_000  # for widths only, where neither C nor T is known
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
    corruption_budget: float | Literal["unknown"] = PAPER_CORRUPTION  # C, where a part needs it
    delay: float | Literal["unknown"] = PAPER_ERROR_BUDGET - PAPER_CORRUPTION  # D, likewise
    norm_bound: float = 1.0  # M, likewise
    confidence: float = 0.05  # δ, likewise
    feature_bound: float = 1.0  # L, of the theory's width
    horizon: int | None = None  # T, where a budget is unknown; None: that is unknown too
    ramp_votes: float = 100.0  # over which weights rise to 1, where they do so by arrival
    ramp_power: float = 1.0  # and by which power of the rank
    distrust_votes: int = 30  # before which Θ̂ is not followed
    provisional: bool = True  # votes teach before their y is known, where the estimate keeps them

    def __post_init__(self) -> None:
        check_budget("corruption_budget", self.corruption_budget)
        check_budget("delay", self.delay)
        if self.horizon is not None:
            check_whole("horizon", self.horizon, least=0)

    @property
    def budgets_unknown(self) -> bool:
        """Whether C or D has to be done without."""
        return "unknown" in (self.corruption_budget, self.delay)

    @property
    def lies(self) -> float:
        """C; where it is unknown, the √T lies that the theorem forgives."""
        if isinstance(self.corruption_budget, str):
            return math.sqrt(self.horizon or UNKNOWN_HORIZON)
        return self.corruption_budget

    def width(self) -> Width:
        """The part that `exploration_width` names."""
        if not isinstance(self.exploration_width, str):
            return ConstantWidth(value=self.exploration_width)
        if self.exploration_width == "theory":
            if isinstance(self.delay, str) or self.budgets_unknown:
                raise InvalidInput(
                    "The theory's width follows from C and D, and one of them is unknown. Give both, or "
                    "take exploration_width='data', which looks at the votes that are out."
                )
            return TheoryWidth(
                corruption_budget=self.lies, delay=self.delay, clip=self.clip,
                norm_bound=self.norm_bound, confidence=self.confidence, feature_bound=self.feature_bound,
            )  # fmt: skip
        if self.exploration_width == "data":
            return ObservedWidth(
                corruption_budget=self.lies, clip=self.clip,
                norm_bound=self.norm_bound, confidence=self.confidence,
            )  # fmt: skip
        raise unknown_name("exploration width", self.exploration_width, ["theory", "data"])

    def estimator(self) -> Estimator:
        """The part that `estimate` names."""
        if not isinstance(self.estimate, str):
            return self.estimate
        check_known("estimator", self.estimate, ESTIMATORS)
        return ESTIMATORS[self.estimate]


class Tuning(TypedDict, total=False):
    """What a recipe may be told to do otherwise: a preset, whole parts, and any field of `Settings`."""

    preset: Literal["paper"]
    post_serving: str | PostServing  # φ̂; by default none without post-serving context, else the spline
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
    corruption_budget: float | Literal["unknown"]
    delay: float | Literal["unknown"]
    norm_bound: float
    confidence: float
    feature_bound: float
    horizon: int | None
    ramp_votes: float
    ramp_power: float
    distrust_votes: int
    provisional: bool


class Options(Tuning, total=False):
    """All that a recipe may be told: its place, and its tuning."""

    context_dim: Required[int]
    post_dim: int  # 0: there is no post-serving context, or the learner ignores it
    runs: int | Sequence[int]  # a sequence lists run numbers, whose draws repeat where a number does
    seed: int
    side_columns: int  # of x, the first ones, that say on which side something is shown


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
    if chosen.budgets_unknown:
        keeps = isinstance(chosen.estimator(), FullMLE)
        unknown = UnknownBudgets(horizon=chosen.horizon, counts_pending=keeps)
        return _learner(options, chosen, LeaderChallenger(), unknown)
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


def thompson(**options: Unpack[Options]) -> DuelingLearner:
    """Thompson sampling: each of the two is the best under its own draw of Θ ~ N(Θ̂, c² W⁻¹).

    After the double draw of Wu and Liu (2016) with the Gaussian posterior of linear Thompson sampling.
    """
    paper = Settings(exploration_width=1.0, curvature=PAPER_CURVATURE, features="observed")
    return _learner(options, _settle(paper, options), TwoDraws(dim=_dim(options)), Uniform())


def feel_good(**options: Unpack[Options]) -> DuelingLearner:
    """FGTS.CDB: each of the two is best under its own draw from a posterior that favours a high best arm.

    Li, Zhao and Gu (2024). The optimism μ is 1/√T of the `horizon`; `exploration_width` spreads the draws.
    """
    paper = Settings(
        exploration_width=1.0, curvature=PAPER_CURVATURE, features="observed", estimate="full-mle"
    )
    chosen = replace(_own_estimate("feel-good", _settle(paper, options)), estimate=FeelGood())
    optimism = 1.0 / math.sqrt(chosen.horizon or UNKNOWN_HORIZON)
    draws = FeelGoodDraws(dim=_dim(options), optimism=optimism, regularisation=chosen.regularisation)
    return _learner(options, chosen, draws, Uniform())


def vacdb(**options: Unpack[Options]) -> DuelingLearner:
    """VACDB: layers that each learn from pairs of one size, and drop what they find worse.

    Di, Jin, Wu, Zhao, Farnoud and Gu (2024). `exploration_width` stands for the logarithms in its radii.
    """
    paper = Settings(
        exploration_width=1.0, curvature=PAPER_CURVATURE, features="observed", estimate="full-mle"
    )
    chosen = replace(_own_estimate("vacdb", _settle(paper, options)), estimate=Layered())
    return _learner(options, chosen, LayeredPair(curvature=chosen.curvature), Uniform())


def steady(**options: Unpack[Options]) -> DuelingLearner:
    """Explore first, believe later: for C lies at most, wherever they fall.

    Until 2C votes have come the widest pair is shown; weights rise with the rank of the duel to 1 at 4C,
    and early votes that agree with later ones come to count fully. A C that is too high costs little,
    one that is too low much. The audit needs the votes: with an estimate that keeps none, only the ramp
    and the distrust are left.
    """
    own = Settings(
        exploration_width=0.7, curvature=PAPER_CURVATURE, estimate="full-mle",
        features="observed", geometry="served", ramp_power=3.0,
    )  # fmt: skip
    chosen = _settle(own, options)
    lies = max(1.0, chosen.lies)
    select = Distrust(votes=options.get("distrust_votes", math.ceil(2 * lies)), then=LeaderChallenger())
    return _learner(options, chosen, select, AuditedRamp(corruption_budget=lies, power=chosen.ramp_power))


def live(**options: Unpack[Options]) -> DuelingLearner:
    """For streams that are asked in parallel and know neither lies nor delays: O(d²) a vote, no history.

    Every duel that was requested counts at once where the next is chosen; until 30 votes have come the
    widest pair is shown; weights rise with the rank of arrival to 1 at 100 votes; one proximal step a vote.
    """
    own = Settings(
        exploration_width=1.0, curvature=PAPER_CURVATURE, estimate="proximal",
        features="observed", geometry="requested",
    )  # fmt: skip
    chosen = _settle(own, options)
    select = Distrust(votes=chosen.distrust_votes, then=LeaderChallenger())
    ramp = ArrivalRamp(length=chosen.ramp_votes, power=chosen.ramp_power)
    return _learner(options, chosen, select, ramp)


RECIPES: dict[str, Recipe] = {
    "rcdp-ucb": rcdp_ucb,
    "rcdb": rcdb,
    "colstim": colstim,
    "max-inp": max_inp,
    "max-pair-ucb": max_pair_ucb,
    "thompson": thompson,
    "feel-good": feel_good,
    "vacdb": vacdb,
    "steady": steady,
    "live": live,
}


PAPER_FIVE = ("rcdp-ucb", "rcdb", "colstim", "max-inp", "max-pair-ucb")
"""The algorithms of the paper's figures. A new recipe is not one of them."""


STREAM_RECIPES = {name: made for name, made in RECIPES.items() if name not in ("feel-good", "vacdb")}
"""Those that a stream may have. The others keep every round's candidates, or choose slowly, in Python."""


def recipe(name: str) -> Recipe:
    """The recipe of that name."""
    check_known("method", name, RECIPES)
    return RECIPES[name]


def _own_estimate(name: str, chosen: Settings) -> Settings:
    """For algorithms that are an estimate as much as a rule."""
    if chosen.estimate != "full-mle":
        raise InvalidInput(
            f"{name} has an estimate of its own, by maximum likelihood over all votes; estimate is "
            f"{chosen.estimate!r}. Leave it out, or say 'full-mle'."
        )
    return chosen


def _dim(options: Options) -> int:
    """d, of sizes that are whole numbers."""
    if "context_dim" not in options:
        raise InvalidInput(
            f"context_dim is missing; given: {', '.join(options) or 'nothing'}. "
            "Expected how many features are known before serving, such as context_dim=5."
        )
    check_whole("context_dim", options["context_dim"], least=1)
    check_whole("post_dim", options.get("post_dim", 0), least=0)
    return int(options["context_dim"]) + int(options.get("post_dim", 0))


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
    _dim(options)
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
        provisional=chosen.provisional,
        side_columns=options.get("side_columns", 0),
    )

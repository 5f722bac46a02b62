"""Every recipe, rule and estimator passes the shipped suites."""

from collections.abc import Sequence
from typing import cast

import pytest

from duelwise.learning.estimation import FullMLE, OnePass, OneStep
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.post_serving import (
    BestOf,
    Fourier,
    Neighbours,
    NoPostServing,
    PostServing,
    Ridge,
    Spline,
)
from duelwise.learning.recipes import RECIPES, Options, Tuning
from duelwise.learning.selection import (
    JointUCB,
    LeaderChallenger,
    MostInformative,
    PerturbedLeader,
    Selection,
)
from duelwise.testing.learning import (
    LearnerConformance,
    OrderFreeConformance,
    PostServingConformance,
    SelectionConformance,
)


@pytest.mark.parametrize("name", RECIPES)
class TestRecipe(LearnerConformance):
    """As published."""

    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.name = name

    def make(self, runs: Sequence[int]) -> DuelingLearner:
        return RECIPES[self.name](
            runs=runs, context_dim=self.context_dim, post_dim=self.post_dim, post_serving="ridge"
        )


SETTINGS: dict[str, Tuning] = {
    "one pass, bounded": {"estimate": OnePass(step_size=0.7, norm_bound=0.5)},
    "one step, predicted": {"estimate": OneStep(), "features": "predicted"},
    "random features": {"post_serving": Fourier(features=20)},
    "nearest neighbours": {"post_serving": Neighbours(count=3)},
    "arrived geometry, probit": {"geometry": "arrived", "link": "probit"},
    "theory": {"exploration_width": "theory", "link": "clipped-linear"},
    "data": {"exploration_width": "data", "distinct_pair": True},
}


@pytest.mark.parametrize("name", SETTINGS)
class TestSettings(LearnerConformance):
    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.settings = SETTINGS[name]

    def make(self, runs: Sequence[int]) -> DuelingLearner:
        place: Options = {"runs": runs, "context_dim": self.context_dim, "post_dim": self.post_dim}
        return RECIPES["rcdp-ucb"](**cast("Options", {"post_serving": "spline", **place, **self.settings}))


@pytest.mark.parametrize("link", ["logistic", "probit", "clipped-linear"])
class TestFullMLE(OrderFreeConformance):
    post_dim = 0

    @pytest.fixture(autouse=True)
    def _linked(self, link: str) -> None:
        self.link = link

    def make(self, runs: Sequence[int]) -> DuelingLearner:
        return RECIPES["rcdp-ucb"](runs=runs, context_dim=3, estimate=FullMLE(), link=self.link)


RULES: list[Selection] = [
    LeaderChallenger(),
    JointUCB(),
    MostInformative(),
    MostInformative(leader_first=False),
    PerturbedLeader(),
    PerturbedLeader(share_rate=2.0),
]


@pytest.mark.parametrize("rule", RULES, ids=repr)
class TestRule(SelectionConformance):
    @pytest.fixture(autouse=True)
    def _ruled(self, rule: Selection) -> None:
        self.rule = rule


MODELS: list[PostServing] = [
    Ridge(),
    Spline(),
    Fourier(features=30),
    Neighbours(count=3, memory=20),
    BestOf([Ridge(), Spline()]),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
class TestModel(PostServingConformance):
    @pytest.fixture(autouse=True)
    def _modelled(self, model: PostServing) -> None:
        self.model = model


class TestNoModel(PostServingConformance):
    model = NoPostServing()
    post_dim = 0

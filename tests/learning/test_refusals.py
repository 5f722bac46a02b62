"""Bad input is refused with what happened, what was expected and what to do, and changes nothing."""

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import pytest

from duelwise import errors
from duelwise.errors import AlreadyTold, InvalidInput, MissingExtra, UnknownName, UnknownRound
from duelwise.lab.play.corruptions import RandomCorruption, StrategicCorruption
from duelwise.lab.play.delays import BlindPhase, StrategicDelay
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.estimation import FullMLE, OnePass, OneStep
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.post_serving import Neural, NoPostServing
from duelwise.learning.recipes import PAPER_FIVE, RECIPES, Options, rcdp_ucb, recipe
from duelwise.learning.selection import View
from duelwise.learning.weighting import Uniform
from duelwise.learning.widths import ConstantWidth
from duelwise.testing.life import Life, assert_same_state, live
from duelwise.types import Contexts, IntArray, Votes

RUNS = 2


@pytest.fixture
def learner() -> DuelingLearner:
    """Thirty rounds old, with duels of every state; round 28 of run 0 waits for both."""
    made = rcdp_ucb(runs=RUNS, context_dim=3, post_dim=2, post_serving="ridge", distinct_pair=True)
    live(made, Life([0, 1], candidates=4, context_dim=3, post_dim=2), rounds=30)
    made.serve(made.choose(np.arange(24.0).reshape(2, 4, 3)))
    return made


@contextmanager
def refused(learner: DuelingLearner, kind: type[Exception], message: str) -> Iterator[None]:
    before = learner.snapshot()
    with pytest.raises(kind, match=message):
        yield
    assert_same_state(before, learner.snapshot())


def candidates(*shape: int, bad: float | None = None) -> np.ndarray:
    x = np.ones(shape)
    if bad is not None:
        x[1, 2, 0] = bad
    return x


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (candidates(2, 4), r"shape \(2, 4\); expected \(runs, candidates, context_dim\) = \(2, K, 3\)"),
        (candidates(2, 4, 2), r"shape \(2, 4, 2\)"),
        (candidates(3, 4, 3), r"shape \(3, 4, 3\)"),
        (candidates(2, 1, 3), "There are 1 candidates; a duel needs at least two"),
        (candidates(2, 4, 3, bad=math.nan), "Feature 0 of candidate 2 in run 1 is nan; .* must be finite"),
        (candidates(2, 4, 3, bad=-math.inf), "Feature 0 of candidate 2 in run 1 is -inf"),
    ],
)
def test_candidates(learner: DuelingLearner, x: np.ndarray, message: str) -> None:
    with refused(learner, InvalidInput, message):
        learner.choose(x)


def test_duels(learner: DuelingLearner) -> None:
    good = learner.choose(candidates(2, 4, 3))
    bad = good.x.copy()
    bad[0, 0, 0] = math.nan
    for duel, message in [
        (good._replace(round=7), "of round 7, but the next round is 31. Serve recorded duels once each"),
        (good._replace(arms=good.arms[:1]), r"arms of shape \(1, 2\) .* expected \(2, 2\)"),
        (good._replace(x=good.x[..., :2]), r"x of shape \(2, 2, 2\); expected \(2, 2\) and \(2, 2, 3\)"),
        (good._replace(predicted=good.predicted[..., :1]), r"predictions of shape \(2, 2, 1\)"),
        (good._replace(x=bad), "NaN or infinity; every value must be finite"),
        (good._replace(predicted=good.predicted + math.inf), "NaN or infinity"),
    ]:
        with refused(learner, InvalidInput, message):
            learner.serve(duel)


def contexts(run: int, round: int, value: float = 1.0) -> Contexts:
    return Contexts(np.array([run]), np.array([round]), np.full((1, 2, 2), value))


def votes(run: int, round: int, outcome: float = 1.0) -> Votes:
    return Votes(np.array([run]), np.array([round]), np.array([outcome]))


def test_contexts(learner: DuelingLearner) -> None:
    good = contexts(0, 30)
    twice = Contexts(np.tile(good.run, 2), np.tile(good.round, 2), np.concatenate([good.y, good.y]))
    for given, kind, message in [
        (good._replace(y=np.ones((1, 2, 3))), InvalidInput, r"y \(1, 2, 3\); expected .* \(n, 2, 2\)"),
        (good._replace(round=np.array([[30]])), InvalidInput, r"round \(1, 1\)"),
        (
            good._replace(run=np.array([0.5])),
            InvalidInput,
            "run has the type float64; expected whole numbers",
        ),
        (contexts(0, 30, math.inf), InvalidInput, "context of run 0, round 30 holds infinity; .* or NaN"),
        (contexts(2, 30), InvalidInput, "There is no run 2; runs are 0 to 1"),
        (
            contexts(0, 31),
            UnknownRound,
            "run 0, round 31 speaks of a duel that was never served; 31 rounds were",
        ),
        (contexts(0, -1), UnknownRound, "never served"),
        (contexts(0, 0), UnknownRound, "waits for nothing: its vote was told already, or it was forgotten"),
        (twice, AlreadyTold, "run 0, round 30 already has this context, .* Hand in each one once"),
    ]:
        with refused(learner, kind, message):
            learner.observe(given)
    learner.observe(good)
    with refused(learner, AlreadyTold, "already has this context"):
        learner.observe(good)


def test_votes(learner: DuelingLearner) -> None:
    good = votes(0, 30)
    twice = Votes(np.tile(good.run, 2), np.tile(good.round, 2), np.tile(good.outcome, 2))
    mixed = Votes(np.array([1, 0]), np.array([30, 99]), np.ones(2))
    for given, kind, message in [
        (
            good._replace(outcome=np.ones(2)),
            InvalidInput,
            r"outcome \(2,\); expected three arrays of one length",
        ),
        (good._replace(round=np.array([1.5])), InvalidInput, "round has the type float64"),
        (votes(0, 30, 0.7), InvalidInput, r"run 0, round 30 is 0.7; expected 1 .* 0 .* or 0.5 \(a tie\)"),
        (votes(0, 30, math.nan), InvalidInput, "is nan; expected 1"),
        (votes(0, 30, math.inf), InvalidInput, "is inf; expected 1"),
        (votes(-1, 30), InvalidInput, "There is no run -1"),
        (votes(0, 31), UnknownRound, "vote for run 0, round 31 speaks of a duel that was never served"),
        (votes(0, 0), UnknownRound, "waits for nothing.*Hand in each vote once"),
        (twice, AlreadyTold, "run 0, round 30 already has this vote, or all it was served for"),
        (mixed, UnknownRound, "round 99"),
    ]:
        with refused(learner, kind, message):
            learner.tell(given)
    learner.tell(good)
    with refused(learner, AlreadyTold, "already has this vote"):
        learner.tell(good)
    learner.observe(contexts(0, 30))
    with refused(learner, UnknownRound, "waits for nothing"):
        learner.tell(good)


def test_forgetting_and_looking(learner: DuelingLearner) -> None:
    for run, round, kind, message in [
        (5, 30, InvalidInput, "There is no run 5"),
        (0, 31, UnknownRound, "never served"),
        (0, 0, UnknownRound, "waits for nothing"),
    ]:
        with refused(learner, kind, message):
            learner.forget(run, round)
    with refused(learner, UnknownRound, "never served"):
        learner.served(31)
    with refused(learner, UnknownRound, "waits for nothing"):
        learner.served(0)


def test_foreign_snapshots(learner: DuelingLearner) -> None:
    place = {"context_dim": 3, "post_dim": 2, "post_serving": "ridge"}
    for other, message in [
        (rcdp_ucb(runs=1, **place), r"served.matrix .* shape \(1, 5, 5\); this learner's has \(2, 5, 5\)"),
        (rcdp_ucb(runs=2, context_dim=4), r"shape \(2, 4, 4\)|lacks"),
        (
            rcdp_ucb(runs=2, estimate="one-pass", **place),
            "lacks .*estimate.held.* settings of the one that made it",
        ),
    ]:
        with refused(learner, InvalidInput, message):
            learner.restore(other.snapshot())


def test_snapshots_of_other_parts() -> None:
    """Names alike, shapes not: nothing is written before all shapes were looked at."""
    for own, other, name in [
        ("ridge", "spline", "inverse"),
        (Neural(hidden=4), Neural(hidden=5), "parameters"),
    ]:
        learner, foreign = (
            rcdp_ucb(runs=2, context_dim=3, post_dim=2, post_serving=model) for model in (own, other)
        )
        for made in (learner, foreign):
            live(made, Life([0, 1], candidates=4, context_dim=3, post_dim=2), rounds=30)
        with refused(learner, InvalidInput, f"post_serving.{name} .* Nothing was changed"):
            learner.restore(foreign.snapshot())


def test_a_part_that_refuses_its_snapshot_leaves_the_learner_as_it_was(learner: DuelingLearner) -> None:
    wrong = {**learner.snapshot(), "pending.count": np.array([1, 10**6])}
    with refused(learner, InvalidInput, "does not fit this learner's parts.*Nothing was changed"):
        learner.restore(wrong)


def test_sizes_may_be_numpys() -> None:
    sizes: dict[str, Any] = {"runs": np.int64(3), "context_dim": np.int32(2), "seed": np.int64(1)}
    made = rcdp_ucb(**sizes)
    assert made.theta.shape == (3, 2)
    assert rcdp_ucb(runs=cast("Any", np.array([4, 7])), context_dim=2).noise.numbers == (4, 7)


def told(**wrong: Any) -> DuelingLearner:
    """What no type checker would let pass."""
    return rcdp_ucb(context_dim=2, **wrong)


NAMES: list[tuple[Callable[[], object], str]] = [
    (lambda: recipe("rcdp-ubc"), "no method called 'rcdp-ubc'. Did you mean 'rcdp-ucb'"),
    (lambda: rcdp_ucb(context_dim=2, estimate="full-mel"), "estimator called .* mean 'full-mle'"),
    (lambda: rcdp_ucb(context_dim=2, link="probti"), "link called .* mean 'probit'"),
    (lambda: told(exploration_width="theroy"), "exploration width .* mean 'theory'"),
    (lambda: told(geometry="serve"), "geometry .* mean 'served'"),
    (lambda: told(features="observd"), "features .* mean 'observed'"),
    (lambda: told(preset="papre"), "preset .* mean 'paper'"),
    (lambda: told(regularization=1.0), "option .* mean 'regularisation'"),
    (
        lambda: rcdp_ucb(context_dim=2, post_dim=2, post_serving="splien"),
        "post-serving model .* mean 'spline'",
    ),
    (lambda: LinearWorld(mapping="absolut"), "mapping .* mean 'abs'"),
    (lambda: LinearWorld(scaling=cast("Any", "normalized")), "scaling .* mean 'normalised'"),
    (lambda: LinearWorld(mapping=cast("Any", ["abs"])), r"mapping called \['abs'\]"),
    (lambda: recipe(cast("Any", 5)), "method called 5"),
]


@pytest.mark.parametrize(("make", "message"), NAMES)
def test_unknown_names_suggest_the_nearest(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        make()


SETTINGS: list[tuple[Callable[[], object], str]] = [
    (lambda: StrategicCorruption(budget=-1), "budget is -1. Expected a whole number of at least 0"),
    (lambda: RandomCorruption(budget=-1, probability=0.5), "budget is -1"),
    (lambda: StrategicDelay(budget=-5), "budget is -5"),
    (lambda: BlindPhase(budget=-5), "budget is -5"),
    (
        lambda: rcdp_ucb(context_dim=2, exploration_width="data", corruption_budget=-1),
        "corruption_budget is -1",
    ),
    (lambda: told(corruption_budget="Unknown"), "corruption_budget is 'Unknown'. .* or 'unknown'"),
    (lambda: told(corruption_budget=math.nan), "corruption_budget is nan"),
    (lambda: told(corruption_budget=-5), "corruption_budget is -5"),
    (lambda: told(delay="unkown"), "delay is 'unkown'"),
    (lambda: told(delay=math.inf), "delay is inf"),
    (lambda: cast("Any", rcdp_ucb)(post_dim=2), "context_dim is missing; given: post_dim. Expected how many"),
    (lambda: cast("Any", recipe("live"))(), "context_dim is missing"),
    (lambda: rcdp_ucb(context_dim=0), "context_dim is 0. Expected a whole number of at least 1"),
    (lambda: rcdp_ucb(context_dim=cast("Any", 2.5)), "context_dim is 2.5"),
    (lambda: rcdp_ucb(context_dim=cast("Any", "2")), "context_dim is '2'"),
    (lambda: rcdp_ucb(context_dim=2, post_dim=-1), "post_dim is -1"),
    (lambda: rcdp_ucb(context_dim=2, runs=0), "runs is 0. Expected a whole number of at least 1"),
    (lambda: told(runs=2.0), "runs is 2.0"),
    (lambda: rcdp_ucb(context_dim=2, runs=[]), "runs is empty"),
    (lambda: rcdp_ucb(context_dim=2, runs=[0, -1]), "run number is -1"),
    (lambda: rcdp_ucb(context_dim=2, seed=-1), "seed is -1"),
    (lambda: told(seed="a"), "seed is 'a'"),
    (lambda: rcdp_ucb(context_dim=2, side_columns=3), "side_columns is 3. .* at most 2"),
    (lambda: told(estimate=FullMLE), "estimate is <class .* such as FullMLE"),
    (lambda: rcdp_ucb(context_dim=2, clip=-0.1), "clip is -0.1; it must be positive"),
    (lambda: rcdp_ucb(context_dim=2, regularisation=0.0), "regularisation is 0.0; .* positive and finite"),
    (lambda: rcdp_ucb(context_dim=2, curvature=math.inf), "curvature is inf; .* positive and finite"),
    (lambda: rcdp_ucb(context_dim=2, runs=3, clip=np.ones(2)), r"clip has shape \(2,\); expected .* \(3,\)"),
    (lambda: rcdp_ucb(context_dim=2, estimate=FullMLE(tolerance=0.0)), "tolerance is 0.0"),
    (
        lambda: rcdp_ucb(context_dim=2, estimate=OnePass(norm_bound=-1.0)),
        "norm_bound -1.0; both must be positive",
    ),
    (lambda: rcdp_ucb(context_dim=2, post_dim=3, post_serving="none"), "3 post-serving coordinates"),
]


@pytest.mark.parametrize(("make", "message"), SETTINGS)
def test_settings_out_of_range(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


def test_settings_may_differ_between_runs() -> None:
    """One learner of two settings is two learners of one."""
    each = {
        "exploration_width": [0.1, 2.0],
        "clip": [0.05, 0.5],
        "curvature": [0.25, 1.0],
        "regularisation": [1, 3],
    }
    place: Options = {"context_dim": 3, "post_dim": 2, "post_serving": "ridge", "distinct_pair": True}
    sizes = {"candidates": 4, "context_dim": 3, "post_dim": 2}
    arrays = {name: np.array(values) for name, values in each.items()}
    both = rcdp_ucb(**cast("Options", {"runs": [0, 0], **place, **arrays}))
    live(both, Life([0, 0], **sizes), rounds=30)
    assert not np.allclose(both.theta[0], both.theta[1])
    for row in range(2):
        numbers = {name: values[row] for name, values in each.items()}
        alone = rcdp_ucb(**cast("Options", {"runs": [0], **place, **numbers}))
        live(alone, Life([0], **sizes), rounds=30)
        np.testing.assert_array_equal(both.theta[row], alone.theta[0])


class Broken:
    def __init__(self, arms: object) -> None:
        self._arms = np.array(arms)

    def pairs(self, view: View) -> IntArray:
        return self._arms


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ([[0, 1]], r"pairs of shape \(1, 2\); expected \(2, 2\)"),
        ([[0, 4], [0, 1]], "positions are 0 to 3"),
        ([[0, 1], [-1, 1]], "positions are 0 to 3"),
        ([[0, 1], [1, 1]], "one candidate twice although distinct_pair is set"),
        ([[0.5, 1], [1, 2]], "whole numbers"),
    ],
)
def test_a_selection_rule_that_breaks_its_word(arms: object, message: str) -> None:
    learner = DuelingLearner(
        runs=2, context_dim=3, post_dim=0, select=Broken(arms), weigh=Uniform(), estimate=OneStep(),
        post_serving=NoPostServing(), width=ConstantWidth(value=1.0), distinct_pair=True,
    )  # fmt: skip
    with refused(learner, InvalidInput, message):
        learner.choose(candidates(2, 4, 3))


def test_a_missing_extra_names_the_pip_command() -> None:
    with pytest.raises(
        MissingExtra, match=r"A world needs the package 'no_such.*pip install 'duelwise\[lab\]'"
    ):
        errors.require("no_such_module", extra="lab", purpose="A world")
    errors.require("numpy", extra="lab", purpose="A world")


def test_the_core_loads_nothing_heavy() -> None:
    heavy = ("torch", "matplotlib", "plotly", "pandas", "fastapi", "sqlalchemy", "sklearn", "pyarrow")
    script = (
        "import sys, duelwise, duelwise.learning.recipes\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def width_of(learner: DuelingLearner) -> float:
    width = learner.parts.width
    assert isinstance(width, ConstantWidth)
    return float(width.value)


def test_every_recipe_reads_as_published() -> None:
    """The settings that the paper's curves were made with, d = 16."""
    root, place = 4.0, {"context_dim": 10, "post_dim": 6, "post_serving": "ridge"}
    made = {name: RECIPES[name](**place) for name in PAPER_FIVE}
    width = {name: width_of(method) for name, method in made.items()}
    assert width == {
        "rcdp-ucb": 0.1, "rcdb": 3 * root, "colstim": 0.5, "max-inp": 3 * root, "max-pair-ucb": 3 * root,
    }  # fmt: skip
    assert made["rcdp-ucb"].core.fit.weigh.served_clip[0] == root / 125
    assert made["rcdb"].core.fit.weigh.arrived_clip[0] == root / (0.5 * 25)
    assert {name for name, method in made.items() if method.rules.curvature[0] == 0.25} == {"rcdp-ucb"}
    assert {name for name, method in made.items() if method.rules.distinct} == {"colstim", "max-inp"}
    assert width_of(RECIPES["max-inp"](context_dim=16)) == 0.5
    assert width_of(RECIPES["max-pair-ucb"](context_dim=16)) == root

"""Parts of one's own: honoured by `play`, and compiled where they bring a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
import pytest
from examples.own_corruption import PlainLies
from examples.own_delay import Hesitation
from examples.own_estimator import Gradient
from examples.own_model import Mean
from examples.own_rule import TopTwo

from duelwise import LinearWorld, Scenario, Trajectory, play, simulate
from duelwise.errors import InvalidInput
from duelwise.lab.play.adversary import Sent, delays_over_runs, wanted_delay
from duelwise.lab.play.compiled_loop import is_compiled
from duelwise.lab.play.corruptions import CorruptionModel, StrategicCorruption
from duelwise.lab.play.delays import DelayModel, StrategicDelay
from duelwise.lab.play.world import Truth, World
from duelwise.learning.core import Arrivals, Core, Fit, kernel, roles
from duelwise.learning.core.dispatch import kernel_for
from duelwise.learning.estimation import Estimator, FullMLE, KernelEstimate, OneStep
from duelwise.learning.estimation.full_mle import MaximumLikelihood, VoteHistory
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.post_serving import KernelModel, PostServing, Spline
from duelwise.learning.selection import Distrust, LeaderChallenger, Selection, View
from duelwise.learning.weighting import ServedLeverage, Weighting
from duelwise.learning.weighting.weights import Weights
from duelwise.learning.widths import ConstantWidth, Width
from duelwise.testing.life import assert_same_state
from duelwise.types import Array, BoolArray, Contexts, Duel, IntArray, Served

HORIZON = 300


class Parts(TypedDict, total=False):
    select: Selection
    weigh: Weighting
    estimate: Estimator
    post_serving: PostServing
    width: Width


class Setting(TypedDict, total=False):
    world: World
    delay: DelayModel
    corruption: CorruptionModel


PARTS: Parts = {
    "select": LeaderChallenger(), "weigh": ServedLeverage(clip=0.3), "estimate": OneStep(),
    "post_serving": Spline(), "width": ConstantWidth(value=0.5),
}  # fmt: skip


def made(kind: type[DuelingLearner] = DuelingLearner, **parts: Unpack[Parts]) -> DuelingLearner:
    chosen: Parts = {**PARTS, **parts}
    return kind(runs=2, context_dim=3, post_dim=3, seed=1, **chosen)


def world(kind: type[LinearWorld] = LinearWorld) -> LinearWorld:
    return kind(runs=2, context_dim=3, arms=5, mapping="abs", seed=4)


def hard(**changed: Unpack[Setting]) -> Scenario:
    setting: Setting = {
        "world": world(), "delay": StrategicDelay(budget=400), "corruption": StrategicCorruption(budget=9),
        **changed,
    }  # fmt: skip
    return Scenario(**setting)


def assert_equal(one: Trajectory, other: Trajectory) -> None:
    for field in ("regret", "distinct_regret", "arms", "told", "flips_spent", "delay_spent"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), err_msg=field)


# A subclass that changes what its parent does is played as what it is.


class Shy(LeaderChallenger):
    def pairs(self, view: View) -> IntArray:
        return np.tile([0, 1], (len(view.z), 1))


class Swapped:
    """No subclass, no kernel."""

    def pairs(self, view: View) -> IntArray:
        return LeaderChallenger().pairs(view)[:, ::-1].copy()


class Silent(StrategicCorruption):
    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return np.zeros(len(outcome), np.bool_)


class Prompt(StrategicDelay):
    def rounds(self, t: int, served: Served, utility: Array) -> IntArray:
        return np.zeros(len(utility), np.int64)


class AlwaysFirst(LinearWorld):
    def vote(self, t: int, truth: Truth, arms: IntArray) -> Array:
        return np.ones(len(arms))


class OtherTruth(LinearWorld):
    def reveal(self, t: int, x: Array) -> Truth:
        truth = super().reveal(t, x)
        return truth._replace(utility=-truth.utility, expected=-truth.expected)


class OtherContexts(LinearWorld):
    def contexts(self, t: int) -> Array:
        return 0.5 * super().contexts(t)


class Stubborn(MaximumLikelihood):
    def learn(self, fit: Fit, r: int, arrivals: Arrivals) -> None:
        self.theta[r] = 1.0


class StubbornMLE(FullMLE):
    def start(self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array) -> Stubborn:
        return Stubborn(self, runs, dim, regularisation)


class Blank(KernelModel):
    def predict(self, x: Array) -> Array:
        return np.zeros((*x.shape[:2], self.post_dim))


class BlankSpline(Spline):
    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> Blank:
        known = super().start(runs=runs, context_dim=context_dim, post_dim=post_dim, seed=seed)
        return Blank(known.state, post_dim=known.post_dim)


class Bold(ConstantWidth):
    def at(self, core: Core) -> Array:
        return np.full(len(core.fit.theta), 50.0)


class Forgetful(DuelingLearner):
    def observe(self, contexts: Contexts):
        return super().observe(contexts._replace(y=0.0 * contexts.y))


class Contrary(DuelingLearner):
    def choose(self, x: Array) -> Duel:
        duel = super().choose(x)
        return duel._replace(arms=duel.arms[:, ::-1], x=duel.x[:, ::-1], predicted=duel.predicted[:, ::-1])


OVERRIDES = {
    "Selection.pairs": (lambda: made(select=Shy()), hard),
    "Selection.pairs after distrust": (lambda: made(select=Distrust(votes=5, then=Shy())), hard),
    "Selection.pairs of no kernel": (lambda: made(select=Distrust(votes=5, then=Swapped())), hard),
    "Estimate.learn": (lambda: made(estimate=StubbornMLE()), hard),
    "PostServingModel.predict": (lambda: made(post_serving=BlankSpline()), hard),
    "Width.at": (lambda: made(width=Bold(value=0.5)), hard),
    "Corruptions.flips": (made, lambda: hard(corruption=Silent(budget=9))),
    "Delays.rounds": (made, lambda: hard(delay=Prompt(budget=400))),
    "World.vote": (made, lambda: hard(world=world(AlwaysFirst))),
    "World.reveal": (made, lambda: hard(world=world(OtherTruth))),
    "World.contexts": (made, lambda: hard(world=world(OtherContexts))),
    "DuelingLearner.observe": (lambda: made(Forgetful), hard),
    "DuelingLearner.choose": (lambda: made(Contrary), hard),
}


@pytest.mark.parametrize("method", OVERRIDES)
def test_an_overridden_method_is_honoured(method: str) -> None:
    learner, scenario = OVERRIDES[method]
    played = play(learner(), scenario(), horizon=HORIZON)
    assert_equal(played, simulate(learner(), scenario(), horizon=HORIZON))
    parent = play(made(estimate=FullMLE()) if method == "Estimate.learn" else made(), hard(), horizon=HORIZON)
    changed = [not np.array_equal(played.arms, parent.arms), not np.array_equal(played.told, parent.told)]
    assert any(changed), "played as its parent"


# A part with a kernel runs in the compiled loop, without it in the plain one, with equal numbers.


class PlainRule(TopTwo):
    """What it inherits does not count: no kernel."""


class PlainModel(KernelModel):
    """No kernel."""


class PlainMean(Mean):
    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> PlainModel:
        known = super().start(runs=runs, context_dim=context_dim, post_dim=post_dim, seed=seed)
        return PlainModel(known.state, post_dim=known.post_dim)


class PlainEstimate(KernelEstimate):
    """No kernel."""


@dataclass(frozen=True)
class PlainGradient(Gradient):
    def start(
        self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array
    ) -> PlainEstimate:
        known = super().start(
            runs=runs, dim=dim, link=link, regularisation=regularisation, curvature=curvature
        )
        return PlainEstimate(known.state, runs=len(known.theta), dim=known.theta.shape[1])


class PlainDelay(Hesitation):
    """No kernel."""


class PlainCorruption(PlainLies):
    """No kernel."""


OWN: dict[str, tuple[Parts, Setting, Parts, Setting]] = {
    "rule": ({"select": TopTwo()}, {}, {"select": PlainRule()}, {}),
    "estimator": ({"estimate": Gradient()}, {}, {"estimate": PlainGradient()}, {}),
    "model": ({"post_serving": Mean()}, {}, {"post_serving": PlainMean()}, {}),
    "delay": ({}, {"delay": Hesitation()}, {}, {"delay": PlainDelay()}),
    "corruption": ({}, {"corruption": PlainLies(budget=9)}, {}, {"corruption": PlainCorruption(budget=9)}),
}


@pytest.mark.parametrize("part", OWN)
def test_a_part_of_ones_own_with_and_without_its_kernel(part: str) -> None:
    parts, setting, plain_parts, plain_setting = OWN[part]
    fast, slow = made(**parts), made(**plain_parts)
    assert is_compiled(fast, hard(**setting))
    assert not is_compiled(slow, hard(**plain_setting))
    compiled, plain = (
        play(one, hard(**how), horizon=HORIZON) for one, how in ((fast, setting), (slow, plain_setting))
    )
    assert_equal(compiled, plain)
    assert_same_state(fast.snapshot(), slow.snapshot())


class Early(NamedTuple):
    """Votes of this round and later ones shall come before they were given."""

    since: int


@kernel(wanted_delay, Early)
def before_it_was_given(state: Early, at: int, r: int, sent: Sent) -> int:
    return -5 if r == 1 and at >= state.since else 1


@dataclass(frozen=True)
class Prophets:
    budget: int = 100

    def start(self, *, runs: Sequence[int], seed: int) -> Prophets:
        return self

    def rounds(self, t: int, served: Served, utility: Array) -> IntArray:
        return delays_over_runs(self.compiled(t, len(utility)), 0, served, utility)

    def compiled(self, begin: int, runs: int) -> Early:
        return Early(max(0, 20 - begin))


@pytest.mark.parametrize("horizon", [30, HORIZON])
def test_a_negative_delay_is_refused_by_both_loops(horizon: int) -> None:
    scenario = hard(delay=Prophets())
    assert is_compiled(made(), scenario)
    said: list[str] = []
    for loop in (play, simulate):
        with pytest.raises(InvalidInput, match="negative delay in round 20") as refused:
            loop(made(), scenario, horizon=horizon)
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_a_state_without_a_kernel_is_named() -> None:
    class Unknown(tuple):
        pass

    with pytest.raises(ValueError, match=r"Unknown has no kernel for 'learn'. Register one with"):
        kernel_for(roles.learn, Unknown)


# Weights may be taken again from the whole history before a solve.


class Halved(Weights):
    """Weights whose votes count half once there are more than a few."""


@kernel(roles.weigh_observed, Halved)
def full_at_first(weigh: Halved, pending: object, r: int, slot: int) -> float:
    return 1.0


@kernel(roles.weigh_arrived, Halved)
def as_served(weigh: Halved, fit: Fit, r: int, dz: Array, weight: float) -> float:
    return weight


@kernel(roles.reweigh, Halved)
def halve(weigh: Halved, fit: Fit, r: int, history: VoteHistory) -> bool:
    if history.held[r] != 20:
        return False
    for i in range(20):
        history.weight[r, i] = 0.5
    return True


@dataclass(frozen=True)
class Halving:
    def start(self, runs: int) -> Halved:
        return Halved(np.ones(runs), np.ones(runs))


def test_weights_taken_again_give_the_solution_of_the_new_weights() -> None:
    learner = made(weigh=Halving(), estimate=FullMLE(tolerance=1e-10))
    play(learner, Scenario(world()), horizon=60)
    estimate = learner.estimate
    assert isinstance(estimate, MaximumLikelihood)
    held = estimate.history
    for r in range(2):
        n = int(held.held[r])
        assert n > 20
        assert held.weight[r, :n].tolist() == [0.5] * 20 + [1.0] * (n - 20)
        z, theta = held.z[r, :, :n], learner.theta[r]
        residual = held.weight[r, :n] * (1 / (1 + np.exp(-theta @ z)) - held.outcome[r, :n])
        np.testing.assert_allclose(theta + z @ residual, 0.0, atol=1e-9)


class OwnInverse(NamedTuple):
    inverse: Array  # (R, p, p), as anybody would call it


@kernel(roles.predict, OwnInverse)
def expect_nothing(model: OwnInverse, r: int, x: Array, out: Array) -> None:
    out[:] = 0.0


@kernel(roles.absorb, OwnInverse)
def count_pairs(model: OwnInverse, r: int, x: Array, y: Array) -> None:
    model.inverse[r, 0, 0] += 1.0


@dataclass(frozen=True)
class WithInverse:
    def start(self, *, runs: Sequence[int], context_dim: int, post_dim: int, seed: int) -> KernelModel:
        return KernelModel(OwnInverse(np.zeros((len(runs), 2, 2))), post_dim=post_dim)


def test_a_models_own_inverse_keeps_its_shape() -> None:
    """Least squares of ours have one for each output where values are missing; others are left alone."""
    learner = DuelingLearner(runs=1, context_dim=1, post_dim=4, **{**PARTS, "post_serving": WithInverse()})
    learner.serve(learner.choose(np.array([[[0.0], [1.0]]])))
    y = np.ones((1, 2, 4))
    y[0, 0, 0] = np.nan
    learner.observe(Contexts(np.zeros(1, int), np.zeros(1, int), y))
    assert learner.snapshot()["post_serving.inverse"].tolist() == [[[1.0, 0.0], [0.0, 0.0]]]
    assert_same_state(deepcopy(learner).snapshot(), learner.snapshot())

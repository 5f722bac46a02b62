"""The compiled loop gives the floats of the plain one, for every combination of parts it knows."""

from __future__ import annotations

from typing import Literal, Unpack

import numpy as np
import pytest

from duelwise.lab.play import compiled_loop, corruptions, delays
from duelwise.lab.play.compiled_loop import is_compiled, play, rollout
from duelwise.lab.play.contexts import LateContexts
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.simulation import Trajectory, simulate
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.core.deferred_compilation import DeferredKernel
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.recipes import PAPER_FIVE, STREAM_RECIPES, Tuning, rcdp_ucb, recipe
from duelwise.testing.life import assert_same_state
from duelwise.types import Votes

HORIZON = 300  # more than one block of draws

DELAYS = {
    "none": delays.NoDelay(),
    "constant": delays.ConstantDelay(rounds=7),
    "gaussian": delays.GaussianDelay(mean=20, std=20),
    "geometric": delays.GeometricDelay(mean=5),
    "pareto": delays.ParetoDelay(mean=10, shape=1.5),
    "strategic": delays.StrategicDelay(budget=900),
    "blind": delays.BlindPhase(budget=900),
    "together": delays.TogetherDelay(size=30),
}
CORRUPTIONS = {
    "none": corruptions.NoCorruption(),
    "strategic": corruptions.StrategicCorruption(budget=12),
    "random": corruptions.RandomCorruption(budget=12, probability=0.2),
    "late": corruptions.LateCorruption(budget=12, start_round=50),
    "leverage": corruptions.LeverageCorruption(budget=12, threshold=2.0),
    "raters": corruptions.LyingRaters(raters=7, liars=0.3),
}


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few rounds are played here."""
    monkeypatch.setattr(compiled_loop, "FEW_ROUNDS", 0)


@pytest.mark.parametrize(
    ("name", "mapping", "delay"), [("rcdp-ucb", "abs", "strategic"), ("colstim", "cosine", "pareto")]
)
def test_a_few_rounds_need_no_compiler(
    monkeypatch: pytest.MonkeyPatch, name: str, mapping: str, delay: str
) -> None:
    """The loop's own text, from a kernel that is nowhere on disk."""
    unread = DeferredKernel(compiled_loop.play_block.py_func)  # pyright: ignore[reportFunctionMemberAccess, reportAttributeAccessIssue]
    monkeypatch.setattr(compiled_loop, "play_block", unread)
    monkeypatch.setattr(compiled_loop, "FEW_ROUNDS", 3 * 100)
    played = scenario(mapping=mapping, delay=delay)
    plain, fast = (learner(name, played, post_serving="ridge") for _ in range(2))
    assert_equal(simulate(plain, played, horizon=100), rollout(fast, played, horizon=100))
    assert_same_state(fast.snapshot(), plain.snapshot())
    assert not unread.overloads


@pytest.mark.parametrize(("few", "shares"), [(3 * 40, [(0, 3)]), (3 * 40 - 1, [(0, 1), (1, 2), (2, 3)])])
def test_who_may_read_has_all_runs_to_itself(
    monkeypatch: pytest.MonkeyPatch, few: int, shares: list[tuple[int, int]]
) -> None:
    """A text that fails puts all arrays back: beside it nobody may play the other runs."""
    played, spans = scenario(), list[tuple[int, int]]()
    monkeypatch.setattr(compiled_loop, "FEW_ROUNDS", few)
    monkeypatch.setattr(compiled_loop, "play_block", lambda *given: spans.append(given[-2:]))
    rollout(learner("rcdp-ucb", played), played, horizon=40)
    assert sorted(spans) == shares


def scenario(*, mapping: str = "none", delay: str = "gaussian", corruption: str = "strategic") -> Scenario:
    world = LinearWorld(runs=[0, 1, 1], context_dim=4, arms=5, mapping=mapping, seed=3)
    return world.with_delay(DELAYS[delay]).with_corruption(CORRUPTIONS[corruption])


def learner(name: str, played: Scenario, **options: Unpack[Tuning]) -> DuelingLearner:
    world = played.world
    return recipe(name)(
        runs=[0, 1, 1], context_dim=world.context_dim, post_dim=world.post_dim, seed=3, **options
    )


def assert_same(name: str, played: Scenario, **options: Unpack[Tuning]) -> None:
    plain, fast = learner(name, played, **options), learner(name, played, **options)
    assert is_compiled(fast, played)
    assert_equal(simulate(plain, played, horizon=HORIZON), rollout(fast, played, horizon=HORIZON))
    assert_same_state(fast.snapshot(), plain.snapshot())  # φ̂'s scores and what waits included


def assert_equal(expected: Trajectory, got: Trajectory) -> None:
    for field in ("regret", "distinct_regret", "arms", "told", "flips_spent", "delay_spent"):
        np.testing.assert_array_equal(getattr(got, field), getattr(expected, field), err_msg=field)


@pytest.mark.parametrize("name", STREAM_RECIPES)
def test_every_recipe_with_kernels(name: str) -> None:
    assert_same(name, scenario(mapping="sinusoidal"))


@pytest.mark.parametrize("name", PAPER_FIVE)
def test_every_method_of_the_paper_without_contexts(name: str) -> None:
    assert_same(name, scenario())


@pytest.mark.parametrize("delay", DELAYS)
def test_every_delay(delay: str) -> None:
    assert_same("rcdp-ucb", scenario(delay=delay))


@pytest.mark.parametrize("name", ["rcdp-ucb", "steady"])
def test_contexts_that_are_late_and_never_whole(name: str) -> None:
    delay = delays.GaussianDelay(mean=8, std=8)
    late = LateContexts(delay=delay, missing_sides=0.1, missing_values=0.2, deadline=12)
    assert_same(name, scenario(mapping="sinusoidal").with_contexts(late))


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_every_corruption(corruption: str) -> None:
    assert_same("rcdp-ucb", scenario(corruption=corruption))


@pytest.mark.parametrize("estimate", ["full-mle", "one-step", "one-pass"])
@pytest.mark.parametrize("link", ["logistic", "probit", "clipped-linear"])
def test_every_estimate_and_link(estimate: str, link: str) -> None:
    assert_same("rcdp-ucb", scenario(), estimate=estimate, link=link)


def test_settings_of_each_run_and_distinct_pairs() -> None:
    assert_same(
        "rcdb",
        scenario(mapping="abs"),
        geometry="served",
        features="observed",
        estimate="full-mle",
        exploration_width=np.array([0.1, 0.5, 2.0]),
        clip=np.array([0.1, 1.0, np.inf]),
        distinct_pair=True,
    )


def test_a_learner_that_ignores_post_serving_context() -> None:
    played = scenario(mapping="abs")
    plain, fast = (rcdp_ucb(runs=3, context_dim=4, seed=3) for _ in range(2))
    expected, got = simulate(plain, played, horizon=HORIZON), rollout(fast, played, horizon=HORIZON)
    np.testing.assert_array_equal(got.arms, expected.arms)


def test_a_model_of_contexts_that_there_are_none_of() -> None:
    """φ̂ is named, and nothing is to be foreseen."""
    assert_same("rcdp-ucb", scenario(), post_serving="ridge")


@pytest.mark.parametrize("width", ["theory", "data"])
def test_every_width(width: Literal["theory", "data"]) -> None:
    assert_same("rcdp-ucb", scenario(), exploration_width=width)


@pytest.mark.parametrize("model", ["spline", "ridge"])
def test_every_model_with_a_kernel(model: str) -> None:
    assert_same("rcdp-ucb", scenario(mapping="abs"), post_serving=model)


def test_a_learner_can_be_played_on_from_where_the_loop_left_it() -> None:
    played = scenario(mapping="abs")
    plain, fast = learner("rcdp-ucb", played), learner("rcdp-ucb", played)
    simulate(plain, played, horizon=HORIZON)
    rollout(fast, played, horizon=HORIZON)
    late = np.array([fast.snapshot()["pending.round"][0]])
    for one in (plain, fast):
        one.tell(Votes(np.zeros(1, int), late, np.ones(1)))
    assert_same_state(fast.snapshot(), plain.snapshot())


def test_play_falls_back_to_the_plain_loop_for_parts_it_does_not_know() -> None:
    played = scenario(mapping="abs")
    other = learner("rcdp-ucb", played, post_serving="knn")
    assert not is_compiled(other, played)
    assert play(other, played, horizon=50).regret.shape == (3, 50)
    assert other.round == 50


def test_progress_counts_rounds() -> None:
    played, heard = scenario(), []
    play(learner("colstim", played), played, horizon=HORIZON, progress=heard.append)
    assert heard == [256, 300]

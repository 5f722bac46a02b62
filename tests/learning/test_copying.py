"""Learners and worlds can be pickled and copied, and the copy goes on as the original does."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from duelwise import LinearWorld, play
from duelwise.lab.play.delays import GaussianDelay
from duelwise.lab.play.world import World
from duelwise.lab.worlds.hard import BasisArms
from duelwise.lab.worlds.labelled import Labelled
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.post_serving import POST_SERVING
from duelwise.learning.recipes import RECIPES, rcdp_ucb
from duelwise.testing.life import assert_same_state
from duelwise.types import Contexts, Votes

RUNS = 2


def pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


COPIES: dict[str, Callable[[Any], Any]] = {"pickle": pickled, "deepcopy": copy.deepcopy}


def go_on(learner: DuelingLearner, rounds: range) -> list[list[list[int]]]:
    """Serve these rounds, their contexts at once and their votes three rounds later; the pairs chosen."""
    run, pairs = np.arange(RUNS), list[list[list[int]]]()
    for t in rounds:
        rng = np.random.default_rng(t)
        duel = learner.choose(rng.normal(size=(RUNS, 4, 2)))
        learner.serve(duel)
        pairs.append(duel.arms.tolist())
        learner.observe(Contexts(run, np.full(RUNS, t), np.abs(duel.x)))
        if t >= 3:
            learner.tell(Votes(run, np.full(RUNS, t - 3), rng.integers(2, size=RUNS).astype(float)))
    return pairs


def check(made: DuelingLearner, copied: Callable[[Any], Any]) -> None:
    go_on(made, range(12))
    other = copied(made)
    assert_same_state(made.snapshot(), other.snapshot())
    before = made.snapshot()
    assert go_on(other, range(12, 24)) == go_on(copied(made), range(12, 24))
    assert_same_state(before, made.snapshot())  # nothing is shared
    go_on(made, range(12, 24))
    assert_same_state(made.snapshot(), other.snapshot())


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", RECIPES)
def test_a_copy_of_every_recipe_goes_on_alike(name: str, how: str) -> None:
    check(RECIPES[name](runs=RUNS, context_dim=2, post_dim=2, seed=3), COPIES[how])


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("model", [name for name in POST_SERVING if name != "none"])
def test_a_copy_of_every_model_goes_on_alike(model: str, how: str) -> None:
    check(rcdp_ucb(runs=RUNS, context_dim=2, post_dim=2, seed=3, post_serving=model), COPIES[how])


def test_the_copy_of_a_watched_learner_is_watched() -> None:
    made = rcdp_ucb(runs=RUNS, context_dim=2, post_dim=2)
    made.watch()
    check(made, pickled)


WORLDS: dict[str, Callable[[], World]] = {
    "linear": lambda: LinearWorld(runs=2, context_dim=2, arms=3, mapping="abs", noise=0.1),
    "normalised": lambda: LinearWorld(
        runs=2, context_dim=2, arms=3, mapping="abs", scaling="normalised", link="clipped-linear"
    ),
    "hard": lambda: BasisArms(dim=4).start(runs=(0, 1), seed=0),
    "labelled": lambda: Labelled(name="wine", arms=3).start(runs=(0, 1), seed=0),
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", WORLDS)
def test_a_copy_of_a_world_is_that_world(name: str, how: str) -> None:
    world = WORLDS[name]()
    other = COPIES[how](world)
    for t in (0, 300, 1):
        np.testing.assert_array_equal(world.contexts(t), other.contexts(t))
        arms = np.array([[0, 1], [2, 1]])
        voted, again = (one.vote(t, one.reveal(t, one.contexts(t)), arms) for one in (world, other))
        np.testing.assert_array_equal(voted, again)


def test_a_scenario_is_played_alike_after_pickling() -> None:
    scenario = LinearWorld(runs=2, context_dim=2, arms=3).with_delay(GaussianDelay(mean=3, std=2))
    one, other = (
        play(RECIPES["colstim"](runs=2, context_dim=2), place, horizon=50)
        for place in (scenario, pickled(scenario))
    )
    np.testing.assert_array_equal(one.arms, other.arms)

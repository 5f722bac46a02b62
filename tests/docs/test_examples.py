"""A user's own part takes at most twenty lines and passes the shipped suites."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.simulation import simulate
from duelwise.lab.play.world import World
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.recipes import rcdp_ucb
from duelwise.testing.learning import SelectionConformance
from duelwise.testing.worlds import WorldConformance

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["own_selection", "own_world"])
def test_an_own_part_is_short(name: str) -> None:
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= 20


class TestOwnSelection(SelectionConformance):
    rule = example("own_selection").LeaderAndChance()


class TestOwnWorld(WorldConformance):
    def make(self, runs: Sequence[int]) -> World:
        return example("own_world").Meals(runs)

    def test_it_can_be_learned(self) -> None:
        learner = rcdp_ucb(runs=range(4), context_dim=1, post_dim=1, post_serving="spline")
        played = simulate(learner, Scenario(self.make(range(4))), horizon=200)
        assert played.regret[:, 150:].mean() < 0.3 * played.regret[:, :5].mean()


class TestLinearWorld(WorldConformance):
    def make(self, runs: Sequence[int]) -> World:
        return LinearWorld(runs=runs, context_dim=3, arms=4, mapping="abs", noise=0.2, seed=5)

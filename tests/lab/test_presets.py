"""The theory's own algorithm from every door: TOML, run and reproduce."""

import math
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from duelwise.cli import app
from duelwise.errors import InvalidInput
from duelwise.lab.cells.experiment import Method, decode_cell, decode_experiment
from duelwise.lab.paper.figures import FIGURES
from duelwise.lab.paper.protocols import PROTOCOLS, delay_complexity_of
from duelwise.lab.play.delays import BlindPhase, ConstantDelay, GaussianDelay, NoDelay, StrategicDelay
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning import radii
from duelwise.learning.estimation import OneStep
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.widths import ConstantWidth, ObservedWidth, TheoryWidth

WORLD = LinearWorld(runs=2, context_dim=4, arms=3)


def started(**told: Any) -> DuelingLearner:
    return Method(name="rcdp-ucb", **told).start(WORLD, runs=(0, 1), seed=0)


def test_listing_1() -> None:
    learner = started(preset="listing-1")
    assert learner.parts.width == ConstantWidth(value=0.5)
    assert not learner.rules.observed
    np.testing.assert_array_equal(learner.rules.curvature, 0.1)
    np.testing.assert_array_equal(learner.core.fit.weigh.served_clip, 1.0)
    assert learner.parts.estimate == OneStep()


@pytest.mark.parametrize(("preset", "delay"), [("theory", 20.0), ("appendix", 60.0)])
def test_the_theory_and_its_appendix(preset: str, delay: float) -> None:
    learner = started(preset=preset, corruption_budget=5.0, delay=20.0, norm_bound=2.0)
    alpha = 2.0 / 25.0
    assert learner.parts.width == TheoryWidth(corruption_budget=5.0, delay=delay, clip=alpha, norm_bound=2.0)
    np.testing.assert_allclose(learner.rules.curvature, math.exp(-2) / (1 + math.exp(-2)) ** 2)
    beta = radii.radius(
        1, dim=4, regularisation=1.0, confidence=0.05, norm_bound=2.0, alpha=alpha,
        corruption_budget=5.0, delay=20.0, delay_factor=delay / 20.0,
    )  # fmt: skip
    np.testing.assert_allclose(learner.parts.width.at(learner.core), 2 * beta)


@pytest.mark.parametrize("preset", ["theory", "appendix"])
@pytest.mark.parametrize("budget", ["corruption_budget", "delay"])
def test_no_width_follows_from_an_unknown_budget(preset: str, budget: str) -> None:
    with pytest.raises(InvalidInput, match="one of them is unknown"):
        started(preset=preset, **{budget: "unknown"})


def test_what_is_named_comes_before_the_preset() -> None:
    learner = started(preset="theory", exploration_width="data", curvature=0.2, link="probit")
    assert isinstance(learner.parts.width, ObservedWidth)
    np.testing.assert_array_equal(learner.rules.curvature, 0.2)
    assert learner.rules.link == 1


def test_presets_are_of_rcdp_ucb_alone() -> None:
    with pytest.raises(InvalidInput, match="no preset 'theory'"):
        Method(name="rcdb", preset="theory")


def test_a_file_can_name_them_and_a_cell_remembers() -> None:
    experiment = decode_experiment(
        {
            "methods": ["rcdp-ucb"], "world": {"kind": "synthetic", "link": "probit"},
            "method": {"rcdp-ucb": {"preset": "appendix", "exploration_width": "theory", "link": "probit"}},
        }
    )  # fmt: skip
    cell = experiment.cells()[0]
    assert decode_cell(cell.canonical()) == cell
    assert cell.method.preset == "appendix"


@pytest.mark.parametrize("name", ["listing-1", "theory", "appendix"])
def test_reproduce_takes_the_budgets_of_the_panel(name: str) -> None:
    panel = next(p for p in FIGURES["E.11"].panels if "6,400" in p.title or "6400" in p.title)
    made = {
        each: PROTOCOLS[name].method(
            panel, each, "as published", post_serving="spline", finals=lambda _: np.ones(1)
        )
        for each in ("rcdp-ucb", "rcdb")
    }
    assert made["rcdb"].preset == "paper"
    ours = made["rcdp-ucb"]
    assert (ours.preset, ours.delay, ours.corruption_budget) == (name, 80.0, 25.0)


def test_the_delay_complexity_of_every_regime() -> None:
    assert delay_complexity_of(NoDelay()) == 0.0
    assert delay_complexity_of(ConstantDelay(rounds=7)) == 7.0
    assert delay_complexity_of(GaussianDelay(mean=60, std=20)) == 60.0
    assert (
        delay_complexity_of(StrategicDelay(budget=900)) == delay_complexity_of(BlindPhase(budget=900)) == 30.0
    )


def test_run_plays_the_theory_and_another_link() -> None:
    result = CliRunner().invoke(
        app,
        [
            *("run", "linear", "--protocol", "theory", "--link", "probit", "--horizon", "12", "--runs", "2"),
            *("--dim", "3", "--arms", "3", "--methods", "rcdp-ucb,rcdb", "--delay-budget", "9"),
        ],
    )
    assert result.exit_code == 0, result.output
    assert "rcdp-ucb" in result.output

"""Experiments as data: written down and read back, keyed by content, errors that name the key."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import PROBLEM, cells

from duelwise.errors import InvalidInput, UnknownName
from duelwise.lab.cells.experiment import PAPER_FIVE, Cell, Method, decode_cell, decode_experiment
from duelwise.lab.cells.problem import Problem, Synthetic
from duelwise.lab.play.corruptions import LateCorruption, RandomCorruption, StrategicCorruption
from duelwise.lab.play.delays import GaussianDelay, NoDelay, ParetoDelay, StrategicDelay
from duelwise.lab.worlds.labelled import Labelled
from duelwise.learning.recipes import RECIPES

worlds = st.one_of(
    st.builds(
        Synthetic,
        mapping=st.sampled_from(["none", "abs"]),
        context_dim=st.integers(1, 9),
        noise=st.floats(0, 1),
    ),
    st.builds(Labelled, name=st.sampled_from(["magic", "wine"]), arms=st.integers(2, 30)),
)
delays = st.one_of(
    st.builds(NoDelay),
    st.builds(StrategicDelay, budget=st.integers(0, 9)),
    st.builds(GaussianDelay, mean=st.floats(0, 100), std=st.floats(0, 9)),
    st.builds(ParetoDelay, mean=st.floats(0, 100), shape=st.floats(1.1, 9)),
)
corruptions = st.one_of(
    st.builds(StrategicCorruption, budget=st.integers(0, 9)),
    st.builds(LateCorruption, budget=st.integers(0, 9), start_round=st.integers(0, 9)),
    st.builds(RandomCorruption, budget=st.integers(0, 9), probability=st.floats(0, 1)),
)
problems = st.builds(
    Problem,
    world=worlds,
    delay=delays,
    corruption=corruptions,
    horizon=st.integers(1, 99),
    seed=st.integers(0, 9),
)
methods = st.builds(
    Method, name=st.sampled_from(["rcdp-ucb", "rcdb"]), post_serving=st.sampled_from(["none", "spline"]),
    exploration_width=st.none() | st.floats(0, 10), distinct_pair=st.none() | st.booleans(),
    geometry=st.none() | st.sampled_from(["served", "arrived"]),
)  # fmt: skip


@given(problem=problems, method=methods, runs=st.sets(st.integers(0, 2000), min_size=1, max_size=5))
def test_a_cell_is_its_text(problem: Problem, method: Method, runs: set[int]) -> None:
    cell = Cell(problem=problem, method=method, runs=tuple(runs))
    assert decode_cell(cell.canonical()) == cell


def test_cells_that_differ_have_texts_that_differ() -> None:
    cell = cells()[0]
    others = [
        replace(cell, runs=(0, 1)),
        replace(cell, method=replace(cell.method, exploration_width=0.3)),
        replace(cell, method=replace(cell.method, post_serving="ridge")),
        replace(cell, problem=replace(PROBLEM, horizon=41)),
        replace(cell, problem=replace(PROBLEM, delay=StrategicDelay(budget=101))),
        replace(cell, problem=replace(PROBLEM, world=Synthetic(context_dim=3, arms=5))),
    ]
    assert len({one.canonical() for one in [cell, *others]}) == 1 + len(others)


FILE = """
title = "Mine"
horizon = 50
runs = 2
methods = ["rcdp-ucb", "rcdb"]
post_serving = "ridge"
learners_of_post_serving = ["rcdp-ucb"]

[world]
kind = "synthetic"
mapping = "abs"
context_dim = 3

[delay]
kind = "stochastic"
mean = 5
std = 2

[corruption]
kind = "strategic"
budget = 2

[method.rcdp-ucb]
exploration_width = 0.5
"""


def test_a_file_describes_an_experiment() -> None:
    experiment = decode_experiment(tomllib.loads(FILE))
    ours, rival = experiment.cells()
    assert experiment.title == "Mine"
    assert ours.method == Method(name="rcdp-ucb", post_serving="ridge", exploration_width=0.5)
    assert rival.method == Method(name="rcdb")
    assert ours.problem.delay == GaussianDelay(mean=5.0, std=2.0)
    assert ours.runs == (0, 1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("horizon = 50", "horizn = 50", "horizn.*horizon"),
        ("horizon = 50", 'horizon = "long"', "experiment.horizon is 'long'.*whole number"),
        ("runs = 2", "runs = 0", "runs is 0"),
        ('kind = "synthetic"', 'kind = "synthetik"', "world.kind.*synthetic"),
        ('mapping = "abs"', "mapping = 3", "world.mapping is 3.*text"),
        ("mean = 5", "", "delay.mean is missing"),
        ("budget = 2", "budget = -2", "In corruption.*-2"),
        ("[method.rcdp-ucb]", "[method.colstim]", "colstim"),
        ("exploration_width = 0.5", 'geometry = "flat"', "method.rcdp-ucb.geometry is 'flat'.*served"),
        ('methods = ["rcdp-ucb", "rcdb"]', 'methods = "rcdp-ucb"', "experiment.methods.*list"),
        ("[delay]", "[dely]", "'dely'. Did you mean 'delay'"),
        ('methods = ["rcdp-ucb", "rcdb"]', "methods = []", r"methods is \[\].*at least one"),
        (
            'methods = ["rcdp-ucb", "rcdb"]',
            'methods = ["rcdp-ucb", "rcdp-ucb"]',
            "Expected different methods",
        ),
        ("exploration_width = 0.5", "corruption_budget = -3", "method.rcdp-ucb.*corruption_budget is -3"),
        ("exploration_width = 0.5", "corruption_budget = nan", "method.rcdp-ucb.*corruption_budget is nan"),
        ("exploration_width = 0.5", "delay = inf", "method.rcdp-ucb.*delay is inf"),
        ("exploration_width = 0.5", 'delay = "Unknown"', "method.rcdp-ucb.delay is 'Unknown'"),
        (
            'kind = "stochastic"\nmean = 5\nstd = 2',
            'kind = "constant"\nrounds = 99999999999999999999',
            "In delay: rounds is 99999999999999999999. .* at most",
        ),
        ('serving = ["rcdp-ucb"]', 'serving = ["colstim"]', "learners_of_post_serving called 'colstim'"),
    ],
)
def test_errors_name_the_key(old: str, new: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        decode_experiment(tomllib.loads(FILE.replace(old, new)))


@pytest.mark.parametrize(
    ("late", "said"),
    [
        ("mean = 20.0", "contexts.mean is 20.0, but contexts.late is 'no'.*'normal' or 'geometric'"),
        ('late = "geometric"\nmean = 20\nstd = 5', "contexts.std is 5, but .*late = 'normal'"),
    ],
)
def test_lateness_that_no_law_hears_of_is_refused(late: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        decode_experiment(tomllib.loads(f'{FILE}\n[contexts]\nkind = "late"\n{late}'))


def test_a_file_that_says_only_its_world_is_played_at_the_papers_size() -> None:
    experiment = decode_experiment({"world": {"kind": "synthetic"}})
    assert (experiment.title, experiment.runs) == ("Experiment", 10)
    assert (experiment.problem.horizon, experiment.problem.seed) == (2000, 0)
    assert [(method.name, method.post_serving) for method in experiment.methods] == [
        (name, "spline") for name in PAPER_FIVE
    ]


@pytest.mark.parametrize(("mapping", "others"), [("abs", "ridge"), ("none", "none")])
def test_all_methods_learn_what_comes_after_serving(mapping: str, others: str) -> None:
    """Where nothing comes, the texts of cells, and so their keys, are what they were."""
    world = f'[world]\nkind = "synthetic"\nmapping = "{mapping}"'
    names = ["rcdb", *(name for name in RECIPES if name not in PAPER_FIVE)]
    experiment = decode_experiment(tomllib.loads(f'methods = {names}\npost_serving = "ridge"\n{world}'))
    assert {method.name: method.post_serving for method in experiment.methods} == {
        name: "ridge" if name == "rcdb" else others for name in names
    }


def test_a_world_is_needed() -> None:
    with pytest.raises(InvalidInput, match="world is missing"):
        decode_experiment({"horizon": 10})


def test_runs_may_not_repeat() -> None:
    with pytest.raises(InvalidInput, match="different run numbers"):
        replace(cells()[0], runs=(0, 0))


def test_an_unknown_method_gets_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'rcdp-ucb'"):
        Method(name="rcdp-usb")

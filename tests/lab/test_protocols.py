"""The two protocols: as published nothing is touched, fairly everybody is treated alike."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from duelwise.errors import UnknownName
from duelwise.lab.cells.experiment import Cell, Method
from duelwise.lab.paper.figures import FIGURES, METHODS
from duelwise.lab.paper.protocols import (
    CLIP_RULES,
    DISTINCT,
    SELF_DUELS,
    FairProtocol,
    PaperProtocol,
    protocol_named,
)
from duelwise.types import Array

FAIR = FairProtocol()


def wide(cell: Cell) -> Array:
    """Answers as if a wide width and a large clip were best."""
    width = cell.method.exploration_width or 0.0
    assert not isinstance(width, str)
    return np.full(3, -width - (cell.method.clip or 0.0))


def test_as_published_nothing_is_told() -> None:
    for panel in FIGURES["2"].panels:
        for name in METHODS:
            method = PaperProtocol().method(panel, name, "as published", post_serving="spline", finals=wide)
            assert method == Method(name=name, post_serving="spline")


def test_without_the_right_to_learn_a_method_sees_no_context_after_serving() -> None:
    panel = FIGURES["3"].panels[0]
    for protocol in (PaperProtocol(), FAIR):
        models = {
            name: protocol.method(panel, name, SELF_DUELS, post_serving="ridge", finals=wide).post_serving
            for name in METHODS
        }
        assert models == {name: "ridge" if name == "rcdp-ucb" else "none" for name in METHODS}


@pytest.mark.parametrize("variant", [SELF_DUELS, DISTINCT])
def test_fairly_methods_differ_only_in_what_was_searched(variant: str) -> None:
    panel = FIGURES["2"].panels[0]
    methods = [FAIR.method(panel, name, variant, post_serving="spline", finals=wide) for name in METHODS]
    shared = {replace(method, name="rcdb", exploration_width=None, clip=None) for method in methods}
    assert len(shared) == 1
    (one,) = shared
    assert (one.estimate, one.features, one.geometry) == ("full-mle", "observed", "served")
    assert one.distinct_pair is (variant == DISTINCT)


def test_the_search_takes_the_best_and_scales_its_clip_with_the_dimension() -> None:
    large = FIGURES["E.3"].panels[2]  # d_x = 30, d = 60
    method = FAIR.method(large, "rcdp-ucb", SELF_DUELS, post_serving="spline", finals=wide)
    assert method.exploration_width == 10.0
    assert method.clip == pytest.approx(math.sqrt(60) / 25.0)


def test_the_search_is_at_the_base_setting_on_runs_that_no_curve_shows() -> None:
    panels = FIGURES["E.3"].panels
    trials = FAIR.search(panels, post_serving="spline")
    assert {trial.cell.problem.world for trial in trials} == {panels[0].problem.world}
    assert {trial.cell.problem.horizon for trial in trials} == {1000}
    assert {trial.cell.runs for trial in trials} == {tuple(range(1000, 1010))}


def test_every_method_gets_the_same_widths_and_the_weighing_ones_the_same_clips() -> None:
    trials = FAIR.search(FIGURES["1"].panels, post_serving="spline")
    tried = {
        name: [(t.exploration_width, t.clip_rule) for t in trials if t.method == name] for name in METHODS
    }
    widths = [(width, None) for width in FAIR.widths]
    assert all(sorted(set(tried[name])) == widths for name in ("colstim", "max-inp", "max-pair-ucb"))
    assert (
        set(tried["rcdp-ucb"])
        == set(tried["rcdb"])
        == {(w, rule) for w in FAIR.widths for rule in CLIP_RULES}
    )
    assert len(trials) == 2 * 2 * (2 * 18 + 3 * 6)  # regimes, variants, candidates


def test_panels_of_one_task_share_one_search() -> None:
    one = FAIR.search(FIGURES["2"].panels, post_serving="spline")
    more = FAIR.search([*FIGURES["2"].panels, *FIGURES["E.5"].panels], post_serving="spline")
    assert len(one) == len(more)


def test_an_unknown_protocol_gets_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'fair'"):
        protocol_named("fare")

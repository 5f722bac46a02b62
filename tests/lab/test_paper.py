"""The registry against the paper: no figure missing, every stated setting in its place."""

from __future__ import annotations

import math

import pytest

from duelwise.errors import UnknownName
from duelwise.lab.cells.problem import Synthetic, sizes
from duelwise.lab.paper.captions import differences
from duelwise.lab.paper.figures import FIGURES, METHODS, figures_named
from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import GaussianDelay, StrategicDelay
from duelwise.lab.worlds.labelled import Labelled

LABELS = {
    "1": "ablation", "2": "robustness_results", "3": "robustness_results2",
    "E.1": "appendix_real_data",
    "E.2": "appendix_dimension_no_ps", "E.3": "appendix_dimension_ps_abs",
    "E.4": "appendix_dimension_ps_poly", "E.5": "appendix_dimension_ps_sin",
    "E.6": "appendix_arms_no_ps", "E.7": "appendix_arms_ps_abs",
    "E.8": "appendix_arms_ps_poly", "E.9": "appendix_arms_ps_sin",
    "E.10": "appendix_corruption_poly",
    "E.11": "appendix_delay_no_ps", "E.12": "appendix_delay_ps_abs",
    "E.13": "appendix_delay_ps_poly", "E.14": "appendix_delay_ps_sin",
    "E.15": "appendix_std_ablation",
}  # fmt: skip
"""The \\label of every figure environment in the paper's source, in its order."""
PANELS = {
    "1": 2,
    "3": 2,
    "E.15": 7,
}  # every other figure has six; E.15 adds the code's three to the text's four


def test_no_figure_is_missing() -> None:
    assert {number: figure.label for number, figure in FIGURES.items()} == LABELS
    assert all(len(figure.panels) == PANELS.get(number, 6) for number, figure in FIGURES.items())
    assert all(len(figure.caption) > 80 for figure in FIGURES.values())


def test_every_curve_is_that_of_five_methods_but_in_the_last_figure() -> None:
    for number, figure in FIGURES.items():
        expected = ("rcdp-ucb",) if number == "E.15" else METHODS
        assert all(panel.methods == expected for panel in figure.panels)


def test_the_base_setting_is_the_papers() -> None:
    strategic, stochastic = FIGURES["1"].panels
    assert strategic.problem.delay == StrategicDelay(budget=10_000)
    assert stochastic.problem.delay == GaussianDelay(mean=100.0, std=100.0)
    for panel in (strategic, stochastic):
        assert panel.problem.corruption == StrategicCorruption(budget=25)
        assert panel.problem.horizon == 2000
        assert panel.problem.world == Synthetic(
            mapping="none", context_dim=10, arms=10, parameters="published"
        )


def test_delay_figures_lower_the_lies_where_their_captions_say() -> None:
    for number, lowered in {"E.11": False, "E.12": True, "E.13": True, "E.14": False}.items():
        for panel in FIGURES[number].panels:
            assert isinstance(panel.problem.corruption, StrategicCorruption)
            last = panel.problem.delay == StrategicDelay(budget=10_000)
            assert panel.problem.corruption.budget == (20 if lowered and last else 25)


def test_delay_means_come_with_equal_deviations() -> None:
    delays = [panel.problem.delay for panel in FIGURES["E.11"].panels[3:]]
    assert delays == [GaussianDelay(mean=mean, std=mean) for mean in (60.0, 80.0, 100.0)]


def test_the_corruption_figure_is_linear_and_stochastic() -> None:
    for panel in FIGURES["E.10"].panels:
        assert panel.task == "linear"
        assert panel.problem.delay == GaussianDelay(mean=100.0, std=100.0)


def test_the_variance_figure_has_the_texts_and_the_codes_deviations() -> None:
    delays = [panel.problem.delay for panel in FIGURES["E.15"].panels]
    text = [0.0, math.sqrt(50), 10.0, math.sqrt(150)]
    assert delays == [GaussianDelay(mean=100.0, std=std) for std in [*text, 50.0, 100.0, 150.0]]


def test_real_data_is_split_as_in_the_papers_table() -> None:
    found = {sizes(panel.problem.world) for panel in FIGURES["E.1"].panels}
    assert found == {(6, 4, 30), (20, 16, 30), (30, 27, 30)}
    assert all(isinstance(panel.problem.world, Labelled) for panel in FIGURES["E.1"].panels)


def test_only_one_method_learns_in_the_third_figure() -> None:
    assert all(panel.learners == ("rcdp-ucb",) for panel in FIGURES["3"].panels)


def test_a_setting_that_returns_is_the_same_problem() -> None:
    base = {panel.problem for panel in FIGURES["1"].panels}
    for number in ("E.2", "E.6", "E.11"):
        assert base <= {panel.problem for panel in FIGURES[number].panels}


def test_figures_are_found_by_number_and_label() -> None:
    assert figures_named(("1", "fig:ablation", "E.4")) == (FIGURES["1"], FIGURES["E.4"])
    assert len(figures_named(("all",))) == len(FIGURES)
    with pytest.raises(UnknownName, match="ablation"):
        figures_named(("ablatoin",))


MODEL, TREATED = "φ̂ = spline, not the paper's network", "one treatment for all methods"
SIGMA = "σ = 100 as in the paper's table and code, not 10"


@pytest.mark.parametrize(
    ("label", "protocol", "post_serving", "runs", "said"),
    [
        ("appendix_dimension_ps_abs", "paper", "mlp", 10, []),
        ("appendix_dimension_ps_abs", "paper", "spline", 10, [MODEL]),
        ("appendix_dimension_no_ps", "paper", "spline", 10, []),
        ("appendix_std_ablation", "paper", "spline", 10, []),
        ("ablation", "paper", "spline", 3, ["3 runs, not 10", SIGMA]),
        ("robustness_results", "fair", "spline", 10, [MODEL, TREATED, SIGMA]),
    ],
)
def test_what_a_figure_has_other_than_its_caption_says(
    label: str, protocol: str, post_serving: str, runs: int, said: list[str]
) -> None:
    found = differences(label, protocol=protocol, post_serving=post_serving, runs=runs)
    assert [words.split(", tuned")[0] for words in found] == said

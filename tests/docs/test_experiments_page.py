"""docs/experiments.md names every figure, command option, kind and key, and its example runs."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from duelwise.lab.cells.experiment import Method, decode_experiment
from duelwise.lab.cells.problem import CORRUPTIONS, DELAYS, WORLDS
from duelwise.lab.paper.figures import FIGURES
from duelwise.lab.worlds.datasets import DATASETS

PAGE = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text()


@pytest.mark.parametrize("kinds", [WORLDS, DELAYS, CORRUPTIONS])
def test_every_kind_and_key_is_documented(kinds: dict[str, type]) -> None:
    for name, kind in kinds.items():
        keys = [field.name for field in fields(kind) if field.init]
        missing = [word for word in (name, *keys) if f"`{word}`" not in PAGE]
        assert not missing


def test_every_setting_of_a_method_is_documented() -> None:
    assert not [
        field.name for field in fields(Method) if field.name != "name" and f"`{field.name}`" not in PAGE
    ]


def test_every_figure_and_dataset_is_documented() -> None:
    for number, figure in FIGURES.items():
        assert f"| {number} | {figure.label} |" in PAGE
    assert not [name for name in DATASETS if f"`{name}`" not in PAGE]


def test_the_example_is_an_experiment() -> None:
    found = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert found
    experiment = decode_experiment(tomllib.loads(found[1]))
    assert [cell.method.post_serving for cell in experiment.cells()] == ["ridge", "none"]

"""A world with sides, and a stream that takes them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from duelwise.errors import InvalidInput
from duelwise.lab.play.delays import GaussianDelay
from duelwise.lab.worlds.labelled import Labelled
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.lab.worlds.sided import SidedWorld
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.testing.worlds import WorldConformance
from duelwise.types import Served

BIAS = 0.8


class TestSided(WorldConformance):
    def make(self, runs: Sequence[int]) -> SidedWorld:
        return SidedWorld(LinearWorld(runs=runs, context_dim=3, arms=4, seed=2), bias=BIAS)


def test_the_left_wins_as_often_as_the_link_says() -> None:
    inner = LinearWorld(runs=4000, context_dim=2, arms=2, seed=1, context_scale=0.0)
    pairs = np.tile(np.array([1, 0]), (inner.runs, 1))
    truth = inner.reveal(0, inner.contexts(0))
    share = SidedWorld(inner, bias=BIAS).vote(0, truth, pairs).mean()
    assert share == pytest.approx(1 / (1 + np.exp(-BIAS)), abs=0.02)
    assert inner.vote(0, truth, pairs).mean() == pytest.approx(0.5, abs=0.03)
    with pytest.raises(InvalidInput, match="bias is nan"):
        SidedWorld(inner, bias=float("nan"))


def test_votes_are_as_late_as_in_the_world_without_sides() -> None:
    inner = LinearWorld(runs=[5, 2, 5], context_dim=3, arms=4, seed=2)
    truth = inner.reveal(0, inner.contexts(0))
    each, one = np.ones(3), np.ones(3, np.int64)
    served = Served(0, np.zeros((3, 2), np.int64), np.zeros((3, 3)), each, each, one)
    plain, sided = (
        world.with_delay(GaussianDelay(mean=50, std=20)).adversaries()[0].rounds(0, served, truth.utility)
        for world in (inner, SidedWorld(inner, bias=BIAS))
    )
    np.testing.assert_array_equal(sided, plain)


def test_whoever_knows_labels_leans_too() -> None:
    inner = Labelled(name="magic", arms=2).start(runs=range(4000), seed=1)
    pairs = np.tile(np.array([1, 0]), (inner.runs, 1))
    truth = inner.reveal(0, inner.contexts(0))
    alike = truth.utility[:, 0] == truth.utility[:, 1]
    share = SidedWorld(inner, bias=BIAS).vote(0, truth, pairs)[alike].mean()
    assert share == pytest.approx(1 / (1 + np.exp(-BIAS)), abs=0.03)


def test_a_stream_estimates_the_bias_of_a_world_and_takes_it_out(tmp_path: Path) -> None:
    world = SidedWorld(LinearWorld(runs=1, context_dim=4, arms=6, seed=3, context_scale=0.3), bias=BIAS)
    settings = StreamSettings(context_dim=4, position_bias=True)
    found = {}
    for name, each in (("sided", settings), ("plain", replace(settings, position_bias=False))):
        with DecisionStream.create(f"sqlite:///{tmp_path}/{name}.db", name, each) as stream:
            for t in range(600):
                x = world.contexts(t)
                duel = stream.ask(x[0])
                pair = np.array([[duel.left.index, duel.right.index]])
                left_won = world.vote(t, world.reveal(t, x), pair)[0]
                stream.tell(duel.ticket, "left" if left_won else "right")
            found[name] = stream.report()
    bias = found["sided"].positions.bias
    assert bias is not None
    assert abs(bias.estimate - BIAS) < 3 * bias.standard_error < 0.5
    sided, plain = (found[name].foresight for name in ("sided", "plain"))
    assert sided is not None
    assert plain is not None
    assert sided.log_loss < plain.log_loss - 0.01  # who stands left is foreseen

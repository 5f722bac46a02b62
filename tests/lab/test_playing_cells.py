"""A cell is played in one thread and leaves the process as it found it."""

from __future__ import annotations

import numba
import pytest
from small import cells

from duelwise.lab.cells.playing import play_cell
from duelwise.lab.play import compiled_loop
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.simulation import Trajectory
from duelwise.learning.learner_protocol import Learner


def test_a_cell_takes_one_thread_and_gives_the_others_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before, inside = numba.get_num_threads(), list[int]()
    original = compiled_loop.play

    def watched(learner: Learner, scenario: Scenario, *, horizon: int) -> Trajectory:
        inside.append(numba.get_num_threads())
        return original(learner, scenario, horizon=horizon)

    monkeypatch.setattr(compiled_loop, "play", watched)
    play_cell(cells()[0])
    assert inside == [1]
    assert numba.get_num_threads() == before

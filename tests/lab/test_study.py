"""A study before it is played: its curves, what it searches first, and who plays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from small import shrunk

from duelwise.lab.paper.conduct import workers_of
from duelwise.lab.paper.protocols import FairProtocol, PaperProtocol
from duelwise.lab.paper.study import Study
from duelwise.lab.sweep.keys import key
from duelwise.lab.sweep.runner import Runner
from duelwise.lab.sweep.store import CurveStore

FIGURE = replace(shrunk("1", horizon=10), panels=shrunk("1", horizon=10).panels[:1])
FAIR = FairProtocol(widths=(0.1, 1.0), held_out=(1000, 1001), search_horizon=10)
STUDY = Study(figures=(FIGURE,), protocol=PaperProtocol(), runs=3)


def test_a_curve_that_two_figures_show_is_played_once() -> None:
    twice = replace(STUDY, figures=(FIGURE, replace(FIGURE, number="1 again")))
    assert len(twice.places()) == 2 * 5
    assert twice.work() == STUDY.work()
    assert [(work.method.name, work.method.estimate, work.runs) for work in STUDY.work()][:2] == [
        ("rcdp-ucb", None, 3),
        ("rcdb", None, 3),
    ]


def test_a_fair_study_searches_first_and_then_plays_both_variants() -> None:
    """Of two widths, three clips for the two methods that weigh votes: 2 × (2 × 3 + 3) for each variant."""
    fair = replace(STUDY, protocol=FAIR)
    assert len(fair.trials()) == 2 * 2 * (2 * 3 + 3)
    played = fair.work()
    assert len(played) == len({trial.cell for trial in fair.trials()}) + 2 * 5
    assert {work.runs for work in played[:-10]} == {2}
    assert {(work.runs, work.method.estimate) for work in played[-10:]} == {(3, "full-mle")}


def test_a_plan_names_the_cell_of_each_curve() -> None:
    plan = STUDY.plan(lambda _: np.zeros(1))
    assert [entry.method for entry, _ in plan] == list(FIGURE.panels[0].methods)
    for entry, cell in plan:
        assert (entry.figure, entry.panel, entry.key) == ("1", "Strategic", key(cell))
        assert (cell.runs, cell.problem) == ((0, 1, 2), FIGURE.panels[0].problem)


def test_who_plays_in_words(tmp_path: Path) -> None:
    store = CurveStore(tmp_path)
    assert workers_of(Runner(store=store, jobs=3)) == "3 local"
    assert (
        workers_of(Runner(store=store, cluster="tcp://10.0.0.1:8786")) == "the cluster at tcp://10.0.0.1:8786"
    )

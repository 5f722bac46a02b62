"""Whatever is called wrongly from Python: an error that names the value and says what was expected."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from unchanged import unchanged

from duelwise import Contexts, DecisionStream, DuelingLearner, LinearWorld, Votes, play, rcdp_ucb, recipe
from duelwise.client import Client
from duelwise.errors import DuelwiseError
from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import GaussianDelay
from duelwise.lab.report.results import Results
from duelwise.learning.estimation import FullMLE
from duelwise.learning.post_serving import NoPostServing
from duelwise.learning.selection import LeaderChallenger
from duelwise.learning.weighting import Uniform
from duelwise.learning.widths import ConstantWidth
from duelwise.storage import open_store
from duelwise.stream import StreamSettings
from duelwise.stream.erasing import erase_source


def _learner(**changed: Any) -> DuelingLearner:
    parts: dict[str, Any] = {
        "select": LeaderChallenger(), "weigh": Uniform(), "estimate": FullMLE(),
        "post_serving": NoPostServing(), "width": ConstantWidth(value=0.1),
    }  # fmt: skip
    return DuelingLearner(runs=1, context_dim=2, post_dim=0, **{**parts, **changed})


def _told(outcome: float) -> object:
    learner = rcdp_ucb(context_dim=2)
    learner.serve(learner.choose(np.ones((1, 3, 2))))
    return learner.tell(Votes(run=np.array([0]), round=np.array([0]), outcome=np.array([outcome])))


def _unknown_round() -> object:
    learner = rcdp_ucb(context_dim=2, post_dim=1)
    return learner.observe(Contexts(run=np.array([0]), round=np.array([7]), y=np.ones((1, 2, 1))))


def _played_twice() -> object:
    world, learner = LinearWorld(runs=1, context_dim=2, arms=3), rcdp_ucb(context_dim=2)
    play(learner, world, horizon=3)
    return play(learner, world, horizon=3)


def _recipe(**wrong: Any) -> DuelingLearner:
    return rcdp_ucb(context_dim=2, **wrong)


def _create(**changed: Any) -> StreamSettings:
    return StreamSettings(context_dim=1, **changed)


def _in_stream(call: Callable[[DecisionStream], object]) -> object:
    with DecisionStream.open("sqlite:///duels.db", "meals") as stream:
        return call(stream)


def _ask(candidates: Any) -> object:
    return _in_stream(lambda stream: stream.ask(candidates))


def _tell(ticket: Any) -> object:
    return _in_stream(lambda stream: stream.tell(ticket, "left"))


def _of_nobody(name: str) -> object:
    return _in_stream(lambda stream: getattr(stream, name)(None))


def _erase(source: Any) -> object:
    with closing(open_store("sqlite:///duels.db")) as store:
        return erase_source(store, "meals", source)


def _fetch() -> object:
    with Client("http://127.0.0.1:9", retries=0) as client:
        return client.stream("meals").report()


PYTHON: list[tuple[str, Callable[[], object], str, str]] = [
    ("estimate by name", lambda: _learner(estimate="full-mle"), "'full-mle'", "FullMLE()"),
    ("select by name", lambda: _learner(select="ucb"), "'ucb'", "LeaderChallenger()"),
    ("φ̂ by name", lambda: _learner(post_serving="spline"), "'spline'", "Spline()"),
    ("geometry", lambda: _learner(geometry="round"), "'round'", "served"),
    ("recipe", lambda: recipe("rcdp"), "'rcdp'", "rcdp-ucb"),
    ("option", lambda: _recipe(widht=1), "'widht'", "exploration_width"),
    ("estimator", lambda: rcdp_ucb(context_dim=2, estimate="mle"), "'mle'", "full-mle"),
    ("context_dim", lambda: rcdp_ucb(context_dim=0), "0", "at least 1"),
    ("mapping", lambda: LinearWorld(mapping="absolut"), "'absolut'", "abs"),
    ("arms", lambda: LinearWorld(arms=1), "arms is 1", "at least 2"),
    ("published seed", lambda: LinearWorld(seed=42950, parameters="published"), "42950", "at most"),
    ("delay", lambda: GaussianDelay(mean=-1, std=1), "-1", "at least 0"),
    ("corruption", lambda: StrategicCorruption(budget=-1), "-1", "at least 0"),
    ("horizon", lambda: play(rcdp_ucb(context_dim=10), LinearWorld(runs=1), horizon=0), "0", "at least 1"),
    ("misfit", lambda: play(rcdp_ucb(context_dim=3), LinearWorld(runs=1), horizon=1), "3", "same sizes"),
    ("played twice", _played_twice, "3 rounds", "make a new one"),
    ("candidates", lambda: rcdp_ucb(context_dim=2).choose(np.ones((1, 3, 5))), "(1, 3, 5)", "(1, K, 2)"),
    ("one candidate", lambda: rcdp_ucb(context_dim=2).choose(np.ones((1, 1, 2))), "1", "at least two"),
    ("nan", lambda: rcdp_ucb(context_dim=2).choose(np.full((1, 3, 2), np.nan)), "nan", "finite"),
    ("vote", lambda: _told(2.0), "2.0", "0"),
    ("round", _unknown_round, "7", "never served"),
    ("results", lambda: Results.load("nowhere"), "nowhere", "duelwise reproduce"),
    ("feature names", lambda: _create(feature_names=("a", "b")), "2", "expected"),
    ("share", lambda: _create(random_share=2), "2", "probability"),
    ("store", lambda: DecisionStream.open("sqlite:///no/such.db", "x"), "no", "create it"),
    ("candidates by name", lambda: _ask({"soup": [1.0], "rice": [2.0]}), "dict", "list of records"),
    ("no candidates", lambda: _ask(None), "NoneType", "list of records"),
    ("a table of candidates", lambda: _ask(pd.DataFrame([{"price": 1}] * 2)), "DataFrame", "array"),
    ("no ticket", lambda: _tell(("0-ab", "soup")), "0-ab", "that ask returned"),
    ("hold nobody back", lambda: _of_nobody("hold_source"), "None", "expected text"),
    ("release nobody", lambda: _of_nobody("release_source"), "None", "expected text"),
    ("retract nobody's", lambda: _of_nobody("retract_source"), "None", "expected text"),
    ("erase nobody", lambda: _erase(None), "None", "expected text"),
    ("service", _fetch, "127.0.0.1:9", "no answer"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "call", "value", "expected"), PYTHON, ids=[case[0] for case in PYTHON])
def test_python_refuses(
    what: str, call: Callable[[], object], value: str, expected: str, folder: Path
) -> None:
    with unchanged(folder), pytest.raises(DuelwiseError) as error:
        call()
    assert value in str(error.value)
    assert expected.lower() in str(error.value).lower()

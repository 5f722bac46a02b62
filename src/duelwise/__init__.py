"""Learning from which of two people prefer: late votes, lying votes, context known only after serving.

from duelwise import rcdp_ucb, LinearWorld, simulate        the learner and the laboratory
from duelwise import DecisionStream                         the engine, with duelwise[service]
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

from duelwise.lab.play.compiled_loop import play
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.simulation import Trajectory, simulate
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.learned import Learner
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.recipes import RECIPES, colstim, max_inp, max_pair_ucb, rcdb, rcdp_ucb, recipe
from duelwise.types import Contexts, Duel, Votes

if TYPE_CHECKING:
    from duelwise.client import Client
    from duelwise.stream import DecisionStream

__version__ = version("duelwise")

__all__ = [
    "RECIPES",
    "Client",
    "Contexts",
    "DecisionStream",
    "Duel",
    "DuelingLearner",
    "Learner",
    "LinearWorld",
    "Scenario",
    "Trajectory",
    "Votes",
    "colstim",
    "max_inp",
    "max_pair_ucb",
    "play",
    "rcdb",
    "rcdp_ucb",
    "recipe",
    "simulate",
]

_LATER = {
    "Client": "duelwise.client",
    "DecisionStream": "duelwise.stream",
}  # need an extra: imported when asked for


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'duelwise' has no attribute {name!r}")

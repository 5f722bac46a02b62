"""Learning from which of two people prefer: late votes, lying votes, context known only after serving.

from duelwise import rcdp_ucb, LinearWorld, simulate        the learner and the laboratory
from duelwise import DecisionStream                         the engine, with duelwise[service]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duelwise.client import Client
    from duelwise.lab.play.compiled_loop import play
    from duelwise.lab.play.scenario import Scenario
    from duelwise.lab.play.simulation import Trajectory, simulate
    from duelwise.lab.worlds.linear import LinearWorld
    from duelwise.learning.learner import DuelingLearner
    from duelwise.learning.learner_protocol import Learner
    from duelwise.learning.recipes import (
        RECIPES,
        colstim,
        feel_good,
        live,
        max_inp,
        max_pair_ucb,
        rcdb,
        rcdp_ucb,
        recipe,
        steady,
        thompson,
        vacdb,
    )
    from duelwise.stream import DecisionStream
    from duelwise.types import Contexts, Duel, Votes

    __version__: str

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
    "feel_good",
    "live",
    "max_inp",
    "max_pair_ucb",
    "play",
    "rcdb",
    "rcdp_ucb",
    "recipe",
    "simulate",
    "steady",
    "thompson",
    "vacdb",
]

_HOMES = {
    "client": ("Client",),
    "lab.play.compiled_loop": ("play",),
    "lab.play.scenario": ("Scenario",),
    "lab.play.simulation": ("Trajectory", "simulate"),
    "lab.worlds.linear": ("LinearWorld",),
    "learning.learner_protocol": ("Learner",),
    "learning.learner": ("DuelingLearner",),
    "learning.recipes": (
        "RECIPES", "colstim", "feel_good", "live", "max_inp", "max_pair_ucb", "rcdb", "rcdp_ucb", "recipe",
        "steady", "thompson", "vacdb",
    ),
    "stream": ("DecisionStream",),
    "types": ("Contexts", "Duel", "Votes"),
}  # fmt: skip
_MODULE_OF = {name: f"duelwise.{module}" for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Names are imported when asked for: some need an extra, and a client needs no compiler."""
    if name == "__version__":
        return import_module("importlib.metadata").version("duelwise")
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'duelwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

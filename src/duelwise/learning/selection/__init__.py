"""Which pair to serve."""

from duelwise.learning.selection.built_in import (
    JointUCB,
    LeaderChallenger,
    MostInformative,
    PerturbedLeader,
    kernel_pairs,
)
from duelwise.learning.selection.rule import Noise, Selection, View

__all__ = [
    "JointUCB",
    "LeaderChallenger",
    "MostInformative",
    "Noise",
    "PerturbedLeader",
    "Selection",
    "View",
    "kernel_pairs",
]

"""Which pair to serve."""

from duelwise.learning.selection.built_in import (
    JointUCB,
    LeaderChallenger,
    MostInformative,
    PerturbedLeader,
    kernel_pairs,
)
from duelwise.learning.selection.distrust import Distrust
from duelwise.learning.selection.rule import Noise, Selection, View
from duelwise.learning.selection.thompson import TwoDraws

__all__ = [
    "Distrust",
    "JointUCB",
    "LeaderChallenger",
    "MostInformative",
    "Noise",
    "PerturbedLeader",
    "Selection",
    "TwoDraws",
    "View",
    "kernel_pairs",
]

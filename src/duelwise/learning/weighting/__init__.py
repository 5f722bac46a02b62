"""How much a vote counts."""

from duelwise.learning.weighting.audit import AuditedRamp
from duelwise.learning.weighting.clips import ArrivedLeverage, ServedLeverage, Uniform
from duelwise.learning.weighting.ramps import ArrivalRamp, ServingRamp
from duelwise.learning.weighting.unknown_budgets import UnknownBudgets
from duelwise.learning.weighting.weights import Weighting, per_run

__all__ = [
    "ArrivalRamp",
    "ArrivedLeverage",
    "AuditedRamp",
    "ServedLeverage",
    "ServingRamp",
    "Uniform",
    "UnknownBudgets",
    "Weighting",
    "per_run",
]

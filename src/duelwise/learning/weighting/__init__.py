"""How much a vote counts."""

from duelwise.learning.weighting.clips import ArrivedLeverage, ServedLeverage, Uniform
from duelwise.learning.weighting.weighting import Weighting, per_run

__all__ = ["ArrivedLeverage", "ServedLeverage", "Uniform", "Weighting", "per_run"]

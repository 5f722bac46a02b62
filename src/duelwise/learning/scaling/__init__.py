"""Features in units of their range, so that no input can pull without bound."""

from duelwise.learning.scaling.ranges import Ranges, declared, unlimited
from duelwise.learning.scaling.scaled_learner import Offer, Ranging, ScaledLearner, SelfScaledLearner

__all__ = ["Offer", "Ranges", "Ranging", "ScaledLearner", "SelfScaledLearner", "declared", "unlimited"]

"""How Θ̂ follows the votes: the full maximum likelihood, one step a vote, or one pass."""

from duelwise.learning.estimation.estimator import Estimate, Estimator, KernelEstimate, Remembers
from duelwise.learning.estimation.full_mle import FullMLE, MaximumLikelihood
from duelwise.learning.estimation.one_pass import OnePass
from duelwise.learning.estimation.one_step import OneStep
from duelwise.learning.estimation.proximal import Proximal

ESTIMATORS: dict[str, Estimator] = {
    "full-mle": FullMLE(),
    "one-step": OneStep(),
    "one-pass": OnePass(),
    "proximal": Proximal(),
}

__all__ = [
    "ESTIMATORS",
    "Estimate",
    "Estimator",
    "FullMLE",
    "KernelEstimate",
    "MaximumLikelihood",
    "OnePass",
    "OneStep",
    "Proximal",
    "Remembers",
]

"""One run's choose, observe and tell as compiled kernels, and what parts of one's own need to join in."""

from duelwise.learning.core import roles
from duelwise.learning.core.dispatch import kernel, offers_kernel
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.links import mean, slope
from duelwise.learning.core.round import admit
from duelwise.learning.core.state import Arrivals, Core, Fit, Sight

__all__ = [
    "Arrivals",
    "Core",
    "Fit",
    "Sight",
    "admit",
    "compiled",
    "kernel",
    "mean",
    "offers_kernel",
    "roles",
    "slope",
]

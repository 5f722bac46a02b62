"""Link functions g: how a difference of utilities becomes a probability.

For every link the paper's estimating equation λΘ + Σ ω(g(Θᵀ Δz) - o)Δz = 0 is
solved: g increases, so the left side is the gradient of a convex potential.
"""

from __future__ import annotations

import math

import numpy as np

from duelwise.errors import check_known
from duelwise.learning.core.intrinsics import fused
from duelwise.learning.core.jit import compiled
from duelwise.types import Array

LOGISTIC, PROBIT, LINEAR = 0, 1, 2

LINKS = {"logistic": LOGISTIC, "probit": PROBIT, "clipped-linear": LINEAR}
"""The codes the kernels know the links by."""


def link_code(name: str) -> int:
    """The code of a link's name."""
    check_known("link", name, LINKS)
    return LINKS[name]


# exp(r) on |r| ≤ ½ ln 2 by its Taylor series: the first term left out is below 2⁻⁵³.
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93145751953125e-1, 1.42860682030941723212e-6  # Cody and Waite's split
_ROUNDING = 1.5 * 2.0**52  # added to a small number, it leaves its nearest whole number in the low bits


@compiled
def logistic(m: float) -> float:
    """1 / (1 + e^-m) to the last bit or two, free of branches so that loops over it vectorise."""
    t = min(max(-m, -700.0), 700.0)
    rounded = fused(t, _LOG2_E, _ROUNDING)
    power = np.int64((np.float64(rounded).view(np.int64) + 1023) << 52).view(np.float64)  # 2^k by its bits
    k = rounded - _ROUNDING
    r = fused(-k, _LN2_LOW, fused(-k, _LN2_HIGH, t))
    p = fused(r, fused(r, 1 / 479001600, 1 / 39916800), 1 / 3628800)
    p = fused(r, fused(r, fused(r, p, 1 / 362880), 1 / 40320), 1 / 5040)
    p = fused(r, fused(r, fused(r, p, 1 / 720), 1 / 120), 1 / 24)
    p = fused(r, fused(r, fused(r, fused(r, p, 1 / 6), 0.5), 1.0), 1.0)
    return 1.0 / fused(p, power, 1.0)


@compiled
def probit(m: float) -> float:
    """Φ(m), the standard normal distribution function."""
    return 0.5 * math.erfc(-m / math.sqrt(2.0))


@compiled
def clipped_linear(m: float) -> float:
    """½ + m on [-½, ½], the link of the lower bound."""
    return min(max(0.5 + m, 0.0), 1.0)


@compiled
def mean(link: int, m: float) -> float:
    """g(m)."""
    if link == LOGISTIC:
        return logistic(m)
    if link == PROBIT:
        return probit(m)
    return clipped_linear(m)


@compiled
def slope(link: int, m: float) -> float:
    """ġ(m)."""
    if link == LOGISTIC:
        p = logistic(m)
        return p * (1.0 - p)
    if link == PROBIT:
        return math.exp(-0.5 * m * m) / math.sqrt(2.0 * math.pi)
    return 1.0 if abs(m) < 0.5 else 0.0


@compiled
def means(link: int, m: Array, out: Array) -> None:
    """g of every margin: m (n,) → out (n,); one loop per link, so that the first vectorises."""
    if link == LOGISTIC:
        for i in range(m.shape[0]):
            out[i] = logistic(m[i])
    elif link == PROBIT:
        for i in range(m.shape[0]):
            out[i] = probit(m[i])
    else:
        for i in range(m.shape[0]):
            out[i] = clipped_linear(m[i])

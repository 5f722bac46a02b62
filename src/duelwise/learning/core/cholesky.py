"""The inverse of a symmetric positive definite matrix, compiled.

Written out rather than taken from LAPACK: the matrices are small, and a kernel that calls LAPACK
takes several times as long to compile.
"""

from __future__ import annotations

import math

import numpy as np

from duelwise.learning.core.jit import compiled
from duelwise.types import Array


@compiled
def invert(matrix: Array, out: Array) -> float:
    """The inverse of a symmetric positive definite matrix (d, d) into out (d, d); returns its log det."""
    d = matrix.shape[0]
    low = np.zeros((d, d))  # matrix = low lowᵀ, then low is replaced by its inverse
    log_det = 0.0
    for j in range(d):
        total = matrix[j, j]
        for k in range(j):
            total -= low[j, k] * low[j, k]
        log_det += math.log(total)
        low[j, j] = math.sqrt(total)
        for i in range(j + 1, d):
            total = matrix[i, j]
            for k in range(j):
                total -= low[i, k] * low[j, k]
            low[i, j] = total / low[j, j]
    for j in range(d):
        low[j, j] = 1.0 / low[j, j]
        for i in range(j + 1, d):
            total = 0.0
            for k in range(j, i):
                total -= low[i, k] * low[k, j]
            low[i, j] = total / low[i, i]
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, d):
                total += low[k, i] * low[k, j]
            out[i, j] = total
            out[j, i] = total
    return log_det

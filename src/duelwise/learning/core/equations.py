"""The paper's displayed equations, one pure function each, for one run.

Symbols are the paper's: `V` the geometry of all served duels, `W` of the arrived
ones, `dz` = Δz, `z` the features of the candidates, `theta` = Θ. Numbers in
parentheses are those of the paper's main text; the baselines' rules stand in its
appendix "Related Algorithms". All are compiled and inlined into the kernels.
"""

from __future__ import annotations

import math

import numpy as np

from duelwise.learning.core.intrinsics import product
from duelwise.learning.core.jit import compiled
from duelwise.types import Array


@compiled
def leverage(dz: Array, inverse: Array) -> float:
    """‖Δz‖_{V⁻¹} = √(Δzᵀ V⁻¹ Δz): dz (d,), inverse (d, d)."""
    total = 0.0
    for i in range(dz.shape[0]):
        row = 0.0
        for j in range(dz.shape[0]):
            row += inverse[i, j] * dz[j]
        total += dz[i] * row
    return math.sqrt(max(total, 0.0))


@compiled
def adaptive_weight(norm: float, alpha: float) -> float:
    """(4): ω = min(1, α / ‖Δz‖_{V⁻¹}); a self-duel has Δz = 0 and ω = 1."""
    if norm <= alpha:
        return 1.0
    return alpha / norm


@compiled
def move_inverse(inverse: Array, dz: Array, scale: float) -> float:
    """V⁻¹ ← (V + s Δz Δzᵀ)⁻¹ in place (Sherman-Morrison): inverse (d, d), dz (d,).

    Returns the growth of log det V, log(1 + s‖Δz‖²_{V⁻¹}).
    """
    d = dz.shape[0]
    v = np.zeros(d)
    for i in range(d):
        dz_i = dz[i]
        for j in range(d):  # V⁻¹ is symmetric: its row i serves as its column
            v[j] += dz_i * inverse[i, j]
    quadratic = 0.0
    for i in range(d):
        quadratic += dz[i] * v[i]
    for i in range(d):
        down = scale * v[i] / (1.0 + scale * quadratic)
        for j in range(d):
            inverse[i, j] -= down * v[j]
    return math.log1p(scale * quadratic)


@compiled
def add_duel(matrix: Array, inverse: Array, dz: Array, scale: float) -> float:
    """(1), (2): V ← V + κω Δz Δzᵀ with scale = κω, and its inverse in step, both in place.

    Returns the growth of log det V.
    """
    for i in range(dz.shape[0]):
        up = scale * dz[i]
        for j in range(dz.shape[0]):
            matrix[i, j] += up * dz[j]
    return move_inverse(inverse, dz, scale)


@compiled
def first_arm(z: Array, theta: Array) -> int:
    """(5): a = argmax_k ⟨Θ, ẑ_k⟩, the lowest index on ties: z (K, d), theta (d,)."""
    best, arm = -np.inf, 0
    for k in range(z.shape[0]):
        value = 0.0
        for j in range(z.shape[1]):
            value += z[k, j] * theta[j]
        if value > best:
            best, arm = value, k
    return arm


WIDE = 1_000_000
"""K d² from which widths are taken by a matrix product: more than any figure of the paper reaches."""
ROWS = 512  # of such a product at a time
ALL_PAIRS = 128
"""Up to this many candidates every pair is looked at."""


@compiled
def widths_from(z: Array, inverse: Array, centre: Array) -> Array:
    """‖z_k - centre‖_{V⁻¹} of every candidate by matrix products: z (K, d), centre (d,) → (K,).

    Some hundreds of rows at a time, so that Δz and ΔzV⁻¹ stay in the processor's cache.
    """
    K, d = z.shape
    rows, out = min(ROWS, K), np.empty(K)
    dz, pulled = np.empty((rows, d)), np.empty((rows, d))
    for start in range(0, K, rows):
        count = min(rows, K - start)
        for k in range(count):
            for j in range(d):
                dz[k, j] = z[start + k, j] - centre[j]
        product(dz, count, inverse, pulled)
        for k in range(count):
            square = 0.0
            for j in range(d):
                square += pulled[k, j] * dz[k, j]
            out[start + k] = math.sqrt(max(square, 0.0))
    return out


@compiled
def _highest(values: Array) -> int:
    """argmax_k, the lowest index on ties: values (K,)."""
    best = 0
    for k in range(values.shape[0]):
        if values[k] > values[best]:
            best = k
    return best


@compiled
def widest_pair(z: Array, inverse: Array) -> tuple[int, int]:
    """argmax_{a<b} ‖z_a - z_b‖_{S⁻¹}, the first pair on ties: the two that would tell most.

    Among many candidates: the one farthest from the middle of them all, and the one farthest from that.
    """
    K = z.shape[0]
    if K > ALL_PAIRS:
        middle = np.zeros(z.shape[1])
        for k in range(K):
            for j in range(z.shape[1]):
                middle[j] += z[k, j] / K
        first = _highest(widths_from(z, inverse, middle))
        width = widths_from(z, inverse, z[first])
        width[first] = -1.0
        second = _highest(width)
        return min(first, second), max(first, second)
    gram = gram_matrix(z, inverse)
    widest, a, b = -np.inf, 0, min(1, K - 1)
    for i in range(K):
        for j in range(i + 1, K):
            square = gram[i, i] + gram[j, j] - 2.0 * gram[i, j]
            if square > widest:
                widest, a, b = square, i, j
    return a, b


@compiled
def second_arm(z: Array, theta: Array, inverse: Array, first: int, width: float, distinct: bool) -> int:
    """(6): b = argmax_k ⟨Θ, ẑ_k⟩ + c ‖ẑ_k - ẑ_a‖_{V⁻¹}; with `distinct`, over k ≠ a."""
    best, arm = -np.inf, first
    if z.shape[0] * z.shape[1] * z.shape[1] > WIDE:
        value, upper = np.empty(z.shape[0]), widths_from(z, inverse, z[first])
        product(z, z.shape[0], theta, value)
        for k in range(z.shape[0]):
            upper[k] = value[k] + width * upper[k]
        if distinct:
            upper[first] = -np.inf
        return _highest(upper)
    dz = np.empty(z.shape[1])
    for k in range(z.shape[0]):
        if distinct and k == first:
            continue
        value = 0.0
        for j in range(z.shape[1]):
            value += z[k, j] * theta[j]
            dz[j] = z[k, j] - z[first, j]
        value += width * leverage(dz, inverse)
        if value > best:
            best, arm = value, k
    return arm


@compiled
def joint_pair(z: Array, theta: Array, inverse: Array, width: float, distinct: bool) -> tuple[int, int]:
    """RCDB, MaxPairUCB: argmax_{a,b} ⟨z_a + z_b, θ⟩ + β ‖z_a - z_b‖_{Σ⁻¹}, first pair on ties.

    The widths come from the Gram matrix G = z Σ⁻¹ zᵀ: ‖z_a - z_b‖² = G_aa + G_bb - 2 G_ab.
    """
    K = z.shape[0]
    gram = gram_matrix(z, inverse)
    value = values(z, theta)
    best, first, second = -np.inf, 0, 0
    for a in range(K):
        for b in range(a, K):
            if distinct and a == b:
                continue
            square = gram[a, a] + gram[b, b] - 2.0 * gram[a, b]
            score = value[a] + value[b] + width * math.sqrt(max(square, 0.0))
            if score > best:
                best, first, second = score, a, b
    return first, second


@compiled
def perturbed_arm(z: Array, theta: Array, inverse: Array, noise: Array) -> int:
    """CoLSTIM: a = argmax_k ⟨z_k, θ⟩ + ε_k ‖z_k‖_{M⁻¹}: noise ε (K,)."""
    best, arm = -np.inf, 0
    for k in range(z.shape[0]):
        value = noise[k] * leverage(z[k], inverse)
        for j in range(z.shape[1]):
            value += z[k, j] * theta[j]
        if value > best:
            best, arm = value, k
    return arm


@compiled
def informative_arm(z: Array, theta: Array, inverse: Array, first: int, width: float) -> int:
    """MaxInP as published: the arm least certain against the leader among the promising.

    argmax ‖z_k - z_a‖_{W⁻¹} over k ≠ a with ⟨z_k, θ⟩ + η‖z_k‖_{W⁻¹} ≥ ⟨z_a, θ⟩;
    if no arm is promising, the one of highest ⟨z_k, θ⟩ + η‖z_k‖_{W⁻¹}.
    """
    value = values(z, theta)
    dz = np.empty(z.shape[1])
    widest, promising = -np.inf, -1
    highest, next_best = -np.inf, first
    for k in range(z.shape[0]):
        if k == first:
            continue
        upper = value[k] + width * leverage(z[k], inverse)
        if upper > highest:
            highest, next_best = upper, k
        if upper >= value[first]:
            for j in range(z.shape[1]):
                dz[j] = z[k, j] - z[first, j]
            uncertainty = leverage(dz, inverse)
            if uncertainty > widest:
                widest, promising = uncertainty, k
    return next_best if promising < 0 else promising


@compiled
def informative_pair(z: Array, theta: Array, inverse: Array, width: float, distinct: bool) -> tuple[int, int]:
    """MaxInP as first defined: the widest pair inside the promising set.

    C = {i : ⟨z_i - z_j, θ⟩ + η‖z_i - z_j‖_{V⁻¹} ≥ 0 for all j}; argmax_{a,b ∈ C} ‖z_a - z_b‖_{V⁻¹}.
    With `distinct` and a single promising arm, its widest challenger is played.
    """
    K = z.shape[0]
    gram = gram_matrix(z, inverse)
    value = values(z, theta)
    inside = np.empty(K, dtype=np.bool_)
    for i in range(K):
        inside[i] = True
        for j in range(K):
            square = max(gram[i, i] + gram[j, j] - 2.0 * gram[i, j], 0.0)
            if value[i] - value[j] + width * math.sqrt(square) < 0.0:
                inside[i] = False
    best, first, second = -1.0, first_arm(z, theta), first_arm(z, theta)
    for a in range(K):
        for b in range(a + 1, K):
            square = gram[a, a] + gram[b, b] - 2.0 * gram[a, b]
            if inside[a] and inside[b] and square > best:
                best, first, second = square, a, b
    if distinct and first == second:
        second = second_arm(z, np.zeros_like(theta), inverse, first, 1.0, True)
    return first, second


@compiled
def values(z: Array, theta: Array) -> Array:
    """⟨Θ, z_k⟩ for every candidate: z (K, d) → (K,)."""
    out = np.zeros(z.shape[0])
    for k in range(z.shape[0]):
        for j in range(z.shape[1]):
            out[k] += z[k, j] * theta[j]
    return out


@compiled
def gram_matrix(z: Array, inverse: Array) -> Array:
    """G = z Σ⁻¹ zᵀ: z (K, d), inverse (d, d) → (K, K)."""
    K, d = z.shape
    gram = np.empty((K, K))
    row = np.empty(d)
    for a in range(K):
        for j in range(d):
            row[j] = 0.0
        for i in range(d):
            z_i = z[a, i]
            for j in range(d):
                row[j] += z_i * inverse[i, j]
        for b in range(a, K):
            total = 0.0
            for j in range(d):
                total += row[j] * z[b, j]
            gram[a, b] = total
            gram[b, a] = total
    return gram

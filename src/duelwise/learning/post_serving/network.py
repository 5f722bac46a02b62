"""The network's arithmetic for one run: forward, backward and Adam, written out.

Rows go through in chunks small enough for the first-level caches. BLAS does the
matrix products and compiled loops all that lies between, so a whole training step
is one call without allocation, and runs can be spread over threads.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from duelwise.learning.core.jit import compiled, compiled_over_runs
from duelwise.types import IntArray

Floats = NDArray[np.float32]  # networks train in single precision

# Adam's defaults (Kingma and Ba, 2015)
DECAY_MEAN, DECAY_SQUARE, EPSILON = 0.9, 0.999, 1e-8

PRODUCT = 64**3  # OpenBLAS keeps a product of this many terms on the calling thread


@compiled
def split(
    flat: Floats, inputs: int, hidden: int, outputs: int
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """A run's parameters (P,) seen as W₁ (dx + 1, h), W₂ (h, h), b₂ (h,), W₃ (h, dy), b₃ (dy,).

    The input's last coordinate is 1, so W₁ holds the first layer's biases in its last row.
    """
    a = (inputs + 1) * hidden
    b = a + hidden * hidden
    c = b + hidden
    d = c + hidden * outputs
    return (
        flat[:a].reshape((inputs + 1, hidden)),
        flat[a:b].reshape((hidden, hidden)),
        flat[b:c],
        flat[c:d].reshape((hidden, outputs)),
        flat[d:],
    )


@compiled
def _adam(parameters: Floats, mean: Floats, square: Floats, slope: Floats, step: int, rate: float) -> None:
    """One step of Adam in place, all (P,); `step` counts from 1.

    m ← β₁m + (1 - β₁)g; v ← β₂v + (1 - β₂)g²; θ ← θ - rate·m̂/(√v̂ + ε)
    with m̂ = m/(1 - β₁^step) and v̂ = v/(1 - β₂^step).
    """
    keep, add = np.float32(DECAY_MEAN), np.float32(1 - DECAY_MEAN)
    keep_square, add_square = np.float32(DECAY_SQUARE), np.float32(1 - DECAY_SQUARE)
    size = np.float32(rate / (1 - DECAY_MEAN**step))
    spread = np.float32(1 / np.sqrt(1 - DECAY_SQUARE**step))
    epsilon = np.float32(EPSILON)
    for i in range(parameters.shape[0]):
        m = keep * mean[i] + add * slope[i]
        v = keep_square * square[i] + add_square * slope[i] * slope[i]
        mean[i], square[i] = m, v
        parameters[i] -= size * m / (np.sqrt(v) * spread + epsilon)


@compiled
def _rectify(h: Floats, bias: Floats) -> None:
    """h ← max(h + bias, 0): (rows, hidden)."""
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            value = h[i, j] + bias[j]
            h[i, j] = value if value > 0 else np.float32(0)


@compiled
def predict(parameters: Floats, x: Floats, hidden: int, outputs: int) -> Floats:
    """Parameters (R, P), x (R, K, dx + 1) → (R, K, dy)."""
    runs, arms, inputs = x.shape
    h1, h2 = np.empty((arms, hidden), np.float32), np.empty((arms, hidden), np.float32)
    out = np.empty((runs, arms, outputs), np.float32)
    no_bias = np.zeros(hidden, np.float32)
    for r in range(runs):
        W1, W2, b2, W3, b3 = split(parameters[r], inputs - 1, hidden, outputs)
        np.dot(x[r], W1, h1)
        _rectify(h1, no_bias)
        np.dot(h1, W2, h2)
        _rectify(h2, b2)
        np.dot(h2, W3, out[r])
        out[r] += b3
    return out


@compiled
def _through(back: Floats, h: Floats) -> None:
    """The slope behind a ReLU: back ← back where the unit was on, else 0."""
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            back[i, j] = back[i, j] if h[i, j] > 0 else np.float32(0)


@compiled
def _weighted_error(error: Floats, bias: Floats, y: Floats, weight: Floats) -> np.float32:
    """error ← weight·(error + bias - y): (rows, dy). Returns the total weight."""
    total = np.float32(0)
    for i in range(error.shape[0]):
        total += weight[i]
        for j in range(error.shape[1]):
            error[i, j] = weight[i] * (error[i, j] + bias[j] - y[i, j])
    return total


@compiled
def _add_rows(total: Floats, rows: Floats) -> None:
    """total (width,) += Σ rows (n, width)."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            total[j] += rows[i, j]


@compiled
def _add(total: Floats, part: Floats) -> None:
    for i in range(part.shape[0]):
        for j in range(part.shape[1]):
            total[i, j] += part[i, j]


@compiled
def _gather(
    rows: Floats, weight: Floats, take: IntArray, begin: int, count: int, x: Floats, y: Floats, w: Floats
) -> None:
    """The chunk that starts at `begin`; beyond the last row the weight is 0."""
    inputs = x.shape[1]
    for i in range(x.shape[0]):
        if begin + i < count:
            place = begin + i if take.shape[0] == 0 else take[begin + i]
            w[i] = weight[place]
            for j in range(inputs):
                x[i, j] = rows[place, j]
            for j in range(y.shape[1]):
                y[i, j] = rows[place, inputs + j]
        else:
            w[i] = 0


@compiled
def _slope(
    parameters: Floats, rows: Floats, weight: Floats, take: IntArray, count: int, hidden: int, inputs: int,
    slope: Floats,
) -> None:  # fmt: skip
    """∂/∂parameters of the weighted mean of (network(x) - y)² over rows and outputs: (P,) → slope (P,)."""
    outputs = rows.shape[1] - inputs - 1
    chunk = min(64, max(8, PRODUCT // (hidden * hidden)))
    W1, W2, b2, W3, b3 = split(parameters, inputs, hidden, outputs)
    W2_back, W3_back = np.ascontiguousarray(W2.T), np.ascontiguousarray(W3.T)
    slope[:] = 0
    G1, G2, g2, G3, g3 = split(slope, inputs, hidden, outputs)
    P1, P2, P3 = np.empty_like(G1), np.empty_like(G2), np.empty_like(G3)
    x, y = np.zeros((chunk, inputs + 1), np.float32), np.zeros((chunk, outputs), np.float32)
    w = np.zeros(chunk, np.float32)
    h1, h2 = np.empty((chunk, hidden), np.float32), np.empty((chunk, hidden), np.float32)
    back, error = np.empty((chunk, hidden), np.float32), np.empty((chunk, outputs), np.float32)
    no_bias = np.zeros(hidden, np.float32)
    total = np.float32(0)
    for begin in range(0, count, chunk):
        _gather(rows, weight, take, begin, count, x, y, w)
        np.dot(x, W1, h1)
        _rectify(h1, no_bias)
        np.dot(h1, W2, h2)
        _rectify(h2, b2)
        np.dot(h2, W3, error)
        total += _weighted_error(error, b3, y, w)

        np.dot(h2.T, error, P3)
        _add(G3, P3)
        _add_rows(g3, error)
        np.dot(error, W3_back, back)
        _through(back, h2)
        np.dot(h1.T, back, P2)
        _add(G2, P2)
        _add_rows(g2, back)
        np.dot(back, W2_back, h2)
        _through(h2, h1)
        np.dot(x.T, h2, P1)
        _add(G1, P1)
    scale = np.float32(2) / (total * np.float32(outputs))
    for i in range(slope.shape[0]):
        slope[i] *= scale


@compiled
def _train_run(
    parameters: Floats, mean: Floats, square: Floats, step: int, rows: Floats, weight: Floats,
    take: IntArray, count: int, hidden: int, inputs: int, steps: int, rate: float,
) -> None:  # fmt: skip
    slope = np.empty_like(parameters)
    for s in range(steps):
        _slope(parameters, rows, weight, take[s], count, hidden, inputs, slope)
        _adam(parameters, mean, square, slope, step + s + 1, rate)


def _train_runs(
    run: IntArray, parameters: Floats, mean: Floats, square: Floats, step: IntArray, rows: Floats,
    weight: Floats, take: IntArray, count: IntArray, hidden: int, inputs: int, steps: int, rate: float,
) -> None:  # fmt: skip
    """Steps of Adam for some runs, in place.

    run (n,); parameters, mean, square (R, P); step (R,) taken so far; rows (R, capacity, dx + 1 + dy)
    with weight (R, capacity); a step learns from rows take (n, steps, count), or, if take is
    (n, steps, 0), from the first count (n,).
    """
    for i in numba.prange(run.shape[0]):
        r = int(run[i])
        _train_run(
            parameters[r], mean[r], square[r], step[r], rows[r], weight[r], take[i], count[i],
            hidden, inputs, steps, rate,
        )  # fmt: skip


# A threaded kernel must not be called from several Python threads, as a server does with
# its streams of one run: those take the serial form.
train, train_over_runs = compiled(_train_runs), compiled_over_runs(_train_runs)

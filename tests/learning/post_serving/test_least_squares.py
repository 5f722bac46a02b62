"""Closed forms against the same regression solved directly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duelwise.learning.post_serving import BestOf, Fourier, KernelModel, Neighbours, Ridge, Spline
from duelwise.learning.post_serving.order import by_run, waves
from duelwise.learning.post_serving.spline import hats
from duelwise.randomness import generator
from duelwise.types import Array, IntArray

RANDOM = np.random.Generator(np.random.PCG64(3))
X = RANDOM.uniform(-4, 4, (30, 2, 3))
Y = RANDOM.normal(size=(30, 2, 2))
QUERY = RANDOM.uniform(-4, 4, (1, 6, 3))


def solved(features: Array, query: Array, precision: Array) -> Array:
    """f(query)ᵀ (Λ + Σ f fᵀ)⁻¹ Σ f yᵀ."""
    rows = features.reshape(60, -1)
    return query @ np.linalg.solve(precision + rows.T @ rows, rows.T @ Y.reshape(60, 2))


def hat_features(x: Array, spline: Spline) -> Array:
    """Σ over the two hats next to each coordinate, one after the other."""
    knots = np.linspace(spline.low, spline.high, spline.knots)
    width = knots[1] - knots[0]
    out = np.zeros((*x.shape[:2], x.shape[2] * spline.knots))
    for place in np.ndindex(x.shape):
        cell = 0
        while cell < spline.knots - 2 and x[place] >= knots[cell + 1]:
            cell += 1
        share = (x[place] - knots[cell]) / width
        out[place[0], place[1], place[2] * spline.knots + cell] = 1 - share
        out[place[0], place[1], place[2] * spline.knots + cell + 1] = share
    return out


def learned(model: Ridge | Spline | Fourier) -> Array:
    state = model.start(runs=range(1), context_dim=3, post_dim=2, seed=5)
    state.learn(np.zeros(30, dtype=np.int64), X, Y)
    return state.predict(QUERY)[0]


def test_ridge_is_ridge_regression() -> None:
    def features(x: Array) -> Array:
        return np.insert(x, 0, 1.0, axis=2)

    expected = solved(features(X), features(QUERY)[0], 0.5 * np.eye(4))
    np.testing.assert_allclose(learned(Ridge(ridge=0.5)), expected, rtol=0, atol=1e-11)


def test_spline_is_penalised_regression_on_hats() -> None:
    spline = Spline(knots=6, low=-3, high=3, ridge=0.2, roughness=0.7)
    bend = np.zeros((4, 6))
    for i in range(4):
        bend[i, i : i + 3] = 1, -2, 1
    precision = np.kron(np.eye(3), 0.2 * np.eye(6) + 0.7 * bend.T @ bend).astype(np.float64)
    expected = solved(hat_features(X, spline), hat_features(QUERY, spline)[0], precision)
    np.testing.assert_allclose(learned(spline), expected, rtol=0, atol=1e-10)


def test_fourier_is_ridge_regression_on_waves() -> None:
    random = generator(5, "fourier features", 0)
    frequency = random.normal(size=(3, 10)) / (1.5 * np.sqrt(3))
    phase = random.uniform(0, 2 * np.pi, (1, 10))

    def features(x: Array) -> Array:
        waves = np.sqrt(2 / 10) * np.cos(x @ frequency + phase)
        return np.concatenate([np.ones((*x.shape[:2], 1)), x, waves], axis=2)

    expected = solved(features(X), features(QUERY)[0], 0.1 * np.eye(14))
    fourier = Fourier(features=10, scale=1.5, ridge=0.1)
    np.testing.assert_allclose(learned(fourier), expected, rtol=0, atol=1e-10)


@settings(deadline=None)
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=6), st.integers(2, 20))
def test_hats_sum_to_one_and_reproduce_lines(x: list[float], knots: int) -> None:
    rows = np.array(x)[None]
    position, value = hats(rows, -2.0, 3.0, knots)
    assert ((position // knots).reshape(-1, 2) == np.arange(len(x))[:, None]).all()
    np.testing.assert_allclose(value.reshape(-1, 2).sum(axis=1), 1.0, rtol=0, atol=1e-9)
    grid = np.linspace(-2.0, 3.0, knots)
    np.testing.assert_allclose((value * grid[position % knots]).reshape(-1, 2).sum(axis=1), x, atol=1e-9)


def absorbed_literally(
    inverse: Array, coefficients: Array, position: IntArray, value: Array, y: Array
) -> None:
    """A pair's rows f as nonzeros (2, s), with y (2, dy): number by number, in the order of the kernel."""
    width, outputs = coefficients.shape
    u, gain, shared = [[0.0] * width for _ in range(2)], [[0.0] * outputs for _ in range(2)], 0.0
    for row in range(2):
        seen = list(zip(position[row], value[row], strict=True))
        for j, f in seen:
            u[row] = [u[row][i] + f * inverse[j, i] for i in range(width)]
        if row == 1:
            for j, f in seen:
                shared += f * u[0][j]
            u[1] = [u[1][i] - shared * u[0][i] for i in range(width)]
        total = 1.0
        for j, f in seen:
            total += f * u[row][j]
        scale = 1.0 / np.sqrt(total)
        u[row] = [each * scale for each in u[row]]
        for o in range(outputs):
            expected = shared * gain[0][o] if row == 1 else 0.0
            for j, f in seen:
                expected += f * coefficients[j, o]
            gain[row][o] = (y[row, o] - expected) * scale
    for i in range(width):
        for j in range(width):
            inverse[i, j] -= u[0][i] * u[0][j] + u[1][i] * u[1][j]
        for o in range(outputs):
            coefficients[i, o] += u[0][i] * gain[0][o] + u[1][i] * gain[1][o]


@pytest.mark.parametrize("dim", [1, 3, 5])
def test_room_around_the_inverse_changes_no_bit_of_it(dim: int) -> None:
    """Rows begin at lines of the cache; snapshots have A alone, as 0.1 had it."""
    spline, random = Spline(knots=5), np.random.Generator(np.random.PCG64(dim))
    x, y = random.uniform(-3, 3, (12, 2, dim)), random.normal(size=(12, 2, 2))
    state = spline.start(runs=range(2), context_dim=dim, post_dim=2, seed=0)
    assert isinstance(state, KernelModel)
    held = state.snapshot()
    inverse, coefficients = held["inverse"][1, 0].copy(), held["coefficients"][1].copy()
    assert inverse.shape == (5 * dim, 5 * dim)
    state.learn(np.ones(12, dtype=np.int64), x, y)
    for pair, values in zip(x, y, strict=True):
        absorbed_literally(inverse, coefficients, *hats(pair, spline.low, spline.high, 5), values)
    learned = state.snapshot()
    assert learned["inverse"][1, 0].tolist() == inverse.tolist()
    assert learned["coefficients"][1].tolist() == coefficients.tolist()
    assert learned["inverse"][0].tolist() == held["inverse"][0].tolist()
    again = spline.start(runs=range(2), context_dim=dim, post_dim=2, seed=0)
    again.restore(learned)
    assert isinstance(again, KernelModel)
    for one in (state, again):
        rows = one.state.inverse
        assert all(row.ctypes.data % 64 == 0 for row in rows.reshape(-1, rows.shape[3]))
        one.learn(np.zeros(12, dtype=np.int64), x, np.where(y > 1.0, np.nan, y))  # an A for each output
        assert one.snapshot()["inverse"].shape == (2, 2, 5 * dim, 5 * dim)
    assert state.snapshot()["inverse"].tolist() == again.snapshot()["inverse"].tolist()


def test_many_pairs_do_not_wear_the_inverse_out() -> None:
    """After 20,000 pairs the recursion still gives the direct solution."""
    spline, random = Spline(), np.random.Generator(np.random.PCG64(4))
    x = random.uniform(-np.pi, np.pi, (20_000, 2, 2))
    y = np.abs(x) + random.normal(size=x.shape)
    state = spline.start(runs=range(1), context_dim=2, post_dim=2, seed=0)
    state.learn(np.zeros(len(x), dtype=np.int64), x, y)
    query = random.uniform(-np.pi, np.pi, (1, 50, 2))
    rows = hat_features(x, spline).reshape(-1, 26)
    bends = np.diff(np.eye(13), n=2, axis=0)
    precision = np.kron(np.eye(2), spline.ridge * np.eye(13) + spline.roughness * bends.T @ bends)
    B = np.linalg.solve(precision + rows.T @ rows, rows.T @ y.reshape(-1, 2))
    np.testing.assert_allclose(state.predict(query)[0], hat_features(query, spline)[0] @ B, atol=1e-8)


@pytest.mark.parametrize("name", ["abs", "polynomial", "sinusoidal", "cosine"])
def test_default_spline_knows_the_papers_maps_soon(name: str) -> None:
    """Normalised error .04 after 200 pairs in ten dimensions: the maps are sums over coordinates."""
    maps = {
        "abs": np.abs,
        "polynomial": lambda x: np.concatenate([x**2, np.sqrt(np.abs(x))], axis=-1),
        "sinusoidal": lambda x: np.concatenate([np.cos(x), np.sin(x)], axis=-1),
        "cosine": np.cos,
    }
    random = np.random.Generator(np.random.PCG64(6))
    x, fresh = random.uniform(-np.pi, np.pi, (200, 2, 10)), random.uniform(-np.pi, np.pi, (1, 500, 10))
    y, truth = maps[name](x), maps[name](fresh)
    state = Spline().start(runs=range(1), context_dim=10, post_dim=y.shape[2], seed=0)
    state.learn(np.zeros(200, dtype=np.int64), x, y)
    miss = (state.predict(fresh) - truth) / truth.std(axis=(0, 1))
    assert np.sqrt(np.mean(miss**2)) < 0.04


def test_neighbours_are_the_nearest_of_those_kept() -> None:
    state = Neighbours(count=4, memory=20).start(runs=range(1), context_dim=3, post_dim=2, seed=0)
    state.learn(np.zeros(30, dtype=np.int64), X, Y)
    items, values = X.reshape(60, 3)[-20:], Y.reshape(60, 2)[-20:]
    for x, predicted in zip(QUERY[0], state.predict(QUERY)[0], strict=True):
        distance = ((items - x) ** 2).sum(axis=1)
        nearest = np.argsort(distance)[:4]
        weight = 1 / (distance[nearest] + 1e-12)
        np.testing.assert_allclose(predicted, weight @ values[nearest] / weight.sum(), atol=1e-12)


def test_best_of_follows_the_lowest_prequential_error() -> None:
    candidates = [Ridge(), Spline()]
    best = BestOf(candidates, half_life=5.0).start(runs=range(2), context_dim=3, post_dim=3, seed=0)
    alone = [c.start(runs=range(2), context_dim=3, post_dim=3, seed=0) for c in candidates]
    error = np.zeros((2, 2))
    for x in X:
        both = np.stack([x, x])
        y = np.stack([2 * x + 1, np.abs(x)])  # a line in the first run, a kink in the second
        for m, model in enumerate(alone):
            error[m] = 0.5 ** (1 / 5) * error[m] + ((model.predict(both) - y) ** 2).sum(axis=(1, 2))
            model.learn(np.arange(2), both, y)
        best.learn(np.arange(2), both, y)
        expected = np.stack([alone[m].predict(both)[r] for r, m in enumerate(error.argmin(axis=0))])
        np.testing.assert_array_equal(best.predict(both), expected)
    assert best.chosen[1] == 1


@given(st.lists(st.integers(0, 4), max_size=20))
def test_order_keeps_each_runs_own(run: list[int]) -> None:
    numbers = np.array(run, dtype=np.int64)
    order, begin = by_run(numbers, 5)
    for r in range(5):
        assert order[begin[r] : begin[r + 1]].tolist() == [i for i, each in enumerate(run) if each == r]
    seen: list[int] = []
    for wave in waves(numbers):
        assert len(set(numbers[wave])) == len(wave)
        seen += wave.tolist()
    assert sorted(seen) == list(range(len(run)))
    for r in range(5):
        own = [i for i in seen if run[i] == r]
        assert own == sorted(own)

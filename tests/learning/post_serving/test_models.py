"""What every φ̂ owes: runs apart, exact snapshots, pure predictions, and it learns."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor

from duelwise.errors import InvalidInput, MissingExtra, UnknownName
from duelwise.learning.post_serving import (
    POST_SERVING,
    BestOf,
    Fourier,
    Neighbours,
    Neural,
    NoPostServing,
    PostServing,
    Ridge,
    SklearnModel,
    Spline,
    post_serving,
)
from duelwise.testing.life import assert_same_state
from duelwise.types import Array, IntArray, Snapshot

CONTEXT, POST = 3, 2

MODELS: dict[str, PostServing] = {
    "ridge": Ridge(),
    "spline": Spline(),
    "fourier": Fourier(features=20),
    "knn": Neighbours(count=3, memory=16),
    "mlp": Neural(hidden=16),
    "mlp-replay": Neural(hidden=16, replay=8),
    "sklearn fit": SklearnModel(LinearRegression()),
    "sklearn partial_fit": SklearnModel(MLPRegressor(hidden_layer_sizes=(4,))),
    "best of": BestOf([Ridge(), Spline(knots=5), Neighbours(count=2)]),
}


def target(x: Array) -> Array:
    return np.stack([np.abs(x[..., 0]), np.sin(x[..., 1]) + x[..., 2]], axis=-1)


def pairs(runs: int, n: int, seed: int = 0) -> tuple[IntArray, Array, Array]:
    """n pairs of random runs, some of them self-duels."""
    random = np.random.Generator(np.random.PCG64(seed))
    x = random.uniform(-3, 3, (n, 2, CONTEXT))
    same = random.random(n) < 0.3
    x[same, 1] = x[same, 0]
    return random.integers(runs, size=n), x, target(x)


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> PostServing:
    return MODELS[request.param]


def start(model: PostServing, runs: int = 3):
    return model.start(runs=range(runs), context_dim=CONTEXT, post_dim=POST, seed=7)


def queries(runs: int, seed: int = 1) -> Array:
    return np.random.Generator(np.random.PCG64(seed)).uniform(-4, 4, (runs, 5, CONTEXT))


def test_before_any_pair_predictions_are_finite_and_of_the_right_shape(model: PostServing) -> None:
    state = start(model)
    y = state.predict(queries(3))
    assert y.shape == (3, 5, POST)
    assert y.dtype == np.float64
    assert np.isfinite(y).all()
    assert state.post_dim == POST


def test_without_post_serving_context_nothing_is_learned(model: PostServing) -> None:
    state = model.start(runs=range(3), context_dim=CONTEXT, post_dim=0, seed=7)
    before = {name: array.copy() for name, array in state.snapshot().items()}
    run, x, _ = pairs(3, 24)
    state.learn(run, x, np.empty((24, 2, 0)))
    after = state.snapshot()
    assert before.keys() == after.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array, err_msg=name)


def test_one_batch_equals_pairs_one_at_a_time(model: PostServing) -> None:
    together, apart = start(model), start(model)
    run, x, y = pairs(3, 24)
    together.learn(run, x, y)
    for i in range(len(run)):
        apart.learn(run[i : i + 1], x[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(together.predict(queries(3)), apart.predict(queries(3)), rtol=0, atol=1e-12)


def test_a_run_does_not_see_the_others(model: PostServing) -> None:
    several, alone = start(model, runs=3), start(model, runs=1)
    run, x, y = pairs(3, 40)
    several.learn(run, x, y)
    own = run == 0
    alone.learn(run[own], x[own], y[own])
    x = queries(3)
    np.testing.assert_allclose(several.predict(x)[:1], alone.predict(x[:1]), rtol=0, atol=1e-12)


def test_neighbours_count_by_their_nearness_and_the_oldest_are_forgotten() -> None:
    """y = 10x at 0, 1, 3 and 9: the nearest two, by 1/distance²; then 100 and 101 replace 0 and 1."""
    state = Neighbours(count=2, memory=4).start(runs=[0], context_dim=1, post_dim=1, seed=0)

    def expected_at(x: float) -> float:
        return float(state.predict(np.array([[[x]]]))[0, 0, 0])

    def learn(*x: float) -> None:
        state.learn(np.array([0]), np.array(x).reshape(1, 2, 1), 10 * np.array(x).reshape(1, 2, 1))

    assert expected_at(2.0) == 0.0
    learn(0.0, 1.0)
    learn(3.0, 9.0)
    assert expected_at(2.0) == pytest.approx(20.0)
    assert expected_at(1.25) == pytest.approx((16 * 10 + 0.64 * 0) / 16.64)
    assert expected_at(9.0) == pytest.approx(90.0)
    learn(100.0, 101.0)
    assert expected_at(0.0) == pytest.approx((30 / 9 + 90 / 81) / (1 / 9 + 1 / 81))
    assert state.snapshot()["seen"].tolist() == [6]
    assert state.snapshot()["x"].ravel().tolist() == [100.0, 101.0, 3.0, 9.0]


@pytest.mark.parametrize(("count", "memory"), [(0, 10), (11, 10)])
def test_neighbours_are_some_of_those_that_are_remembered(count: int, memory: int) -> None:
    with pytest.raises(InvalidInput, match="1 ≤ count ≤ memory"):
        Neighbours(count=count, memory=memory)
    Neighbours(count=1, memory=1)


class Always:
    """A model that expects the same of everything, and never learns."""

    post_dim = 1

    def __init__(self, value: float) -> None:
        self._value = value

    def start(self, **_: object) -> Always:
        return self

    def predict(self, x: Array) -> Array:
        return np.full((*x.shape[:2], 1), self._value)

    def learn(self, run: IntArray, x: Array, y: Array) -> None: ...

    def snapshot(self) -> Snapshot:
        return {}

    def restore(self, state: Snapshot) -> None: ...


def test_the_best_is_the_one_of_least_error_where_older_errors_count_less() -> None:
    """A half-life of two pairs: after 0 once and 1 three times, the errors are in the ratio 1.77 : 0.35."""
    best = BestOf([Always(0.0), Always(1.0)], half_life=2.0)
    state = best.start(runs=[0, 1], context_dim=1, post_dim=1, seed=0)
    assert state.chosen.tolist() == [0, 0]
    for value in (0.0, 1.0, 1.0, 1.0):
        state.learn(np.array([1]), np.zeros((1, 2, 1)), np.full((1, 2, 1), value))
    keep = 2**-0.5
    np.testing.assert_allclose(state.snapshot()["error"][:, 1], [2 * (1 + keep + keep**2), 2 * keep**3])
    assert state.chosen.tolist() == [0, 1]
    assert state.predict(np.zeros((2, 1, 1))).ravel().tolist() == [0.0, 1.0]


def test_a_regressor_is_fitted_at_every_so_manyth_pair() -> None:
    state = SklearnModel(LinearRegression(), refit_every=2).start(
        runs=[0], context_dim=1, post_dim=1, seed=0
    )  # fmt: skip
    x = np.array([[[0.0], [1.0]]])
    expected: list[float] = []
    for slope in (1.0, 1.0, 5.0, 5.0):
        state.learn(np.array([0]), x, slope * x)
        expected.append(float(state.predict(np.ones((1, 1, 1)))[0, 0, 0]))
    assert expected == pytest.approx([0.0, 1.0, 1.0, 3.0])
    with pytest.raises(InvalidInput, match="at least 1; got 0"):
        SklearnModel(LinearRegression(), refit_every=0)


def test_predicting_changes_nothing(model: PostServing) -> None:
    asked, left = start(model), start(model)
    run, x, y = pairs(3, 20)
    for i in range(20):
        asked.predict(queries(3, seed=i))
        for state in (asked, left):
            state.learn(run[i : i + 1], x[i : i + 1], y[i : i + 1])
    np.testing.assert_array_equal(asked.predict(queries(3)), left.predict(queries(3)))


def test_a_restored_model_goes_on_exactly(model: PostServing) -> None:
    lived, restored = start(model), start(model)
    run, x, y = pairs(3, 40)
    lived.learn(run[:25], x[:25], y[:25])
    state = lived.snapshot()
    restored.learn(run[30:], x[30:], y[30:])  # a past that restoring must wipe out
    restored.restore({name: array.copy() for name, array in state.items()})
    for each in (lived, restored):
        each.learn(run[25:], x[25:], y[25:])
    np.testing.assert_array_equal(lived.predict(queries(3)), restored.predict(queries(3)))


@pytest.mark.parametrize("settings", [Ridge(), Spline(), Fourier(features=20)])
def test_a_model_goes_back_to_before_values_were_missing(settings: PostServing) -> None:
    model = start(settings)
    run, x, y = pairs(3, 20)
    model.learn(run, x, y)
    before = model.snapshot()
    y[:, 0, 0] = np.nan
    model.learn(run, x, y)
    model.restore(before)
    assert_same_state(model.snapshot(), before)


def test_a_snapshot_does_not_move_with_its_model(model: PostServing) -> None:
    state = start(model)
    run, x, y = pairs(3, 30)
    state.learn(run[:10], x[:10], y[:10])
    kept = state.snapshot()
    copies = {name: array.copy() for name, array in kept.items()}
    state.learn(run[10:], x[10:], y[10:])
    for name, array in kept.items():
        np.testing.assert_array_equal(array, copies[name])


def test_an_empty_batch_changes_nothing(model: PostServing) -> None:
    state = start(model)
    run, x, y = pairs(3, 5)
    state.learn(run, x, y)
    before = state.predict(queries(3))
    state.learn(run[:0], x[:0], y[:0])
    np.testing.assert_array_equal(state.predict(queries(3)), before)


@pytest.mark.parametrize(
    ("model", "error"),
    [
        (Spline(), 0.1),
        (Fourier(features=100), 0.35),
        (Neighbours(), 0.6),
        (Neural(), 0.3),
        (Neural(replay=64), 0.3),
        (SklearnModel(LinearRegression(), refit_every=50), 1.0),
        (BestOf([Ridge(), Spline()]), 0.1),
    ],
)
def test_it_learns(model: PostServing, error: float) -> None:
    """Normalised root mean squared error on fresh contexts after 300 pairs."""
    state = start(model, runs=1)
    _, x, y = pairs(1, 300)
    state.learn(np.zeros(300, dtype=np.int64), x, y)
    fresh = np.random.Generator(np.random.PCG64(9)).uniform(-3, 3, (1, 400, CONTEXT))
    miss = (state.predict(fresh) - target(fresh)) / target(fresh).std(axis=(0, 1))
    assert np.sqrt(np.mean(miss**2)) < error


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Spline(knots=1),
        lambda: Spline(low=1.0, high=1.0),
        lambda: Spline(ridge=0.0),
        lambda: Ridge(ridge=-1.0),
        lambda: Spline(roughness=-0.1),
        lambda: Ridge(ridge=0.0),
        lambda: Fourier(features=0),
        lambda: Fourier(scale=0.0),
        lambda: Fourier(ridge=0.0),
        lambda: Neighbours(count=0),
        lambda: Neural(steps=0),
        lambda: Neural(replay=0),
        lambda: BestOf([]),
        lambda: SklearnModel(LinearRegression(), refit_every=0),
        lambda: start(NoPostServing()),
    ],
)
def test_wrong_settings_are_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput):
        wrong()


@pytest.mark.parametrize(
    "model", [Spline(knots=2, roughness=0.0), Fourier(features=1), Neighbours(count=1), Neural(steps=1)]
)
def test_the_least_settings_are_enough(model: PostServing) -> None:
    state = start(model, runs=1)
    _, x, y = pairs(1, 5)
    state.learn(np.zeros(5, dtype=np.int64), x, y)
    assert np.isfinite(state.predict(queries(1))).all()


def test_the_null_object_has_no_outputs() -> None:
    state = NoPostServing().start(runs=range(2), context_dim=CONTEXT, post_dim=0, seed=0)
    state.learn(np.zeros(1, dtype=np.int64), np.zeros((1, 2, CONTEXT)), np.zeros((1, 2, 0)))
    state.restore(state.snapshot())
    assert state.predict(queries(2)).shape == (2, 5, 0)


def test_names_lead_to_models() -> None:
    assert list(POST_SERVING) == ["none", "ridge", "spline", "fourier", "knn", "mlp", "mlp-replay"]
    assert post_serving("mlp-replay") == Neural(replay=256)
    with pytest.raises(UnknownName, match="Did you mean 'spline'"):
        post_serving("splin")


def test_a_missing_extra_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'duelwise\[sklearn\]'"):
        start(SklearnModel(LinearRegression()))


def test_no_model_but_the_wrapper_loads_anything_heavy() -> None:
    program = (
        "import sys, numpy as np\n"
        "from duelwise.learning.post_serving import post_serving\n"
        "post_serving('mlp').start(runs=range(1), context_dim=2, post_dim=2, seed=0)\n"
        "assert not {'torch', 'sklearn', 'pandas'} & set(sys.modules), sorted(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

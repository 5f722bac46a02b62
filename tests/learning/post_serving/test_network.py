"""The stacked network against torch's own layers, loss and optimiser."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from duelwise.learning.post_serving import Neural
from duelwise.learning.post_serving.network import split
from duelwise.learning.post_serving.neural import NeuralModel
from duelwise.learning.post_serving.replay import Sampler
from duelwise.types import Array, IntArray

CONTEXT, HIDDEN, POST = 4, 64, 5

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def torch_network(model: NeuralModel, run: int) -> torch.nn.Sequential:
    """The same parameters in torch's own layers."""
    W1, W2, b2, W3, b3 = split(model.snapshot()["parameters"][run], CONTEXT, HIDDEN, POST)
    network = torch.nn.Sequential(
        torch.nn.Linear(CONTEXT, HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Linear(HIDDEN, HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Linear(HIDDEN, POST),
    )
    values = W1[:-1].T, W1[-1], W2.T, b2, W3.T, b3
    with torch.no_grad():
        for parameter, value in zip(network.parameters(), values, strict=True):
            parameter.copy_(torch.from_numpy(value.copy()))
    return network


def pairs(n: int, runs: int) -> tuple[Array, Array]:
    random = np.random.Generator(np.random.PCG64(8))
    x = random.uniform(-np.pi, np.pi, (n, runs, 2, CONTEXT))
    same = random.random((n, runs)) < 0.5
    x[same, 1] = x[same, 0]
    return x, np.concatenate([np.abs(x), np.cos(x[..., :1])], axis=-1)


def sampled(rows: int, replay: int | None, run: int, step: int) -> IntArray:
    if replay is None:
        return np.arange(rows)
    one = np.array([run]), np.array([step]), np.array([rows])
    return Sampler(size=replay, runs=range(run + 1), seed=2).places(*one)[0][: max(rows, 0)]


@pytest.mark.parametrize("replay", [None, 30])
def test_training_equals_torch(replay: int | None) -> None:
    """120 rounds of two steps; over 64 rows, so several chunks and a partly filled one."""
    model = Neural(replay=replay).start(runs=range(3), context_dim=CONTEXT, post_dim=POST, seed=2)
    x, y = pairs(120, 3)
    query = pairs(50, 3)[0][:, :, 0].swapaxes(0, 1)
    for run in range(3):
        network = torch_network(model, run)
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
        for t in range(120):
            seen = [torch.from_numpy(a[: t + 1, run].reshape(2 * t + 2, -1)).float() for a in (x, y)]
            for step in range(2 * t, 2 * t + 2):
                rows = sampled(2 * t + 2, replay, run, step)
                optimiser.zero_grad()
                torch.nn.functional.mse_loss(network(seen[0][rows]), seen[1][rows]).backward()
                optimiser.step()
        expected = network(torch.from_numpy(query[run]).float()).detach().numpy()
        fresh = Neural(replay=replay).start(runs=range(3), context_dim=CONTEXT, post_dim=POST, seed=2)
        for t in range(120):
            fresh.learn(np.arange(3), x[t], y[t])
        np.testing.assert_allclose(fresh.predict(query)[run], expected, rtol=0, atol=1e-4)


def test_initial_values_are_torchs_default_and_do_not_depend_on_the_batch() -> None:
    wide = Neural().start(runs=range(4), context_dim=CONTEXT, post_dim=POST, seed=3).snapshot()["parameters"]
    narrow = (
        Neural().start(runs=range(1), context_dim=CONTEXT, post_dim=POST, seed=3).snapshot()["parameters"]
    )
    np.testing.assert_array_equal(wide[:1], narrow)
    assert len(np.unique(wide)) > 0.99 * wide.size
    W1, W2, b2, W3, b3 = split(wide[0], CONTEXT, HIDDEN, POST)
    for values, fan_in in ((W1, CONTEXT), (W2, HIDDEN), (b2, HIDDEN), (W3, HIDDEN), (b3, HIDDEN)):
        bound = 1 / np.sqrt(fan_in)
        assert np.abs(values).max() <= bound
        if values.size > 100:
            np.testing.assert_allclose(values.std(), bound / np.sqrt(3), rtol=0.15)


def test_a_self_duel_is_kept_once() -> None:
    model = Neural().start(runs=range(2), context_dim=1, post_dim=1, seed=0)
    model.learn(np.arange(2), np.array([[[1.0], [1.0]], [[1.0], [2.0]]]), np.ones((2, 2, 1)))
    state = model.snapshot()
    assert state["count"].tolist() == [1, 2]
    assert state["weight"].tolist() == [[2.0, 0.0], [1.0, 1.0]]


def test_replay_draws_rows_uniformly_and_by_step() -> None:
    sampler = Sampler(size=4000, runs=range(2), seed=1)
    run, count = np.array([0, 1]), np.array([5000, 5000])
    places = sampler.places(run, np.array([3, 9]), count)
    assert places.min() >= 0
    assert places.max() < 5000
    np.testing.assert_allclose(places.mean(axis=1), 2500, atol=100)
    np.testing.assert_array_equal(places[1:], sampler.places(run[1:], np.array([9]), count[1:]))
    assert (sampler.places(run[:1], np.array([4]), count[:1]) != places[:1]).any()

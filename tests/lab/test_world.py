from typing import Any

import numpy as np
import pytest
from scipy.special import expit, ndtr

from duelwise.errors import InvalidInput, UnknownName
from duelwise.lab.worlds.linear import QUANTILES, LinearWorld, Scaling
from duelwise.lab.worlds.mappings import MAPPINGS
from duelwise.learning.core.links import LINKS
from duelwise.types import Array, IntArray

ROUNDS = (0, 1, 255, 256, 700)


def first_two(runs: int) -> IntArray:
    return np.tile(np.array([0, 1]), (runs, 1))


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("scaling", ["published", "normalised"])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_truth_is_the_literal_inner_product(mapping: str, scaling: Scaling, noise: float) -> None:
    world = LinearWorld(runs=2, context_dim=3, arms=4, mapping=mapping, scaling=scaling, noise=noise, seed=5)
    for t in ROUNDS:
        x = world.contexts(t)
        truth = world.reveal(t, x)
        assert truth.y.shape == (2, 4, world.post_dim)
        for r in range(2):
            for k in range(4):
                mean = world.phi(x[r, k])
                realised, expected = np.r_[x[r, k], truth.y[r, k]], np.r_[x[r, k], mean]
                assert truth.utility[r, k] == pytest.approx(world.theta[r] @ realised, abs=1e-12)
                assert truth.expected[r, k] == pytest.approx(world.theta[r] @ expected, abs=1e-12)
                if scaling == "normalised":
                    assert np.linalg.norm(realised) <= 0.5
        assert (truth.utility is truth.expected) == (noise == 0.0)


def test_published_sizes() -> None:
    """Random play costs what the published runs of near-random methods cost: about 0.88 and 22 a round."""
    for mapping, low, high in (("none", 0.8, 0.95), ("abs", 20.0, 25.0)):
        world = LinearWorld(runs=40, mapping=mapping)
        u = np.concatenate([world.reveal(t, world.contexts(t)).expected for t in range(200)])
        assert low < np.mean(u.max(axis=1) - u.mean(axis=1)) < high
        assert np.abs(world.contexts(7)).max() <= np.pi


def test_normalised_parameter_has_the_asked_norm() -> None:
    world = LinearWorld(runs=3, mapping="abs", scaling="normalised", norm_bound=2.5)
    np.testing.assert_allclose(np.linalg.norm(world.theta, axis=1), 2.5)


def test_noise_has_the_asked_spread_and_no_mean() -> None:
    world = LinearWorld(runs=5, mapping="abs", noise=0.7)
    error = np.stack(
        [world.reveal(t, world.contexts(t)).y - world.phi(world.contexts(t)) for t in range(100)]
    )
    assert error.std() == pytest.approx(0.7, rel=0.02)
    assert abs(error.mean()) < 0.01


def test_a_batch_is_its_single_runs_and_repeats_agree() -> None:
    batch = LinearWorld(runs=[4, 1, 4], context_dim=3, arms=3, mapping="sinusoidal", noise=0.1, seed=2)
    for r, run in enumerate([4, 1, 4]):
        single = LinearWorld(runs=[run], context_dim=3, arms=3, mapping="sinusoidal", noise=0.1, seed=2)
        for t in ROUNDS:
            x, alone = batch.contexts(t), single.contexts(t)
            truth, true_alone = batch.reveal(t, x), single.reveal(t, alone)
            np.testing.assert_array_equal(x[r], alone[0])
            for of_batch, of_single in zip(truth, true_alone, strict=True):
                np.testing.assert_array_equal(of_batch[r], of_single[0])
            assert batch.vote(t, truth, first_two(3))[r] == single.vote(t, true_alone, first_two(1))[0]


def test_rounds_may_be_asked_for_in_any_order_and_are_copies() -> None:
    world, again = LinearWorld(runs=2), LinearWorld(runs=2)
    later = world.contexts(900)
    world.contexts(3)[:] = 7.0
    world.reveal(3, later).utility[:] = 7.0
    np.testing.assert_array_equal(world.contexts(3), again.contexts(3))
    np.testing.assert_array_equal(world.reveal(3, later).utility, again.reveal(3, later).utility)
    np.testing.assert_array_equal(world.contexts(900), later)


def clipped(s: Array) -> Array:
    return np.clip(0.5 + s, 0.0, 1.0)


@pytest.mark.parametrize(("link", "g"), [("logistic", expit), ("probit", ndtr), ("clipped-linear", clipped)])
def test_votes_follow_the_link(link: str, g: np.ufunc) -> None:
    world = LinearWorld(runs=200, context_dim=3, arms=2, link=link)
    probability, outcome = [], []
    for t in range(100):
        truth = world.reveal(t, world.contexts(t))
        probability.append(g(truth.utility[:, 0] - truth.utility[:, 1]))
        outcome.append(world.vote(t, truth, first_two(200)))
    p, o = np.concatenate(probability), np.concatenate(outcome)
    for low in (0.0, 0.3, 0.45, 0.55, 0.7):
        near = (p >= low) & (p < low + 0.3)
        assert o[near].mean() == pytest.approx(p[near].mean(), abs=4 * 0.5 / np.sqrt(near.sum()))


def test_the_learner_knows_every_link_of_the_world() -> None:
    assert QUANTILES.keys() == LINKS.keys()


def test_a_self_duel_is_a_fair_coin() -> None:
    world = LinearWorld(runs=100)
    same = np.full((100, 2), 3)
    votes = np.concatenate([world.vote(t, world.reveal(t, world.contexts(t)), same) for t in range(100)])
    assert set(votes) == {0.0, 1.0}
    assert votes.mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    "settings",
    [
        {"arms": 1},
        {"runs": 0},
        {"runs": []},
        {"runs": [0, -1]},
        {"context_dim": 0},
        {"context_dim": 2.5},
        {"noise": -0.1},
        {"noise": float("nan")},
        {"norm_bound": float("inf"), "scaling": "normalised"},
        {"post_scale": float("nan")},
        {"mapping": "abs", "post_dim": 11},
        {"seed": -1},
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="Expected"):
        LinearWorld(**settings)


@pytest.mark.parametrize(
    ("settings", "near"),
    [
        ({"mapping": "polinomial"}, "polynomial"),
        ({"link": "logit"}, "logistic"),
        ({"scaling": "normal"}, "normalised"),
    ],
)
def test_unknown_names_suggest_the_nearest(settings: dict[str, Any], near: str) -> None:
    with pytest.raises(UnknownName, match=near):
        LinearWorld(**settings)


def test_post_dim_slices_the_same_world() -> None:
    whole, part = (LinearWorld(runs=1, mapping="polynomial", post_dim=n) for n in (None, 4))
    x = whole.contexts(0)
    np.testing.assert_array_equal(whole.reveal(0, x).y[..., :4], part.reveal(0, part.contexts(0)).y)


def test_published_parameters_are_those_of_the_published_runs() -> None:
    world = LinearWorld(runs=10, mapping="abs", parameters="published")
    legacy = np.random.RandomState(42 + 999 + 1000 + 100 * 3)
    expected = np.concatenate([0.1 * legacy.randn(10), 5.0 * legacy.randn(10)])
    np.testing.assert_allclose(world.theta[3], expected)
    assert np.linalg.norm(world.theta[:, 10:], axis=1).mean() == pytest.approx(18.77, abs=0.01)
    other = LinearWorld(runs=10, mapping="abs", parameters="published", seed=1)
    assert not np.allclose(other.theta, world.theta)

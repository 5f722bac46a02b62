"""A walk is the simulation, seen from outside; monitors read it."""

from typing import Unpack

import numpy as np
import pytest
from typer.testing import CliRunner

from duelwise.cli import app
from duelwise.lab.play.compiled_loop import rollout
from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import GaussianDelay
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.simulation import simulate
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.core.monitors import monitors
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.monitoring import watched
from duelwise.learning.recipes import Tuning, rcdp_ucb
from duelwise.theory.monitoring import learning_exponent, look_back, monitor
from duelwise.theory.walking import norm, walk


def scenario(mapping: str = "abs") -> Scenario:
    world = LinearWorld(
        runs=3, context_dim=3, arms=4, mapping=mapping, noise=0.1 if mapping != "none" else 0.0
    )
    return Scenario(world, GaussianDelay(mean=5, std=3), StrategicCorruption(budget=4))


def learner(post_dim: int = 3, **other: Unpack[Tuning]) -> DuelingLearner:
    return rcdp_ucb(runs=3, context_dim=3, post_dim=post_dim, **other)


def test_a_walk_takes_the_steps_of_the_plain_loop() -> None:
    played = simulate(learner(), scenario(), horizon=60)
    walked = [step for _, step, _ in walk(learner(), scenario(), horizon=60)]
    np.testing.assert_array_equal(np.stack([step.arms for step in walked], axis=1), played.arms)


def test_history_knows_what_is_out_and_what_was_a_lie() -> None:
    history = None
    for _, step, history in walk(learner(), scenario(), horizon=60):
        out = np.isnan(history.told[:, : history.length]).sum(axis=1)
        np.testing.assert_array_equal(out, step.pending)
    assert history is not None
    told, honest = history.told[:, :40], history.honest[:, :40]
    lies = np.nansum(told != honest, axis=1) - np.isnan(told).sum(axis=1)
    np.testing.assert_array_equal(lies, 4)


def test_a_norm_is_a_quadratic_form() -> None:
    random = np.random.default_rng(0)
    A = random.standard_normal((2, 3, 3))
    A = A @ A.transpose(0, 2, 1)
    v = random.standard_normal((2, 3))
    literal = [np.sqrt(x @ a @ x) for a, x in zip(A, v, strict=True)]
    np.testing.assert_allclose(norm(v, A), literal)


def test_monitors_say_what_the_assumptions_miss() -> None:
    found = monitor(learner(post_serving="ridge"), scenario(), horizon=150, curvature=0.25)
    assert found.flat_share.mean() > 0.4  # κ = ¼ is the largest slope
    assert (found.largest_feature > 3.0).all()  # not ≤ ½
    assert (found.largest_estimate > 0.0).all()
    assert np.isfinite(found.learning_rate).all()
    assert (found.error > 0).all()
    assert set(found.summary()) == set(vars(found))


def test_without_a_late_context_there_is_nothing_to_learn() -> None:
    found = monitor(learner(post_dim=0), scenario("none"), horizon=30, curvature=0.01)
    assert np.isnan(found.learning_rate).all()
    assert np.isnan(found.error).all()
    np.testing.assert_array_equal(found.flat_share, 0.0)


def test_the_exponent_of_a_power_law() -> None:
    t = np.arange(1.0, 3000.0)
    assert learning_exponent(t**-0.4) == pytest.approx(0.4, abs=0.01)
    assert np.isnan(learning_exponent(t[:40] ** -0.4))


def test_looking_back_at_a_run_that_was_played() -> None:
    made, where = learner(post_serving="ridge"), scenario()
    made.watch()
    played = simulate(made, where, horizon=80)
    found = look_back(made, where.world, played.arms)
    assert (found.estimate_norm > 0.0).all()
    assert (found.feature_norm > 3.0).all()
    assert found.flat_share.mean() > 0.3
    assert (found.late_error > 0).all()
    assert set(found.summary()) == set(vars(found))


def test_a_learners_own_monitors_see_what_a_walk_sees() -> None:
    made = learner(post_serving="ridge", curvature=0.2)
    made.watch()
    played = simulate(made, scenario(), horizon=80)
    found = watched(made.monitors)
    walked = monitor(learner(post_serving="ridge", curvature=0.2), scenario(), horizon=80, curvature=0.2)
    np.testing.assert_array_equal(found.flat_share, walked.flat_share)
    np.testing.assert_allclose(found.estimate_norm, walked.largest_estimate)
    where = scenario().world
    for r, arms in enumerate(played.arms):
        z = [where.contexts(t)[r, arms[t]] for t in range(80)]
        y = [where.reveal(t, where.contexts(t)).y[r, arms[t]] for t in range(80)]
        longest = np.linalg.norm(np.concatenate([z, y], axis=2), axis=2).max()
        assert found.feature_norm[r] == pytest.approx(longest)
    np.testing.assert_array_equal(made.monitors.counted[:, :7].sum(axis=1), 160)
    np.testing.assert_array_equal(made.monitors.counted[:, 4:6], [[32, 64]] * 3)
    assert (found.served_error > 0).all()
    assert np.isnan(found.learning_rate).all()  # two full windows


def test_monitors_change_nothing_and_both_loops_keep_the_same() -> None:
    off, plain, compiled = learner(), learner(), learner()
    plain.watch()
    compiled.watch()
    curves = [simulate(off, scenario(), horizon=60), simulate(plain, scenario(), horizon=60)]
    curves.append(rollout(compiled, scenario(), horizon=60))
    for other in curves[1:]:
        np.testing.assert_array_equal(other.regret, curves[0].regret)
    assert off.monitors.duels.shape == (0,)
    for one, other in zip(plain.monitors, compiled.monitors, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_learning_rate_of_a_power_law() -> None:
    seen = monitors(runs=1)
    seen.duels[0] = 2**10 - 1
    for window in range(10):
        seen.counted[0, window] = 2 * 2**window
        seen.error[0, window] = 2 * 2**window * (1.5 * 2**window) ** -0.3
    assert watched(seen).learning_rate[0] == pytest.approx(0.3)


def test_run_shows_monitors() -> None:
    words = ["run", "linear", "--horizon", "20", "--runs", "2", "--dim", "3", "--arms", "3", "--monitors"]
    result = CliRunner().invoke(app, [*words, "--methods", "rcdp-ucb"])
    assert result.exit_code == 0, result.output
    assert "Monitors" in result.output

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from duelwise.lab.play.compiled_loop import play
from duelwise.lab.play.world import Truth
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning import recipes
from duelwise.learning.apply import apply
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.learner_protocol import Learner
from duelwise.learning.post_serving import Spline
from duelwise.learning.scaling import Ranging, ScaledLearner, SelfScaledLearner, declared
from duelwise.learning.scaling import scaled_learner as module
from duelwise.testing.learning import LearnerConformance
from duelwise.testing.life import Life, assert_same_state, live
from duelwise.types import Array, Contexts, Duel, Votes

DX, DY = 3, 2


def _make(runs: Sequence[int] = (0,), estimate: str = "full-mle") -> DuelingLearner:
    return recipes.rcdp_ucb(
        context_dim=DX,
        post_dim=DY,
        runs=list(runs),
        post_serving=Spline(low=-1.0, high=1.0),
        estimate=estimate,
    )


def _learner(
    runs: Sequence[int] = (0,), kind: type[ScaledLearner] = ScaledLearner, estimate: str = "full-mle"
) -> ScaledLearner:
    ranges = declared({}, runs=len(runs), dim=DX + DY)
    return kind(partial(_make, runs, estimate), ranges, learned=np.ones(DX + DY, bool))


def _life(runs: Sequence[int] = (0,)) -> Life:
    return Life(list(runs), candidates=5, context_dim=DX, post_dim=DY)


class TestSelfScaled(LearnerConformance):
    context_dim, post_dim = DX, DY

    def make(self, runs: Sequence[int]) -> ScaledLearner:
        return _learner(runs, SelfScaledLearner)


@pytest.mark.parametrize("estimate", ["full-mle", "one-pass"])
def test_a_new_range_folds_all_again(estimate: str) -> None:
    """The state after a change is that of a learner that had the new range from its first duel."""
    learner = _learner((0, 1), estimate=estimate)
    events = live(learner, _life((0, 1)), rounds=40)
    ranging = learner.due()
    assert ranging is not None
    before = learner.theta
    learner.rescale(ranging)
    assert not np.array_equal(before, learner.theta)
    fresh = ScaledLearner(partial(_make, (0, 1), estimate), ranging.ranges, learned=np.ones(DX + DY, bool))
    for event in events:
        apply(fresh, event)
    assert_same_state(learner.learner.snapshot(), fresh.learner.snapshot())
    np.testing.assert_array_equal(learner.clamped, fresh.clamped)


def test_settled_units_stay_and_what_was_raw_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEARNING_ASKS", 16)
    monkeypatch.setattr(module, "LEARNING_CONTEXTS", 4)
    learner, life = _learner(kind=SelfScaledLearner), _life()
    live(learner, life, rounds=16)
    assert learner.settled
    state, ranges = learner.learner.snapshot(), learner.ranges
    assert learner.snapshot()["scaling.history.kind"].shape == (0,)
    wider = ranges._replace(reach=2 * ranges.reach)
    learner.rescale(Ranging(wider, settled=True))
    assert_same_state(state, learner.learner.snapshot())
    x = ranges.raw(np.full((1, 2, DX + DY), 1.5))[:, :, :DX]
    x[0, 1] = -x[0, 0]
    learner.serve(Duel(16, np.array([[0, 1]]), x, np.zeros((1, 2, DY))))
    waiting = learner.learner.pending
    assert np.abs(waiting.x[0, waiting.round[0] == 16]).max() > 1.4  # let in by the wider range


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_ASKS", 32)
    learner, life = _learner(kind=SelfScaledLearner), _life()
    for t in range(40):  # no context ever comes
        learner.serve(learner.choose(life.candidates(t)))
        assert learner.settled == (t >= 31)
    monkeypatch.setattr(module, "LONGEST_EVENTS", 10)
    learner = _learner(kind=SelfScaledLearner)
    for t in range(12):
        learner.serve(learner.choose(life.candidates(t)))
    assert learner.settled


@pytest.mark.parametrize("rounds", [5, 20, 60])
def test_a_restored_learner_learns_ranges_as_if_nothing_had_happened(
    monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    monkeypatch.setattr(module, "LEARNING_ASKS", 32)
    monkeypatch.setattr(module, "LEARNING_CONTEXTS", 4)
    learner, life = _learner((0, 1), SelfScaledLearner), _life((0, 1))
    events = live(learner, life, rounds=70)
    served = [at for at, event in enumerate(events) if isinstance(event, Duel)]
    first, second = _learner((0, 1), SelfScaledLearner), _learner((0, 1), SelfScaledLearner)
    for event in events[: served[rounds]]:
        apply(first, event)
    second.restore(first.snapshot())
    for event in events[served[rounds] :]:
        apply(second, event)
    assert_same_state(learner.snapshot(), second.snapshot())


def test_one_duel_pulls_no_more_than_its_range_allows() -> None:
    rng = np.random.Generator(np.random.PCG64(5))
    learner = _learner(kind=SelfScaledLearner)
    for t in range(20):
        x = rng.choice([-1e300, 1e300, 1e6, 0.0], size=(1, 2, DX))
        learner.serve(Duel(t, np.array([[0, 1]]), x, np.zeros((1, 2, DY))))
        learner.observe(Contexts(np.array([0]), np.array([t]), rng.choice([-1e300, 1e300], size=(1, 2, DY))))
        learner.tell(Votes(np.array([0]), np.array([t]), np.array([1.0])))
    core = learner.learner
    for geometry in (core.served_geometry, core.arrived_geometry):
        grown = np.trace(geometry.matrix[0]) - (DX + DY)
        assert 0 < grown <= 20 * 0.25 * 4 * (DX + DY)
    assert np.isfinite(core.post_serving.predict(np.ones((1, 2, DX)))).all()
    assert learner.clamped.sum() > 0


def test_theta_is_for_the_features_own_numbers() -> None:
    rng = np.random.Generator(np.random.PCG64(2))
    theta = np.array([0.02, -3.0, 0.5])
    make = partial(recipes.rcdp_ucb, context_dim=3, distinct_pair=True, clip=math.inf)
    learner = SelfScaledLearner(make, declared({}, runs=1, dim=3), learned=np.ones(3, bool))
    for t in range(1500):
        x = rng.uniform(-1, 1, size=(1, 4, 3)) * [100, 1, 5]
        duel = learner.choose(x)
        learner.serve(duel)
        learner.observe(Contexts(np.array([0]), np.array([t]), np.zeros((1, 2, 0))))
        chance = 1 / (1 + np.exp(-(duel.x[0, 0] - duel.x[0, 1]) @ theta))
        learner.tell(Votes(np.array([0]), np.array([t]), np.array([float(rng.random() < chance)])))
    np.testing.assert_allclose(learner.theta[0], theta, rtol=0.35)


class _InOtherUnits(LinearWorld):
    """A world whose x is a thousand times as large."""

    def contexts(self, t: int) -> Array:
        return 1000.0 * super().contexts(t)

    def reveal(self, t: int, x: Array) -> Truth:
        return super().reveal(t, x / 1000.0)


def test_the_laboratory_plays_it_whatever_the_units() -> None:
    runs = list(range(4))

    def regret(kind: type[LinearWorld], learner: Learner) -> float:
        world = kind(runs=runs, seed=3, mapping="none", context_dim=4, arms=5)
        return float(play(learner, world, horizon=300).final.mean())

    make = partial(recipes.rcdp_ucb, context_dim=4, runs=runs)
    scaled = partial(SelfScaledLearner, make, declared({}, runs=4, dim=4), learned=np.ones(4, dtype=np.bool_))
    plain = regret(LinearWorld, make())
    ours, large = regret(LinearWorld, scaled()), regret(_InOtherUnits, scaled())
    assert ours == pytest.approx(large, rel=0.1)
    assert ours < 1.5 * plain, (ours, plain)

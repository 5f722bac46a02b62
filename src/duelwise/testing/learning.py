"""What every learner, selection rule and post-serving model must do. Inherit, and name your part.

class TestMine(SelectionConformance):
    rule = MyRule()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from duelwise.errors import DuelwiseError
from duelwise.learning.apply import apply
from duelwise.learning.estimation import FullMLE
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.learner_protocol import Learner
from duelwise.learning.post_serving import PostServing, PostServingModel, Ridge
from duelwise.learning.selection import Selection
from duelwise.learning.weighting import ServedLeverage
from duelwise.learning.widths import ConstantWidth
from duelwise.testing.life import Life, assert_same_state, live
from duelwise.types import Array, Contexts, Duel, Event, IntArray, Snapshot, Votes


class FittedLearner(Learner, Protocol):
    """A learner whose estimate can be looked at."""

    @property
    def theta(self) -> Array: ...  # (R, d)
    @property
    def votes(self) -> IntArray: ...  # (R,)


class LearnerConformance:
    """Inherit, and let `make` build your learner for these run numbers, the same one each time."""

    context_dim: int = 3
    post_dim: int = 2
    candidates: int = 5
    rounds: int = 40
    estimate_tolerance: float = 1e-9  # between a run in a batch and the same run alone

    def make(self, runs: Sequence[int]) -> FittedLearner:
        raise NotImplementedError("Override make: it builds the learner under test.")

    def test_a_batch_is_its_runs_alone(self) -> None:
        runs = [4, 0, 9]
        batch, events = self._lived(runs)
        for row, run in enumerate(runs):
            alone, own = self._lived([run])
            chosen = [event.arms[row].tolist() for event in events if isinstance(event, Duel)]
            assert chosen == [event.arms[0].tolist() for event in own if isinstance(event, Duel)]
            np.testing.assert_allclose(batch.theta[row], alone.theta[0], rtol=0, atol=self.estimate_tolerance)
            assert batch.votes[row] == alone.votes[0]

    def test_runs_of_one_number_are_the_same_run(self) -> None:
        learner, events = self._lived([2, 5, 2])
        for event in events:
            if isinstance(event, Duel):
                np.testing.assert_array_equal(event.arms[0], event.arms[2])
        np.testing.assert_array_equal(learner.theta[0], learner.theta[2])

    def test_pairs_are_among_the_candidates(self) -> None:
        for candidates in (2, 7):
            life = self._life([0, 1], candidates)
            for event in live(self.make([0, 1]), life, rounds=self.rounds):
                if isinstance(event, Duel):
                    x = life.candidates(event.round)
                    np.testing.assert_array_equal(event.x, x[np.arange(2)[:, None], event.arms])

    def test_choosing_changes_nothing(self) -> None:
        learner, _ = self._lived([0, 1])
        before, x = learner.snapshot(), self._life([0, 1]).candidates(self.rounds)
        given = x.copy()
        first, second = learner.choose(x), learner.choose(x)
        np.testing.assert_array_equal(first.arms, second.arms, err_msg="asking twice gave two answers")
        np.testing.assert_array_equal(first.predicted, second.predicted)
        np.testing.assert_array_equal(x, given, err_msg="the candidates were changed")
        assert_same_state(before, learner.snapshot())

    def test_recorded_duels_give_the_learner_that_chose_them(self) -> None:
        learner, events = self._lived([0, 1])
        assert_same_state(learner.snapshot(), self._replayed([0, 1], events).snapshot())

    def test_a_restored_learner_goes_on_as_if_nothing_had_happened(self) -> None:
        learner, events = self._lived([0, 1])
        half = len(events) // 2
        restored, _ = self._lived([0, 1])  # a restore forgets whatever was there
        restored.restore(self._replayed([0, 1], events[:half]).snapshot())
        life = self._life([0, 1])
        for event in events[half:]:
            if isinstance(event, Duel):
                np.testing.assert_array_equal(restored.choose(life.candidates(event.round)).arms, event.arms)
            apply(restored, event)
        assert_same_state(learner.snapshot(), restored.snapshot())

    def test_a_snapshot_stays_as_it_was(self) -> None:
        learner, events = self._lived([0, 1])
        state = learner.snapshot()
        learner.serve(learner.choose(self._life([0, 1]).candidates(self.rounds)))
        late = [round for round in range(self.rounds) if _waits(events, 0, round)]
        learner.tell(Votes(np.zeros(len(late), np.int64), np.array(late, np.int64), np.ones(len(late))))
        assert_same_state(state, self._replayed([0, 1], events).snapshot())

    def test_a_second_context_or_vote_is_refused(self) -> None:
        learner, events = self._lived([0, 1])
        before = learner.snapshot()
        for event in events:
            if isinstance(event, Contexts | Votes) and len(event.run):
                assert _refuses(learner, event), f"{type(event).__name__} was taken twice"
        assert_same_state(before, learner.snapshot())

    def test_what_is_forgotten_waits_no_more(self) -> None:
        learner = self.make([0, 1])
        life = self._life([0, 1])
        learner.serve(learner.choose(life.candidates(0)))
        learner.forget(1, 0)
        vote = Votes(np.array([1]), np.array([0]), np.array([1.0]))
        before = learner.snapshot()
        assert _refuses(learner, vote), "a vote was taken for a forgotten duel"
        assert_same_state(before, learner.snapshot())
        learner.tell(vote._replace(run=np.array([0])))

    def _life(self, runs: Sequence[int], candidates: int | None = None) -> Life:
        return Life(
            runs,
            candidates=candidates or self.candidates,
            context_dim=self.context_dim,
            post_dim=self.post_dim,
        )

    def _lived(self, runs: Sequence[int]) -> tuple[FittedLearner, list[Event]]:
        learner = self.make(runs)
        return learner, live(learner, self._life(runs), rounds=self.rounds)

    def _replayed(self, runs: Sequence[int], events: Sequence[Event]) -> FittedLearner:
        learner = self.make(runs)
        for event in events:
            apply(learner, event)
        return learner


class OrderFreeConformance(LearnerConformance):
    """A learner whose estimate is the same in whatever order votes arrive: the full MLE on fixed weights."""

    order_tolerance: float = 1e-5  # the solver stops at a gradient of 1e-6

    def test_the_order_of_arrival_does_not_matter(self) -> None:
        _, events = self._lived([0, 1])
        told = [event for event in events if isinstance(event, Votes)]
        quiet = [event for event in events if not isinstance(event, Votes)]
        forwards = self._replayed([0, 1], [*quiet, *told])
        backwards = self._replayed([0, 1], [*quiet, *reversed(told)])
        at_once = self._replayed([0, 1], [*quiet, _together(told)])
        for other in (backwards, at_once):
            np.testing.assert_allclose(forwards.theta, other.theta, rtol=0, atol=self.order_tolerance)


class SelectionConformance(LearnerConformance):
    """Inherit, and set `rule`."""

    rule: Selection

    def make(self, runs: Sequence[int]) -> DuelingLearner:
        return self._learner(runs, distinct_pair=False)

    def test_distinct_pairs_are_distinct(self) -> None:
        for candidates in (2, 7):
            learner = self._learner([0, 1], distinct_pair=True)
            for event in live(learner, self._life([0, 1], candidates), rounds=self.rounds):
                if isinstance(event, Duel):
                    assert (event.arms[:, 0] != event.arms[:, 1]).all()

    def _learner(self, runs: Sequence[int], *, distinct_pair: bool) -> DuelingLearner:
        return DuelingLearner(
            runs=runs, context_dim=self.context_dim, post_dim=self.post_dim, select=self.rule,
            weigh=ServedLeverage(clip=0.3), estimate=FullMLE(), post_serving=Ridge(),
            width=ConstantWidth(value=0.5), distinct_pair=distinct_pair,
        )  # fmt: skip


class PostServingConformance:
    """Inherit, and set `model`. Predictions of a batch and of one run alone agree to `tolerance`."""

    model: PostServing
    context_dim: int = 3
    post_dim: int = 2
    rounds: int = 25
    tolerance: float = 1e-9

    def test_predictions_are_finite_from_the_start(self) -> None:
        state, x = self._start([0, 1]), self._x([0, 1])
        assert state.post_dim == self.post_dim
        assert state.predict(x).shape == (2, 5, self.post_dim)
        assert np.isfinite(state.predict(x)).all()
        assert np.isfinite(self._taught([0, 1]).predict(x)).all()

    def test_predicting_changes_nothing(self) -> None:
        state, x = self._taught([0, 1]), self._x([0, 1])
        before, given = _copy(state.snapshot()), x.copy()
        first = state.predict(x).copy()
        np.testing.assert_array_equal(first, state.predict(x), err_msg="predicting twice gave two answers")
        np.testing.assert_array_equal(x, given, err_msg="the candidates were changed")
        assert_same_state(before, state.snapshot())

    def test_a_batch_is_its_runs_alone(self) -> None:
        runs = [4, 0, 4]
        together, x = self._taught(runs).predict(self._x(runs)), self._x(runs)
        for row, run in enumerate(runs):
            alone = self._taught([run]).predict(x[row : row + 1])
            np.testing.assert_allclose(together[row], alone[0], rtol=0, atol=self.tolerance)

    def test_one_run_learns_nothing_from_another(self) -> None:
        state, x = self._taught([0, 1]), self._x([0, 1])
        before = state.predict(x).copy()
        life = self._life([0, 1])
        pair = life.candidates(self.rounds)[1:, :2]
        state.learn(np.array([1]), pair, life.after(pair))
        np.testing.assert_array_equal(state.predict(x)[0], before[0])

    def test_learning_again_gives_the_same_floats(self) -> None:
        assert_same_state(self._taught([0, 1]).snapshot(), self._taught([0, 1]).snapshot())

    def test_a_restored_model_goes_on_as_if_nothing_had_happened(self) -> None:
        restored = self._taught([0, 1])
        restored.restore(_copy(self._taught([0, 1], until=9).snapshot()))
        self._teach(restored, [0, 1], 9, self.rounds)
        np.testing.assert_array_equal(
            restored.predict(self._x([0, 1])), self._taught([0, 1]).predict(self._x([0, 1]))
        )

    def _life(self, runs: Sequence[int]) -> Life:
        return Life(runs, candidates=5, context_dim=self.context_dim, post_dim=self.post_dim)

    def _x(self, runs: Sequence[int]) -> Array:
        return self._life(runs).candidates(self.rounds)

    def _start(self, runs: Sequence[int]) -> PostServingModel:
        return self.model.start(runs=runs, context_dim=self.context_dim, post_dim=self.post_dim, seed=3)

    def _teach(self, state: PostServingModel, runs: Sequence[int], start: int, until: int) -> None:
        life = self._life(runs)
        for round in range(start, until):
            pairs = life.candidates(round)[:, :2]
            state.learn(np.arange(len(runs)), pairs, life.after(pairs))

    def _taught(self, runs: Sequence[int], until: int | None = None) -> PostServingModel:
        state = self._start(runs)
        self._teach(state, runs, 0, until or self.rounds)
        return state


def _together(told: Sequence[Votes]) -> Votes:
    """The same votes in one call."""
    run, round, outcome = (
        np.concatenate(parts) for parts in zip(*(votes[:3] for votes in told), strict=True)
    )
    return Votes(run, round, outcome)


def _refuses(learner: Learner, event: Event) -> bool:
    """Whether the event is refused with an error of this package."""
    try:
        apply(learner, event)
    except DuelwiseError:
        return True
    return False


def _waits(events: Sequence[Event], run: int, round: int) -> bool:
    """Whether no vote for this duel was told."""
    told = (event for event in events if isinstance(event, Votes))
    return not any(((event.run == run) & (event.round == round)).any() for event in told)


def _copy(state: Snapshot) -> Snapshot:
    return {name: value.copy() for name, value in state.items()}

"""Contexts that come late, in part or never: what the learner hears, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

from duelwise.errors import InvalidInput
from duelwise.lab.play.contexts import ContextsAtOnce, LateContexts
from duelwise.lab.play.delays import UNLIMITED, ConstantDelay, GaussianDelay, StrategicDelay, TogetherDelay
from duelwise.learning.learner_protocol import Learner
from duelwise.randomness import BLOCK
from duelwise.types import Array, Contexts, IntArray, Served


class Listening:
    """A learner of two runs that says what it hears; it waits for every context until it has it."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int, int, list[float]]] = []  # what, run, round and y of the first side
        self.has: set[tuple[int, int]] = set()
        self.first = 0

    def observe(self, contexts: Contexts) -> None:
        run, round = int(contexts.run[0]), int(contexts.round[0])
        self.has.add((run, round))
        self.heard.append(("imputed" if contexts.imputed else "seen", run, round, contexts.y[0, 0].tolist()))

    def teach(self, run: IntArray, x: Array, y: Array) -> None:
        self.heard.append(("taught", int(run[0]), int(x[0, 0, 0]), y[0, 0].tolist()))

    def waits_for_context(self, run: int, round: int) -> bool:
        return round >= self.first and (run, round) not in self.has

    def expected_context(self, run: int, round: int) -> Array:
        return np.full((2, 1), -1.0)


def hear(settings: LateContexts, rounds: int, runs: int = 1) -> list[list[tuple[str, int, int, list[float]]]]:
    """What comes in each round; x and y are the number of the round they were served in."""
    flight = settings.start(runs=range(runs), seed=3, context_dim=1, post_dim=1)
    learner, heard = Listening(), list[list[tuple[str, int, int, list[float]]]]()
    for t in range(rounds):
        learner.heard = []
        values = np.full((runs, 2, 1), float(t))
        flight.bring(t, cast("Learner", learner), values, values)
        heard.append(learner.heard)
    return heard


def test_a_context_comes_so_many_rounds_after_its_duel() -> None:
    heard = hear(LateContexts(delay=ConstantDelay(rounds=2), deadline=None), 5, runs=2)
    assert heard[:2] == [[], []]
    assert heard[2] == [("seen", 0, 0, [0.0]), ("seen", 1, 0, [0.0])]
    assert heard[4] == [("seen", 0, 2, [2.0]), ("seen", 1, 2, [2.0])]


def test_several_that_are_due_come_in_the_order_of_serving() -> None:
    heard = hear(LateContexts(delay=TogetherDelay(size=3), deadline=None), 6)
    assert [len(each) for each in heard] == [0, 0, 3, 0, 0, 3]
    assert [round for _, _, round, _ in heard[5]] == [3, 4, 5]


def test_what_is_not_known_by_the_deadline_is_imputed_and_teaches_when_it_comes() -> None:
    heard = hear(LateContexts(delay=ConstantDelay(rounds=3), deadline=2), 5)
    assert heard[:2] == [[], []]
    assert heard[2] == [("imputed", 0, 0, [-1.0])]
    assert heard[3] == [("taught", 0, 0, [0.0]), ("imputed", 0, 1, [-1.0])]
    in_time = hear(LateContexts(delay=ConstantDelay(rounds=2), deadline=2), 3)
    assert in_time[2] == [("seen", 0, 0, [0.0])]


def test_more_are_on_their_way_than_a_block_has_rounds() -> None:
    late = BLOCK + 10
    heard = hear(LateContexts(delay=ConstantDelay(rounds=late), deadline=None), late + BLOCK)
    assert not any(heard[:late])
    assert [each[0][2:] for each in heard[late:]] == [(t, [float(t)]) for t in range(BLOCK)]


def test_contexts_are_not_late_with_the_votes_own_draws() -> None:
    delay = GaussianDelay(mean=20, std=10)
    late = LateContexts(delay=delay).start(runs=[0, 4], seed=3, context_dim=1, post_dim=1).compiled(0, 2)
    started: list[Any] = [delay.start(runs=[0, 4], seed=seed) for seed in (3, 4)]
    own, other = (one.compiled(0, 2).rounds for one in started)
    np.testing.assert_array_equal(late.rounds, other)
    assert (late.rounds != own).any()


@pytest.mark.parametrize(
    ("sides", "values", "share"), [(0.0, 0.0, 0.0), (1.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.3, 0.2, 0.44)]
)
def test_sides_are_missing_whole_and_values_one_by_one(sides: float, values: float, share: float) -> None:
    settings = LateContexts(missing_sides=sides, missing_values=values)
    flight = settings.start(runs=range(20), seed=0, context_dim=1, post_dim=3)
    hidden = flight.compiled(0, 20).hidden
    assert hidden.shape == (BLOCK, 20, 2, 3)
    assert hidden.mean() == pytest.approx(share, abs=0.01)
    whole = hidden.all(axis=3).mean()
    assert whole == pytest.approx(sides + (1 - sides) * values**3, abs=0.01)
    assert flight.loses_values == (values > 0)


def test_hidden_values_never_come() -> None:
    heard = hear(LateContexts(missing_values=1.0, deadline=1), 2)
    assert heard[0][0][:3] == ("seen", 0, 0)
    assert np.isnan(heard[0][0][3]).all()


def test_at_once_is_at_once() -> None:
    learner = Listening()
    flight = ContextsAtOnce().start(runs=[0], seed=0, context_dim=1, post_dim=1)
    flight.bring(7, cast("Learner", learner), np.full((1, 2, 1), 7.0), np.full((1, 2, 1), 5.0))
    assert learner.heard == [("seen", 0, 7, [5.0])]


class InPython:
    """A delay of one's own, for votes in the plain loop."""

    budget = UNLIMITED

    def start(self, *, runs: Sequence[int], seed: int) -> InPython:
        return self

    def rounds(self, t: int, served: Served, utility: Array) -> IntArray:
        return np.full(len(utility), 5)


def test_a_delay_that_is_known_round_by_round_only_is_for_votes() -> None:
    with pytest.raises(InvalidInput, match="as a DelayTable says"):
        LateContexts(delay=InPython())


def test_what_no_context_can_be_is_refused() -> None:
    LateContexts(deadline=0, missing_sides=1.0, missing_values=1.0)
    for wrong in ({"missing_sides": 1.1}, {"missing_values": -0.1}, {"deadline": -1}, {"deadline": 2**63}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            LateContexts(**wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match="strategic delay looks at utilities"):
        LateContexts(delay=StrategicDelay(budget=10))

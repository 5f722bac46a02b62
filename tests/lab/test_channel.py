import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duelwise import LinearWorld, Trajectory, play, rcdb, simulate
from duelwise.errors import InvalidInput
from duelwise.lab.play.channel import Channel
from duelwise.lab.play.corruptions import (
    CorruptionModel,
    LateCorruption,
    LeverageCorruption,
    LyingRaters,
    NoCorruption,
    RandomCorruption,
    StrategicCorruption,
)
from duelwise.lab.play.delays import (
    UNLIMITED,
    BlindPhase,
    ConstantDelay,
    DelayModel,
    GaussianDelay,
    GeometricDelay,
    NoDelay,
    ParetoDelay,
    StrategicDelay,
    TogetherDelay,
)
from duelwise.randomness import BLOCK, RoundDraws
from duelwise.types import Array, BoolArray, IntArray, Served


def open_channel(
    delay: DelayModel, corruption: CorruptionModel, runs: Sequence[int], seed: int = 0
) -> Channel:
    return Channel(
        runs=len(runs),
        corruptions=corruption.start(runs=runs, seed=seed),
        corruption_budget=corruption.budget,
        delays=delay.start(runs=runs, seed=seed),
        delay_budget=delay.budget,
    )


def served(t: int, arms: IntArray, leverage: float = 1.0) -> Served:
    runs = len(arms)
    return Served(
        t, arms, np.zeros((runs, 1)), np.ones(runs), np.full(runs, leverage), np.ones(runs, np.int64)
    )


def draw_round(rng: np.random.Generator, runs: int) -> tuple[IntArray, Array, Array]:
    """Random arms (self-duels among them), outcomes (ties among them) and utilities of three arms."""
    return rng.integers(0, 3, (runs, 2)), rng.integers(0, 3, runs) / 2, rng.standard_normal((runs, 3))


def test_votes_that_come_together_come_with_the_last_of_them() -> None:
    delays: Any = TogetherDelay(size=3).start(runs=[0, 1], seed=0)
    told = [delays.rounds(t, served(t, np.zeros((2, 2), np.int64)), np.zeros((2, 3))) for t in range(7)]
    assert np.array(told)[:, 0].tolist() == [2, 1, 0, 2, 1, 0, 2]
    begin = 3 * BLOCK
    table = delays.compiled(begin, 2).rounds
    assert table[:4].tolist() == [[2 - t % 3] * 2 for t in range(begin, begin + 4)]
    with pytest.raises(InvalidInput, match="size"):
        TogetherDelay(size=0)
    at_once: Any = TogetherDelay(size=1).start(runs=[0], seed=0)
    assert at_once.compiled(0, 1).rounds.max() == 0


def test_the_votes_of_a_share_of_the_raters_are_turned_round() -> None:
    lying = LyingRaters(raters=5, liars=0.4).start(runs=[0, 1], seed=2)
    sources = RoundDraws(2, "raters", [0, 1], lambda generator, n: generator.integers(5, size=n)).block(0)
    assert set(sources.ravel().tolist()) == set(range(5))
    duel = served(0, np.zeros((2, 2), np.int64))
    flips = np.array([lying.flips(t, duel, np.ones(2), np.zeros((2, 3))) for t in range(BLOCK)])
    np.testing.assert_array_equal(flips, sources < 2)
    for wrong in ({"raters": 0}, {"liars": 1.1}, {"liars": -0.1}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            LyingRaters(**wrong)  # pyright: ignore[reportArgumentType]


budgets = st.integers(0, 60)
delay_models = st.one_of(
    st.just(NoDelay()),
    st.builds(ConstantDelay, rounds=st.integers(0, 9)),
    st.builds(GaussianDelay, mean=st.floats(0, 9), std=st.floats(0, 9)),
    st.builds(GeometricDelay, mean=st.floats(0, 9)),
    st.builds(ParetoDelay, mean=st.floats(0, 9), shape=st.floats(1.01, 4)),
    st.builds(StrategicDelay, budget=budgets),
    st.builds(BlindPhase, budget=budgets),
)
corruption_models = st.one_of(
    st.just(NoCorruption()),
    st.builds(StrategicCorruption, budget=budgets),
    st.builds(LateCorruption, budget=budgets, start_round=st.integers(0, 40)),
    st.builds(LeverageCorruption, budget=budgets, threshold=st.floats(0, 2)),
    st.builds(RandomCorruption, budget=budgets, probability=st.floats(0, 1)),
)


@settings(max_examples=60, deadline=None)
@given(delay_models, corruption_models, st.integers(1, 4), st.integers(0, 99))
def test_every_vote_arrives_once_in_order_within_budget(
    delay: DelayModel, corruption: CorruptionModel, runs: int, seed: int
) -> None:
    """Budgets hold, votes come once, at their time, in serving order, and what differs was paid for."""
    rng, rounds = np.random.default_rng(seed), 80
    channel = open_channel(delay, corruption, range(runs), seed)
    sent = np.empty((rounds, runs))
    flips, waited = np.zeros(runs, np.int64), np.zeros(runs, np.int64)
    seen: set[tuple[int, int]] = set()
    for t in range(rounds):
        arms, outcome, utility = draw_round(rng, runs)
        sent[t] = outcome
        channel.send(t, served(t, arms), outcome, utility)
        votes = channel.arrivals(t)
        for r in range(runs):
            assert np.all(np.diff(votes.round[votes.run == r]) > 0)
        for run, round, told in zip(*votes[:3], strict=True):
            assert (run, round) not in seen
            seen.add((run, round))
            waited[run] += t - round
            if told != sent[round, run]:
                assert told == 1 - sent[round, run]
                assert round == t
                flips[run] += 1
    assert len(seen) + channel.in_flight == rounds * runs
    np.testing.assert_array_equal(flips, channel.flips_spent)
    assert np.all(flips <= corruption.budget)
    assert np.all(waited <= channel.delay_spent)
    assert np.all(channel.delay_spent <= delay.budget)
    if isinstance(delay, NoDelay | StrategicDelay | BlindPhase | ConstantDelay):
        channel.arrivals(rounds + 100)
        assert channel.in_flight == 0


def test_a_delay_of_tau_is_told_at_the_end_of_round_t_plus_tau() -> None:
    channel = open_channel(ConstantDelay(rounds=2), NoCorruption(), [0])
    arms, outcome, utility = np.array([[0, 1]]), np.ones(1), np.array([[1.0, 0.0]])
    for t in range(4):
        channel.send(t, served(t, arms), outcome, utility)
        assert list(channel.arrivals(t).round) == ([t - 2] if t >= 2 else [])


def test_a_corrupted_vote_is_delivered_at_once_and_costs_no_delay() -> None:
    channel = open_channel(StrategicDelay(budget=9), StrategicCorruption(budget=1), [0, 1])
    arms, utility = np.array([[0, 1], [0, 1]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    channel.send(0, served(0, arms), np.array([1.0, 0.0]), utility)  # only run 0's vote favours the better
    votes = channel.arrivals(0)
    assert (list(votes.run), list(votes.outcome)) == ([0], [0.0])
    np.testing.assert_array_equal(channel.delay_spent, [0, 3])
    np.testing.assert_array_equal(channel.flips_spent, [1, 0])


def test_strategic_corruption_flips_the_first_correct_votes_only() -> None:
    rng, budget = np.random.default_rng(1), 5
    channel = open_channel(NoDelay(), StrategicCorruption(budget=budget), [0])
    left = budget
    for t in range(60):
        arms, outcome, utility = draw_round(rng, 1)
        channel.send(t, served(t, arms), outcome, utility)
        a, b = utility[0, arms[0]]
        lie = left > 0 and ((outcome[0] == 1 and a > b) or (outcome[0] == 0 and a < b))
        left -= lie
        assert channel.arrivals(t).outcome[0] == (1 - outcome[0] if lie else outcome[0])
    assert left == 0


def test_late_and_leverage_corruption_wait_for_their_moment() -> None:
    arms, utility = np.array([[0, 1]]), np.array([[1.0, 0.0]])
    late = LateCorruption(budget=9, start_round=3).start(runs=[0], seed=0)
    assert [bool(late.flips(t, served(t, arms), np.ones(1), utility)[0]) for t in range(5)] == [
        False, False, False, True, True,
    ]  # fmt: skip
    aimed = LeverageCorruption(budget=9, threshold=0.8).start(runs=[0], seed=0)
    assert not aimed.flips(0, served(0, arms, leverage=0.7), np.ones(1), utility)[0]
    assert aimed.flips(0, served(0, arms, leverage=0.9), np.ones(1), utility)[0]
    assert not aimed.flips(0, served(0, arms, leverage=0.9), np.zeros(1), utility)[0]


def test_strategic_delay_spends_its_budget_on_good_arms() -> None:
    channel = open_channel(StrategicDelay(budget=10), NoCorruption(), [0])
    arms, spent = np.array([[0, 1]]), []
    for t, best in enumerate([1.0, -1.0, 1.0, 1.0, 1.0, 1.0]):
        channel.send(t, served(t, arms), np.ones(1), np.array([[best, -2.0]]))
        spent.append(int(channel.delay_spent[0]))
    assert spent == [3, 3, 6, 9, 10, 10]  # ⌊√10⌋ = 3 at a time, then the one that is left


@pytest.mark.parametrize("budget", [0, 1, 2, 3, 9, 10, 10_000])
def test_blind_phase_is_the_longest_the_budget_buys(budget: int) -> None:
    model = BlindPhase(budget=budget)
    phase = model.length
    assert phase == math.floor((math.sqrt(1 + 8 * budget) - 1) / 2)
    delays = model.start(runs=[0], seed=0)
    wanted = [
        int(delays.rounds(t, served(t, np.zeros((1, 2), np.int64)), np.zeros((1, 2)))[0]) for t in range(200)
    ]
    assert wanted == [max(0, phase - t) for t in range(200)]  # τ_t = M - t + 1 with t from 1
    assert sum(wanted) <= budget < sum(wanted) + phase + 1


def drawn(model: DelayModel, runs: int = 40, rounds: int = 1000, seed: int = 0) -> IntArray:
    started = model.start(runs=range(runs), seed=seed)
    arms, utility = np.zeros((runs, 2), np.int64), np.zeros((runs, 2))
    return np.stack([started.rounds(t, served(t, arms), utility) for t in range(rounds)])


def test_random_delays_follow_their_laws() -> None:
    assert drawn(GaussianDelay(mean=100, std=100)).mean() == pytest.approx(108.3, rel=0.01)  # clipped at 0
    assert drawn(GeometricDelay(mean=7)).mean() == pytest.approx(7.0, rel=0.03)
    assert np.mean(drawn(GeometricDelay(mean=7)) == 0) == pytest.approx(1 / 8, abs=0.01)
    pareto = drawn(ParetoDelay(mean=20, shape=3))
    assert pareto.mean() == pytest.approx(20, rel=0.05)
    assert np.mean(pareto > 120) == pytest.approx(4.0**-3, rel=0.15)
    assert drawn(ParetoDelay(mean=1e9, shape=1.0001)).min() >= 0
    np.testing.assert_array_equal(drawn(GaussianDelay(mean=5, std=0), runs=2, rounds=9), 5)


NEVER = [
    ConstantDelay(rounds=sys.maxsize), GeometricDelay(mean=1e17), GeometricDelay(mean=1e308),
    GaussianDelay(mean=1e308, std=0.0), ParetoDelay(mean=1e308, shape=50.0), TogetherDelay(size=sys.maxsize),
]  # fmt: skip


@pytest.mark.parametrize("loop", [play, simulate])
@pytest.mark.parametrize("delay", NEVER, ids=repr)
def test_a_vote_that_never_comes_never_comes(delay: DelayModel, loop: Callable[..., Trajectory]) -> None:
    """The sum of such delays is no budget that runs out, after which votes would come at once."""
    scenario = LinearWorld(runs=2, context_dim=2, arms=3).with_delay(delay)
    assert loop(rcdb(runs=2, context_dim=2), scenario, horizon=40).told.tolist() == [0, 0]


@pytest.mark.parametrize("loop", [play, simulate])
def test_the_largest_budgets_are_never_spent(loop: Callable[..., Trajectory]) -> None:
    scenario = LinearWorld(runs=2, context_dim=2, arms=3).with_delay(StrategicDelay(budget=sys.maxsize))
    lied = scenario.with_corruption(StrategicCorruption(budget=sys.maxsize))
    played = loop(rcdb(runs=2, context_dim=2), lied, horizon=40)
    assert played.delay_spent.min() > 2**31
    assert played.flips_spent.min() > 5


def test_repeated_runs_meet_the_same_delays() -> None:
    started = GaussianDelay(mean=50, std=30).start(runs=[3, 0, 3], seed=1)
    delays = np.stack(
        [started.rounds(t, served(t, np.zeros((3, 2), np.int64)), np.zeros((3, 2))) for t in range(99)]
    )
    np.testing.assert_array_equal(delays[:, 0], delays[:, 2])
    assert np.any(delays[:, 0] != delays[:, 1])


def test_random_corruption_strikes_at_its_rate() -> None:
    channel = open_channel(NoDelay(), RandomCorruption(budget=10**6, probability=0.2), range(50))
    arms, utility = np.zeros((50, 2), np.int64), np.zeros((50, 2))
    for t in range(200):
        channel.send(t, served(t, arms), np.ones(50), utility)
    assert channel.flips_spent.mean() == pytest.approx(40, rel=0.1)


@dataclass(frozen=True)
class Greedy:
    """A user's own adversary that always asks for too much, or for nonsense."""

    budget: int = 7
    wanted: int = 5
    size: int = 1

    def start(self, *, runs: Sequence[int], seed: int) -> "Greedy":
        return self

    def rounds(self, t: int, served: Served, utility: Array) -> IntArray:
        return np.full(self.size, self.wanted)

    def flips(self, t: int, served: Served, outcome: Array, utility: Array) -> BoolArray:
        return np.ones(self.size, np.bool_)


def test_a_users_own_adversary_cannot_overspend_either() -> None:
    late, liar = open_channel(Greedy(), NoCorruption(), [0]), open_channel(NoDelay(), Greedy(), [0])
    for t in range(20):
        for channel in (late, liar):
            channel.send(t, served(t, np.array([[0, 1]])), np.ones(1), np.zeros((1, 2)))
    assert late.delay_spent[0] == 7
    assert liar.flips_spent[0] == 7


@pytest.mark.parametrize("wrong", [Greedy(wanted=-1), Greedy(size=2)])
def test_nonsense_from_a_users_own_adversary_changes_nothing(wrong: Greedy) -> None:
    channel = open_channel(wrong, NoCorruption(), [0])
    with pytest.raises(InvalidInput, match="Expected"):
        channel.send(0, served(0, np.array([[0, 1]])), np.ones(1), np.zeros((1, 2)))
    assert channel.in_flight == 0
    assert channel.delay_spent[0] == 0


@pytest.mark.parametrize(
    ("model", "wrong"),
    [
        (StrategicDelay, {"budget": -1}),
        (StrategicDelay, {"budget": 2.5}),
        (StrategicDelay, {"budget": 2**70}),
        (StrategicCorruption, {"budget": 2**70}),
        (LateCorruption, {"budget": 1, "start_round": 2**70}),
        (ConstantDelay, {"rounds": 99999999999999999999}),
        (TogetherDelay, {"size": 2**70}),
        (BlindPhase, {"budget": 2**70}),
        (BlindPhase, {"budget": -1}),
        (ConstantDelay, {"rounds": -1}),
        (GaussianDelay, {"mean": float("nan"), "std": 1.0}),
        (GaussianDelay, {"mean": 1.0, "std": -1.0}),
        (GeometricDelay, {"mean": -1.0}),
        (ParetoDelay, {"mean": 1.0, "shape": 1.0}),
        (ParetoDelay, {"mean": 1.0, "shape": float("inf")}),
        (StrategicCorruption, {"budget": -1}),
        (StrategicCorruption, {"budget": True}),
        (LateCorruption, {"budget": 1, "start_round": -1}),
        (LeverageCorruption, {"budget": 1, "threshold": float("nan")}),
        (RandomCorruption, {"budget": 1, "probability": 1.5}),
    ],
)
def test_bad_settings_are_refused(model: type, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="Expected"):
        model(**wrong)


def test_unlimited_is_more_than_anything_can_spend() -> None:
    assert NoDelay().budget == UNLIMITED
    assert UNLIMITED > 2**60


@pytest.mark.parametrize("votes", [np.zeros((2, 1)), 1.0, [0.0, 1.0, 1.0]])
def test_votes_of_another_shape_are_refused_in_words(votes: Array) -> None:
    """As a world of one's own may give them."""
    channel = open_channel(NoDelay(), StrategicCorruption(budget=1), range(2))
    with pytest.raises(InvalidInput, match=r"The votes of the world have shape .* Expected \(2,\)"):
        channel.send(0, served(0, np.zeros((2, 2), int)), votes, np.zeros((2, 3)))

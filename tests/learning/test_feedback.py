"""Feedback as it comes: contexts late, in parts or imputed, many votes for a duel, parallel asks."""

import itertools
from typing import Unpack, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duelwise.errors import AlreadyTold, DuelwiseError
from duelwise.learning.estimation import FullMLE
from duelwise.learning.estimation.full_mle import MaximumLikelihood, VoteHistory
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.learner_protocol import NOTHING, Learned, joined
from duelwise.learning.recipes import Options, Tuning, live, rcdp_ucb, steady
from duelwise.learning.weighting import Uniform
from duelwise.testing.life import assert_same_state
from duelwise.types import Array, Contexts, Duel, Votes

NAN = np.nan
EXACT = FullMLE(tolerance=1e-12)


def learner(**options: Unpack[Tuning]) -> DuelingLearner:
    given = {"context_dim": 2, "post_dim": 2, "post_serving": "ridge", "estimate": EXACT, "clip": 0.5}
    return rcdp_ucb(**cast("Options", {**given, **options}))


def history_of(learner: DuelingLearner) -> VoteHistory:
    estimate = learner.estimate
    assert isinstance(estimate, MaximumLikelihood)
    return estimate.history


def serve(learner: DuelingLearner, x: Array, wanted: int = 1) -> None:
    predicted = learner.post_serving.predict(x[None])
    learner.serve(Duel(learner.round, np.array([[0, 1]]), x[None], predicted, wanted=wanted))


def observe(learner: DuelingLearner, round: int, y: Array, *, imputed: bool = False) -> None:
    learner.observe(Contexts(np.array([0]), np.array([round]), y[None], imputed))


def tell(learner: DuelingLearner, round: int, outcome: float) -> None:
    learner.tell(Votes(np.array([0]), np.array([round]), np.array([outcome])))


def gradient(theta: Array, rows: list[tuple[Array, float, float]]) -> Array:
    """The left side of the estimating equation, written out."""
    total = theta.copy()
    for dz, weight, outcome in rows:
        total += weight * (1 / (1 + np.exp(-theta @ dz)) - outcome) * dz
    return total


def drawn(rounds: int, seed: int = 3) -> tuple[Array, Array, Array]:
    random = np.random.default_rng(seed)
    x = random.standard_normal((rounds, 2, 2))
    y = np.sin(x) + 0.1 * random.standard_normal((rounds, 2, 2))
    return x, y, random.integers(0, 3, rounds) / 2.0


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_any_order_of_parts_and_votes_gives_the_full_mle_of_all_at_once(seed: int) -> None:
    """ω is fixed where V is, so the duels are completed in one order; everything else may come anyhow."""
    random, (x, y, votes) = np.random.default_rng(seed), drawn(8)
    whole, parts = learner(weigh=Uniform()), learner(weigh=Uniform())
    for t in range(8):
        for one in (whole, parts):
            serve(one, x[t])
    for t in range(8):
        observe(whole, t, y[t])
        tell(whole, t, votes[t])
    pieces: list[tuple[int, Array | float]] = [(t, float(votes[t])) for t in range(8)]
    for t in range(8):
        split = random.integers(0, 3, (2, 2))
        for number in np.unique(split):
            pieces.append((t, np.where(split == number, y[t], NAN)))
    for at in random.permutation(len(pieces)):
        t, piece = pieces[at]
        if isinstance(piece, float):
            tell(parts, t, piece)
        else:
            observe(parts, t, piece)
    np.testing.assert_allclose(parts.theta, whole.theta, atol=1e-9)
    np.testing.assert_allclose(parts.served_geometry.matrix, whole.served_geometry.matrix, atol=1e-9)
    np.testing.assert_allclose(parts.arrived_geometry.matrix, whole.arrived_geometry.matrix, atol=1e-9)


def test_a_vote_teaches_before_its_context_and_is_put_right_by_it() -> None:
    x, y, _ = drawn(3)
    one = learner()
    for t in range(3):
        serve(one, x[t])
    observe(one, 0, y[0])
    tell(one, 0, 1.0)
    tell(one, 1, 1.0)  # its y is not known
    predicted = one.pending.dz[0, one.pending.slot_of[0, 1]].copy()
    held = history_of(one)
    assert held.held[0] == 2
    rows = [(held.z[0, :, i], float(held.weight[0, i]), 1.0) for i in range(2)]
    np.testing.assert_array_equal(rows[1][0], predicted)
    np.testing.assert_allclose(gradient(one.theta[0], rows), 0.0, atol=1e-9)
    observe(one, 1, y[1])
    assert held.held[0] == 2
    dz = np.concatenate([x[1, 0] - x[1, 1], y[1, 0] - y[1, 1]])
    np.testing.assert_allclose(held.z[0, :, 1], dz)
    rows = [(held.z[0, :, i], float(held.weight[0, i]), 1.0) for i in range(2)]
    np.testing.assert_allclose(gradient(one.theta[0], rows), 0.0, atol=1e-9)


def test_without_history_a_vote_waits_for_its_context_or_the_imputed_one() -> None:
    x, y, _ = drawn(2)
    one = learner(estimate="one-pass")
    serve(one, x[0])
    tell(one, 0, 1.0)
    assert one.votes[0] == 0
    observe(one, 0, np.array([[y[0, 0, 0], NAN], [NAN, NAN]]))
    assert one.votes[0] == 0
    missing = one.expected_context(0, 0)
    np.testing.assert_array_equal(np.isnan(missing), [[True, False], [False, False]])
    before = one.post_serving.snapshot()
    observe(one, 0, missing, imputed=True)
    assert one.votes[0] == 1
    for name, value in one.post_serving.snapshot().items():  # nobody saw it, so φ̂ learns nothing
        np.testing.assert_array_equal(value, before[name])


def test_a_known_value_is_not_taken_twice_and_nothing_changes() -> None:
    x, y, _ = drawn(1)
    one = learner()
    serve(one, x[0])
    observe(one, 0, np.array([[y[0, 0, 0], NAN], [NAN, NAN]]))
    before = one.snapshot()
    with pytest.raises(AlreadyTold, match="already has this context"):
        observe(one, 0, y[0])
    assert_same_state(before, one.snapshot())


@pytest.mark.parametrize("estimate", ["full-mle", "one-pass", "proximal"])
def test_many_votes_on_one_duel_count_each(estimate: str) -> None:
    x, y, _ = drawn(4)
    one = learner(estimate=EXACT if estimate == "full-mle" else estimate)
    for t in range(4):
        serve(one, x[t], wanted=3)
        observe(one, t, y[t])
    assert one.pending.out[0] == 12
    for t, outcomes in enumerate([(1.0, 1.0, 0.0), (0.0, 0.5, 0.0), (1.0,), (1.0, 1.0, 1.0)]):
        for outcome in outcomes:
            tell(one, t, outcome)
    assert one.votes[0] == 10
    assert one.pending.out[0] == 2
    with pytest.raises(Exception, match="waits for nothing"):
        tell(one, 3, 1.0)
    if estimate == "full-mle":
        held = history_of(one)
        assert held.votes[0, :4].tolist() == [3.0, 3.0, 1.0, 3.0]
        rows = [(held.z[0, :, i], float(held.weight[0, i]), float(held.outcome[0, i])) for i in range(4)]
        np.testing.assert_allclose(gradient(one.theta[0], rows), 0.0, atol=1e-9)
        assert held.outcome[0, 0] == pytest.approx(2 / 3)


def test_votes_that_come_before_the_context_count_alike_in_the_end() -> None:
    """ω moves with V until y is known; then all votes on the duel share one."""
    x, y, _ = drawn(4)
    early, late = learner(clip=0.05), learner(clip=0.05)
    for one in (early, late):
        for t in range(4):
            serve(one, x[t], wanted=3)
    for t, outcome in enumerate((0.0, 1.0, 1.0)):
        tell(early, 3, outcome)
        for one in (early, late):
            observe(one, t, y[t])
    for one in (early, late):
        observe(one, 3, y[3])
    for outcome in (1.0, 0.0, 1.0):
        tell(late, 3, outcome)
    assert history_of(early).outcome[0, 0] == pytest.approx(2 / 3)
    np.testing.assert_allclose(early.theta, late.theta, atol=1e-9)


def test_a_vote_on_a_duel_that_an_audit_believes_counts_as_those_before_it() -> None:
    """The next audit counts all of them fully; the mean of what they say must not keep the ramp's shares."""
    x, y, _ = drawn(4)
    one = steady(
        context_dim=2, post_dim=2, post_serving="ridge", estimate=EXACT, corruption_budget=1, distrust_votes=0
    )
    for t in range(4):
        serve(one, x[t], wanted=2)
        observe(one, t, y[t])
    for t in range(4):
        tell(one, t, 1.0)
    believed = history_of(one).weight[0, :4] > history_of(one).admitted[0, :4]
    assert believed.any()
    for t in range(4):
        tell(one, t, 0.0)
    np.testing.assert_allclose(history_of(one).outcome[0, :4][believed], 0.5)


@pytest.mark.parametrize("make", [rcdp_ucb, live, steady])
def test_replay_and_restore_with_late_partial_imputed_and_repeated_feedback(make: type) -> None:
    """A snapshot in the middle goes on as the learner it was taken of."""
    x, y, votes = drawn(40)
    one, other = (make(context_dim=2, post_dim=2, post_serving="spline") for _ in range(2))
    for phase, (low, high) in enumerate(((0, 20), (20, 40))):
        for t in range(low, high):
            for each in (one, other) if phase else (one,):
                serve(each, x[t], wanted=1 + t % 2)
                first = y[t].copy()
                first[t % 2] = NAN
                observe(each, t, first)
                for _ in range(1 + t % 2):
                    tell(each, t, float(votes[t]))
                if t % 3 == 0:
                    observe(each, t, np.where(np.isnan(first), y[t], NAN))
                elif t % 3 == 1:
                    observe(each, t, each.expected_context(0, t), imputed=True)
        if phase == 0:
            other.restore(one.snapshot())
    assert_same_state(one.snapshot(), other.snapshot())


def greedy_log_det(z: Array, count: int) -> float:
    """What a D-optimal design gets that knows nothing but the candidates."""
    V = np.eye(z.shape[1])
    pairs = list(itertools.combinations(range(len(z)), 2))
    for _ in range(count):
        inverse = np.linalg.inv(V)
        gains = [(z[a] - z[b]) @ inverse @ (z[a] - z[b]) for a, b in pairs]
        a, b = pairs[int(np.argmax(gains))]
        V += 0.25 * np.outer(z[a] - z[b], z[a] - z[b])
    return float(np.linalg.slogdet(V)[1])


def asked_log_det(learner: DuelingLearner, x: Array, count: int) -> float:
    V = np.eye(x.shape[1])
    for _ in range(count):
        duel = learner.choose(x[None])
        learner.serve(duel)
        dz = duel.x[0, 0] - duel.x[0, 1]
        V += 0.25 * np.outer(dz, dz)
    return float(np.linalg.slogdet(V)[1])


def test_a_hundred_asks_before_anything_arrives_are_a_good_design() -> None:
    cold, warm = [], []
    for seed in range(10):
        random = np.random.default_rng(seed)
        x, theta = random.uniform(-np.pi, np.pi, (10, 10)), random.standard_normal(10)
        one = live(context_dim=10, distinct_pair=True)
        cold.append(asked_log_det(one, x, 100) / greedy_log_det(x, 100))
        two = live(context_dim=10, distinct_pair=True)
        for t in range(300):
            duel = two.choose(random.uniform(-np.pi, np.pi, (1, 10, 10)))
            two.serve(duel)
            observe(two, t, np.zeros((2, 0)))
            dz = duel.x[0, 0] - duel.x[0, 1]
            tell(two, t, float(random.random() < 1 / (1 + np.exp(-theta @ dz))))
        warm.append(asked_log_det(two, x, 100) / greedy_log_det(x, 100))
    assert np.mean(cold) >= 0.95
    assert np.mean(warm) >= 0.80


def test_the_requested_geometry_counts_what_was_requested_and_then_what_it_was() -> None:
    x, y, _ = drawn(2)
    one = live(context_dim=2, post_dim=2, post_serving="ridge")
    serve(one, x[0], wanted=2)
    guess = np.concatenate(
        [x[0, 0] - x[0, 1], one.pending.predicted[0, 0, 0] - one.pending.predicted[0, 0, 1]]
    )
    S = one.requested_geometry.matrix[0]
    np.testing.assert_allclose(S, np.eye(4) + 0.5 * np.outer(guess, guess))
    observe(one, 0, y[0])
    dz = np.concatenate([x[0, 0] - x[0, 1], y[0, 0] - y[0, 1]])
    np.testing.assert_allclose(S, np.eye(4) + 0.5 * np.outer(dz, dz), atol=1e-12)
    np.testing.assert_allclose(one.requested_geometry.inverse[0], np.linalg.inv(S), atol=1e-12)


def test_what_is_still_to_come_is_expected_and_what_is_known_is_not() -> None:
    x, y, _ = drawn(12)
    one = learner()
    for t in range(10):
        serve(one, x[t])
        observe(one, t, y[t])
    serve(one, x[10])
    assert one.waits_for_context(0, 10)
    assert not one.known_context(0, 10).any()
    part = y[10].copy()
    part[1, 0] = NAN
    observe(one, 10, part)
    assert one.known_context(0, 10).tolist() == [[True, True], [False, True]]
    expected = one.expected_context(0, 10)
    assert np.isnan(expected).tolist() == [[True, True], [False, True]]
    assert expected[1, 0] == one.post_serving.predict(x[10][None])[0, 1, 0]
    observe(one, 10, np.where(np.isnan(part), y[10], NAN))
    assert not one.waits_for_context(0, 10)
    assert one.waits(0, 10)  # for its vote
    tell(one, 10, 1.0)
    assert not one.waits(0, 10)
    assert not one.waits_for_context(0, 10)
    with pytest.raises(DuelwiseError):
        one.expected_context(0, 10)


def test_what_was_learned_at_several_times_is_one() -> None:
    def of(*rounds: int) -> Learned:
        return Learned(np.zeros(len(rounds), np.int64), np.array(rounds), np.array(rounds) / 10)

    found = joined([of(3, 1), NOTHING, of(2)])
    assert (found.round.tolist(), found.weight.tolist(), found.run.tolist()) == (
        [3, 1, 2],
        [0.3, 0.1, 0.2],
        [0, 0, 0],
    )


def test_budgets_that_are_unknown_are_taken_from_what_is_seen() -> None:
    x, y, _ = drawn(30)
    one = rcdp_ucb(
        context_dim=2, post_dim=2, post_serving="ridge", delay="unknown", horizon=400, estimate=EXACT
    )
    for t in range(30):
        serve(one, x[t])
        observe(one, t, y[t])
        if t >= 5:
            tell(one, t - 5, float(t % 2))
    for t in range(30, 35):
        tell(one, t - 5, 1.0)
    held = history_of(one)
    alpha = np.sqrt(4) / (np.sqrt(400) + 6)  # six votes were out at once
    n = int(held.held[0])
    np.testing.assert_allclose(held.weight[0, :n], np.minimum(1, alpha / held.leverage[0, :n]))

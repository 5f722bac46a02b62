"""The learner against Algorithm 1 written out, with late contexts and votes out of order."""

from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import LiteralLearner, nearest

from duelwise.learning.apply import apply
from duelwise.learning.core.geometry import REFACTOR_EVERY
from duelwise.learning.estimation import OnePass, OneStep
from duelwise.learning.estimation.one_pass import project
from duelwise.learning.learner import DuelingLearner, FeaturesName
from duelwise.learning.learner_protocol import Learned, Learner
from duelwise.learning.recipes import RECIPES, rcdb, rcdp_ucb
from duelwise.randomness import generator
from duelwise.testing.life import Life, live
from duelwise.types import Array, Contexts, Duel, Event, Votes

RUNS, ROUNDS = [0, 1], 60


def lived(learner: DuelingLearner, *, post_dim: int = 2) -> tuple[list[Event], dict[tuple[int, int], float]]:
    """What happened to it, and the weight each vote was learned with."""
    life = Life(RUNS, candidates=4, context_dim=3, post_dim=post_dim)
    weights: dict[tuple[int, int], float] = {}
    return live(watched(learner, weights), life, rounds=ROUNDS), weights


def watched(learner: DuelingLearner, weights: dict[tuple[int, int], float]) -> Learner:
    """The same learner; what it learns is noted."""
    return cast("Learner", Watched(learner, weights))


class Watched:
    """A learner whose ledger is written down."""

    def __init__(self, learner: DuelingLearner, weights: dict[tuple[int, int], float]) -> None:
        self._learner, self._weights = learner, weights

    def __getattr__(self, name: str) -> object:
        return getattr(self._learner, name)

    def observe(self, contexts: Contexts) -> Learned:
        return self._noted(self._learner.observe(contexts))

    def tell(self, votes: Votes) -> Learned:
        return self._noted(self._learner.tell(votes))

    def _noted(self, learned: Learned) -> Learned:
        for run, round, weight in zip(*learned, strict=True):
            assert (run, round) not in self._weights
            self._weights[int(run), int(round)] = float(weight)
        return learned


def literally(events: list[Event], run: int, *, observed: bool = True, **settings: float) -> LiteralLearner:
    """The same events for one run: ω when y is seen, votes of one call in serving order."""
    literal = LiteralLearner(dim=5, **settings)
    duels: list[Duel] = []
    seen: dict[int, tuple[Array, float]] = {}
    heard: dict[int, float] = {}

    def learn(rounds: list[int]) -> None:
        for t in sorted(t for t in rounds if t in seen and t in heard):
            literal.hear(*seen[t], heard[t])

    for event in events:
        if isinstance(event, Duel):
            duels.append(event)
            continue
        assert isinstance(event, Contexts | Votes)
        mine = [(int(event.round[i]), i) for i in range(len(event.run)) if event.run[i] == run]
        for t, i in mine:
            if isinstance(event, Votes):
                heard[t] = float(event.outcome[i])
            else:
                y = event.y[i] if observed else duels[t].predicted[run]
                pair = np.concatenate([duels[t].x[run], y], axis=1)
                seen[t] = (pair[0] - pair[1], literal.see(pair[0] - pair[1]))
        learn([t for t, _ in mine])
    return literal


def assert_geometries(learner: DuelingLearner, literal: LiteralLearner, run: int) -> None:
    for mine, theirs in ((learner.served_geometry, literal.V()), (learner.arrived_geometry, literal.W())):
        np.testing.assert_allclose(mine.matrix[run], theirs, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(mine.inverse[run] @ theirs, np.eye(5), atol=1e-8)
        assert mine.log_det[run] == pytest.approx(np.linalg.slogdet(theirs)[1])


@pytest.mark.parametrize("features", ["observed", "predicted"])
def test_rcdp_ucb_sums_what_algorithm_1_sums(features: FeaturesName) -> None:
    learner = rcdp_ucb(
        runs=RUNS, context_dim=3, post_dim=2, post_serving="ridge", clip=0.4, distinct_pair=True,
        estimate=OneStep(), features=features,
    )  # fmt: skip
    events, weights = lived(learner)
    for run in RUNS:
        literal = literally(events, run, observed=features == "observed", clip=0.4)
        assert_geometries(learner, literal, run)
        np.testing.assert_allclose(learner.theta[run], literal.one_step(), rtol=1e-7, atol=1e-8)
        ledger = sorted(weight for (r, _), weight in weights.items() if r == run)
        np.testing.assert_allclose(ledger, sorted(weight for _, weight, _ in literal.arrived), atol=1e-9)
        assert 0.1 < np.mean(np.array(ledger) < 1) < 0.99
        assert learner.votes[run] == len(literal.arrived)


def test_rcdb_weighs_a_vote_in_w_before_it() -> None:
    learner = rcdb(runs=RUNS, context_dim=3, post_dim=2, post_serving="ridge", clip=0.4, features="observed")
    events, weights = lived(learner)
    for run in RUNS:
        literal = literally(events, run, arrived_clip=0.4, curvature=1.0)
        assert_geometries(learner, literal, run)
        np.testing.assert_allclose(learner.theta[run], literal.one_step(), rtol=1e-7, atol=1e-8)
        ledger = [weight for (r, _), weight in weights.items() if r == run]
        np.testing.assert_allclose(ledger, [weight for _, weight, _ in literal.arrived], atol=1e-9)


@pytest.mark.parametrize("bound", [np.inf, 0.3])
def test_one_pass_is_its_definition(bound: float) -> None:
    estimate = OnePass(step_size=0.8, norm_bound=bound)
    learner = rcdp_ucb(
        runs=RUNS, context_dim=3, post_dim=2, post_serving="ridge", clip=0.4, distinct_pair=True,
        estimate=estimate, regularisation=0.1,
    )  # fmt: skip
    events, _ = lived(learner)
    for run in RUNS:
        literal = literally(events, run, clip=0.4, ridge=0.1)
        expected = literal.one_pass(step_size=0.8, norm_bound=bound)
        np.testing.assert_allclose(learner.theta[run], expected, rtol=1e-6, atol=1e-8)
        assert bound == np.inf or np.linalg.norm(expected) > 0.29  # the bound is felt


@given(seed=st.integers(0, 999), dim=st.integers(1, 6), bound=st.floats(0.01, 2.0))
@settings(max_examples=40)
def test_a_projection_is_the_nearest_point(seed: int, dim: int, bound: float) -> None:
    random = generator(seed, "projection", 0)
    root = random.standard_normal((dim, dim))
    metric, theta = root @ root.T + 0.1 * np.eye(dim), 5.0 * random.standard_normal(dim)
    expected = nearest(theta, metric, bound)
    moved = theta.copy()
    if np.linalg.norm(theta) > bound:
        project(moved, metric, bound)
    np.testing.assert_allclose(moved, expected, rtol=1e-6, atol=1e-7)


def test_served_weights_do_not_depend_on_the_delays() -> None:
    """The same duels, the votes told in another order and much later: the same ledger."""
    first = rcdp_ucb(runs=RUNS, context_dim=3, post_dim=2, post_serving="ridge", clip=0.4, distinct_pair=True)
    events, weights = lived(first)
    late = rcdp_ucb(runs=RUNS, context_dim=3, post_dim=2, post_serving="ridge", clip=0.4, distinct_pair=True)
    again: dict[tuple[int, int], float] = {}
    noted = watched(late, again)
    quiet = [event for event in events if not isinstance(event, Votes)]
    for event in [*quiet, *reversed([event for event in events if isinstance(event, Votes)])]:
        apply(noted, event)
    seen = {
        (run, t)
        for event in quiet
        if isinstance(event, Contexts)
        for run, t in zip(event.run, event.round, strict=True)
    }
    assert again.keys() == {key for key in weights if key in seen}
    for key, weight in again.items():
        assert weights[key] == weight
    np.testing.assert_array_equal(first.served_geometry.matrix, late.served_geometry.matrix)


def test_theta_and_w_move_only_when_votes_arrive() -> None:
    learner = rcdp_ucb(runs=RUNS, context_dim=3, post_dim=2, post_serving="ridge", distinct_pair=True)
    events, _ = lived(learner)
    silent = rcdp_ucb(runs=RUNS, context_dim=3, post_dim=2, post_serving="ridge", distinct_pair=True)
    for event in events:
        if not isinstance(event, Votes):
            apply(silent, event)
    np.testing.assert_array_equal(silent.theta, 0.0)
    np.testing.assert_array_equal(silent.arrived_geometry.matrix, np.broadcast_to(np.eye(5), (2, 5, 5)))
    np.testing.assert_array_equal(silent.served_geometry.matrix, learner.served_geometry.matrix)


@pytest.mark.parametrize("estimate", ["full-mle", "one-step", "one-pass"])
def test_inverting_anew_changes_nothing_but_rounding(estimate: str) -> None:
    options = {"runs": RUNS, "context_dim": 3, "post_dim": 2, "post_serving": "ridge", "estimate": estimate}
    plain = rcdp_ucb(**options, distinct_pair=True)
    events, _ = lived(plain)
    often, inverted = rcdp_ucb(**options, distinct_pair=True), 0
    for event in events:
        for geometry in (often.served_geometry, often.arrived_geometry):
            geometry.moves[...] = REFACTOR_EVERY - 1  # the next move is the last before an inversion
        apply(often, event)
        inverted += int((often.arrived_geometry.moves == 0).any())
    for run in RUNS:
        literal = literally(events, run, clip=np.sqrt(5) / 125)
        assert_geometries(often, literal, run)
    assert inverted > 20
    np.testing.assert_allclose(often.theta, plain.theta, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", RECIPES)
def test_distinct_pairs_for_every_method(name: str) -> None:
    for candidates in (2, 5):
        method = RECIPES[name](runs=RUNS, context_dim=3, distinct_pair=True)
        life = Life(RUNS, candidates=candidates, context_dim=3, post_dim=0)
        duels = [event for event in live(method, life, rounds=ROUNDS) if isinstance(event, Duel)]
        assert all((duel.arms[:, 0] != duel.arms[:, 1]).all() for duel in duels)


@pytest.mark.parametrize("name", ["rcdp-ucb", "rcdb", "max-pair-ucb"])
def test_an_arm_may_meet_itself_where_the_paper_lets_it(name: str) -> None:
    method = RECIPES[name](runs=RUNS, context_dim=3)
    duel = method.choose(np.ones((2, 3, 3)))
    np.testing.assert_array_equal(duel.arms, 0)


def test_prediction_errors_are_scored_before_they_are_learned_from() -> None:
    learner = rcdp_ucb(runs=RUNS, context_dim=3, post_dim=2, post_serving="ridge")
    events, _ = lived(learner)
    duels = [event for event in events if isinstance(event, Duel)]
    for run in RUNS:
        pairs = [
            (event.y[i], duels[event.round[i]].predicted[run])
            for event in events if isinstance(event, Contexts)
            for i in range(len(event.run)) if event.run[i] == run
        ]  # fmt: skip
        y = np.concatenate([y for y, _ in pairs])
        scores = learner.scores
        assert scores.contexts_seen[run] == len(y)
        assert scores.prediction_error[run] == pytest.approx(sum(((y - p) ** 2).sum() for y, p in pairs))
        assert scores.context_spread[run] == pytest.approx(((y - y.mean(axis=0)) ** 2).sum())
        np.testing.assert_allclose(scores.context_mean[run], y.mean(axis=0))

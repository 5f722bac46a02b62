"""W is λI + κ Σ ω Δz Δzᵀ of the votes that arrived, however late their contexts come."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import pytest

from duelwise.lab.play.contexts import LateContexts
from duelwise.lab.play.delays import GaussianDelay, GeometricDelay
from duelwise.lab.play.simulation import simulate
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.estimation.full_mle import MaximumLikelihood
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.recipes import RECIPES, STREAM_RECIPES, Tuning, recipe
from duelwise.types import Array, Contexts, Votes

RUNS, ROUNDS, WANTED, CONTEXT, POST = 2, 80, 2, 2, 2

CASES: dict[str, tuple[str, Tuning]] = {name: (name, {"features": "observed"}) for name in RECIPES}
CASES |= {
    f"{name}, votes kept": (name, {"features": "observed", "estimate": "full-mle"}) for name in STREAM_RECIPES
}
CASES |= {
    "audits after ten votes": ("steady", {"corruption_budget": 5.0}),
    "audits, exploring in W": ("steady", {"corruption_budget": 5.0, "geometry": "arrived"}),
    "budgets unknown": ("rcdp-ucb", {"corruption_budget": "unknown", "horizon": 20}),
    "budgets and horizon unknown": ("rcdp-ucb", {"corruption_budget": "unknown"}),
}


def made(name: str, **options: Unpack[Tuning]) -> DuelingLearner:
    return recipe(name)(runs=RUNS, context_dim=CONTEXT, post_dim=POST, seed=2, **options)


def assert_sound(learner: DuelingLearner) -> None:
    """W is positive definite, and its inverse and log det are those of the matrix."""
    held = learner.arrived_geometry
    assert np.linalg.eigvalsh(held.matrix).min() > 0.5  # λ is 1
    np.testing.assert_allclose(held.log_det, np.linalg.slogdet(held.matrix)[1], rtol=1e-9)
    np.testing.assert_allclose(held.inverse, np.linalg.inv(held.matrix), rtol=1e-7, atol=1e-12)


def summed(learner: DuelingLearner, r: int, weight: Array, dz: Array) -> Array:
    """λI + κ Σ ω Δz Δzᵀ: weight (n,), dz (n, d) → (d, d)."""
    rules = learner.rules
    return rules.regularisation[r] * np.eye(dz.shape[1]) + rules.curvature[r] * (dz.T * weight) @ dz


@pytest.mark.parametrize("case", CASES)
def test_w_is_the_sum_of_what_the_ledger_says(case: str) -> None:
    """Every duel gets two votes and its y, each at a time of its own; the ledger has the final weights."""
    name, options = CASES[case]
    learner, random = made(name, **options), np.random.default_rng(4)
    events: list[tuple[int, int, int, str]] = []  # when, run, round and what
    z = np.empty((RUNS, ROUNDS, 2, CONTEXT + POST))
    ledger: list[tuple[int, int, float]] = []
    for t in range(ROUNDS + 30):
        if t < ROUNDS:
            duel = learner.choose(random.standard_normal((RUNS, 5, CONTEXT)))
            learner.serve(duel._replace(wanted=WANTED))
            z[:, t] = np.concatenate([duel.x, np.abs(duel.x)], axis=2)
            for r in range(RUNS):
                late = random.integers(30, size=3).tolist()
                what = zip(late, ("vote", "vote", "y"), strict=True)
                events += [(t + rounds, r, t, kind) for rounds, kind in what]
        for _, r, round, kind in (event for event in events if event[0] == t):
            run, rounds = np.array([r]), np.array([round])
            if kind == "y":
                learned = learner.observe(Contexts(run, rounds, z[r, round, None, :, CONTEXT:].copy()))
            else:
                learned = learner.tell(Votes(run, rounds, np.array([random.integers(2)], dtype=np.float64)))
            ledger += zip(learned.run.tolist(), learned.round.tolist(), learned.weight.tolist(), strict=True)
        assert_sound(learner)
    assert len(ledger) == RUNS * ROUNDS * WANTED
    for r in range(RUNS):
        own = [(round, weight) for run, round, weight in ledger if run == r]
        pair = z[r, [round for round, _ in own]]
        weight = np.array([weight for _, weight in own])
        if name == "vacdb":  # the ledger has the weights of its layers, which are not those of W
            weight[:] = 1.0
        expected = summed(learner, r, weight, pair[:, 0] - pair[:, 1])
        np.testing.assert_allclose(learner.arrived_geometry.matrix[r], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", [case for case in CASES if "vacdb" not in case and "feel-good" not in case])
def test_w_is_the_sum_of_the_history_while_contexts_are_out(case: str) -> None:
    """Some y never come: those duels count with what was expected of them."""
    name, options = CASES[case]
    learner = made(name, **{**options, "estimate": "full-mle"})
    world = LinearWorld(runs=RUNS, context_dim=CONTEXT, arms=5, mapping="abs", seed=2)
    late = LateContexts(delay=GeometricDelay(mean=6), missing_sides=0.2, missing_values=0.1, deadline=40)
    played = world.with_delay(GaussianDelay(mean=5, std=5)).with_contexts(late)
    simulate(learner, played, horizon=120)
    assert_sound(learner)
    assert isinstance(learner.estimate, MaximumLikelihood)
    held = learner.estimate.history
    for r in range(RUNS):
        n = held.held[r]
        expected = summed(learner, r, held.admitted[r, :n], held.z[r, :, :n].T)
        np.testing.assert_allclose(learner.arrived_geometry.matrix[r], expected, rtol=1e-9, atol=1e-9)

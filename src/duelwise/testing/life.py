"""A short, busy life for a learner: contexts and votes that come late, out of order, with ties.

Everything is a function of (run number, round), so one run lives the same alone or in a batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from duelwise.learning.apply import apply
from duelwise.learning.learner_protocol import Learner
from duelwise.randomness import RoundDraws
from duelwise.types import Array, Contexts, Duel, Event, IntArray, Snapshot, Votes

CONTEXT_LAG, VOTE_LAG = 3, 7  # the most rounds that a context and a vote are late


class Life:
    """What happens to R runs: candidates, what becomes of them, and what people say."""

    def __init__(self, runs: Sequence[int], *, candidates: int, context_dim: int, post_dim: int) -> None:
        self.runs, self._post_dim = len(runs), post_dim

        def draws(purpose: str, *shape: int) -> RoundDraws:
            return RoundDraws(7, purpose, runs, lambda rng, rounds: rng.random((rounds, *shape)))

        self._x = draws("life/contexts", candidates, context_dim)
        self._said, self._seen_lag, self._vote_lag = (
            draws("life/votes"),
            draws("life/seen"),
            draws("life/late"),
        )

    def candidates(self, round: int) -> Array:
        """(R, K, dx) on [-1, 1]."""
        return 2.0 * self._x.at(round) - 1.0

    def after(self, x: Array) -> Array:
        """What is known after serving, |x| over and over: (..., dx) → (..., dy)."""
        return np.abs(x)[..., np.arange(self._post_dim) % x.shape[-1]]

    def outcome(self, round: int) -> Array:
        """(R,) one vote in five a tie, whoever was served."""
        said = self._said.at(round)
        return np.where(said < 0.4, 0.0, np.where(said < 0.6, 0.5, 1.0))

    def contexts_due(self, round: int) -> list[tuple[int, int]]:
        """(run, round) of the duels whose context becomes known at the end of this round."""
        return _due(self._seen_lag, CONTEXT_LAG, round)

    def votes_due(self, round: int) -> list[tuple[int, int]]:
        """(run, round) of the duels whose vote arrives at the end of this round, y known or not."""
        return _due(self._vote_lag, VOTE_LAG, round)


def _due(lag: RoundDraws, most: int, now: int) -> list[tuple[int, int]]:
    late = [(round, np.floor(lag.at(round) * (most + 1))) for round in range(max(0, now - most), now + 1)]
    return [(run, round) for round, lags in late for run in range(len(lags)) if round + lags[run] == now]


def live(learner: Learner, life: Life, *, rounds: int) -> list[Event]:
    """Let the learner choose for some rounds; returns what happened, in order."""
    events: list[Event] = []
    duels: list[Duel] = []
    for now in range(rounds):
        duels.append(learner.choose(life.candidates(now)))
        seen, told = _contexts(life, duels, life.contexts_due(now)), _votes(life, life.votes_due(now))
        for event in (duels[now], seen, told):
            apply(learner, event)
            events.append(event)
    return events


def _contexts(life: Life, duels: list[Duel], due: list[tuple[int, int]]) -> Contexts:
    pairs = np.empty((len(due), *duels[0].x.shape[1:]))
    for i, (run, round) in enumerate(due):
        pairs[i] = duels[round].x[run]
    return Contexts(*_columns(due), life.after(pairs))


def _votes(life: Life, due: list[tuple[int, int]]) -> Votes:
    return Votes(*_columns(due), np.array([life.outcome(round)[run] for run, round in due]))


def _columns(due: list[tuple[int, int]]) -> tuple[IntArray, IntArray]:
    table = np.array(due, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def assert_same_state(one: Snapshot, other: Snapshot) -> None:
    """Float for float."""
    assert one.keys() == other.keys(), f"the snapshots name different things: {one.keys() ^ other.keys()}"
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=f"{name} differs")

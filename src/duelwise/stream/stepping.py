"""Events of a stream as steps of its learner: many of them in one compiled call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from duelwise.learning.core.group import OBSERVED, SERVED, SERVED_KNOWN, TOLD
from duelwise.learning.group import Steps, can_fold, fold
from duelwise.learning.learner import DuelingLearner, Learned
from duelwise.stream.events import Asked, Observed, Told
from duelwise.types import Contexts, Duel, IntArray, Votes

MOST_STEPS = 512  # of one call: enough to forget what a call costs, few enough to be quick

PlainEvent = Asked | Observed | Told

RUN: IntArray = np.zeros(1, dtype=np.int64)  # a stream is one run


def take(learner: DuelingLearner, events: Sequence[PlainEvent]) -> Iterator[Learned]:
    """Let these happen to the learner, in order; the votes that were learned on the way."""
    if can_fold(learner):
        yield fold(learner, _steps(learner, events))
    else:
        for event in events:
            yield from _take_one(learner, event)


def _steps(learner: DuelingLearner, events: Sequence[PlainEvent]) -> Steps:
    n, dx, dy = len(events), learner.context_dim, learner.post_dim
    kind, round = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    arms, x = np.zeros((n, 2), dtype=np.int64), np.zeros((n, 2, dx))
    predicted, y, vote = np.zeros((n, 2, dy)), np.zeros((n, 2, dy)), np.zeros(n)
    for i, event in enumerate(events):
        round[i] = event.round
        if isinstance(event, Told):
            kind[i], vote[i] = TOLD, event.outcome
        elif isinstance(event, Observed):
            kind[i], y[i] = OBSERVED, event.y
        else:
            kind[i], arms[i], x[i], predicted[i] = SERVED, event.arms, event.x, event.predicted
            if event.y is not None:
                kind[i], y[i] = SERVED_KNOWN, event.y
    return Steps(kind, round, arms, x, predicted, y, vote)


def _take_one(learner: DuelingLearner, event: PlainEvent) -> Iterator[Learned]:
    """The same by a learner that is not all kernels."""
    round = np.array([event.round])
    if isinstance(event, Told):
        yield learner.tell(Votes(RUN, round, np.array([event.outcome])))
        return
    if isinstance(event, Asked):
        learner.serve(Duel(event.round, event.arms[None], event.x[None], event.predicted[None]))
    if event.y is not None:
        yield learner.observe(Contexts(RUN, round, event.y[None]))

"""Many asks, or many events, of a learner with one run, in one call each: what a stream does all day."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from duelwise.learning import validation
from duelwise.learning.core import batch, group
from duelwise.learning.core.dispatch import offers_kernel
from duelwise.learning.core.state import NoKernel
from duelwise.learning.learner import DuelingLearner, Learned
from duelwise.learning.post_serving.kernel_model import KernelModel
from duelwise.learning.selection.rule import noise_of
from duelwise.types import Array, IntArray


class Pairs(NamedTuple):
    """What was chosen, one row for each ask."""

    arms: IntArray  # (n, 2)
    x: Array  # (n, 2, dx)
    predicted: Array  # (n, 2, dy)


class Steps(NamedTuple):
    """What happened to one run, in order: a piece of a log. Rows that a step does not need hold zeros."""

    kind: IntArray  # (n,) group.SERVED, SERVED_KNOWN, OBSERVED or TOLD
    round: IntArray  # (n,)
    arms: IntArray  # (n, 2)
    x: Array  # (n, 2, dx)
    predicted: Array  # (n, 2, dy)
    y: Array  # (n, 2, dy)
    vote: Array  # (n,)


def can_choose(learner: DuelingLearner) -> bool:
    """Whether the learner's rules are kernels, so that many asks are one call."""
    core = learner.core
    has_kernels = not isinstance(core.select, NoKernel) and not isinstance(core.width, NoKernel)
    return has_kernels and learner.runs == 1 and isinstance(learner.post_serving, KernelModel)


def choose_each(learner: DuelingLearner, x: Array) -> Pairs | None:
    """A pair of each candidate set, with the learner as it is now: x (n, K, dx), finite.

    None where some pair is none; `learner.choose` then says which.
    """
    n, K, dx = x.shape
    predicted = learner.post_serving.predict(x.reshape(1, n * K, dx)).reshape(n, K, learner.post_dim)
    noise = noise_of(learner.parts.select, learner.noise, (learner.round,), K)[0, 0]
    pairs = Pairs(*group.choose_each(learner.handle, x, predicted, noise))
    return pairs if batch.pairs_fit(pairs.arms, K, learner.rules.distinct) else None


def can_fold(learner: DuelingLearner) -> bool:
    """Whether the learner's estimate is a kernel, so that many events are one call."""
    return learner.runs == 1 and offers_kernel(learner.estimate)


def fold(learner: DuelingLearner, steps: Steps) -> Learned:
    """The same as serve, observe and tell one after another, and so are the numbers."""
    learner.make_room(int((steps.kind <= group.SERVED_KNOWN).sum()))
    taken, verdict, round, weight = group.fold(
        learner.handle, learner.estimate_handle(len(steps.kind)), *steps
    )
    _teach(learner, steps, taken)
    if verdict != batch.FINE:
        told = steps.kind[taken] == group.TOLD
        validation.refuse(
            "vote" if told else "context", verdict, 0, int(steps.round[taken]), runs=1,
            next_round=learner.round, value=float(steps.vote[taken]),
        )  # fmt: skip
    return Learned(np.zeros(len(round), dtype=np.int64), round, weight)


def _teach(learner: DuelingLearner, steps: Steps, taken: int) -> None:
    """φ̂ learns the contexts of the steps that were taken, in their order."""
    seen = (steps.kind[:taken] == group.OBSERVED) | (steps.kind[:taken] == group.SERVED_KNOWN)
    if not learner.post_dim or not seen.any():
        return
    x, y = steps.x[:taken][seen], steps.y[:taken][seen]
    at_once = len(x) if isinstance(learner.post_serving, KernelModel) else 1
    for start in range(0, len(x), at_once):
        some = slice(start, start + at_once)
        run = np.zeros(len(x[some]), dtype=np.int64)
        learner.post_serving.learn(run, x[some], y[some])

"""When y becomes known: at once, late, in part, or never.

What is not known by a deadline is imputed: the learner goes on with what φ̂ expects by then. A context that
comes after that teaches φ̂ alone. Lateness and gaps are functions of (seed, run, round), so every method
meets the same ones, and they combine with any delay of the votes and any lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.lab.play.channel import with_room
from duelwise.lab.play.checks import LARGEST, check_number, check_whole
from duelwise.lab.play.delays import DelayModel, DelayTable, NoDelay
from duelwise.learning.core.dispatch import kernel, role
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.pending import FREE, SERVED, find
from duelwise.learning.core.roles import keeps_votes, predict
from duelwise.learning.core.round import absorb_seen, is_ready, observe, take_in, update
from duelwise.learning.core.state import Core
from duelwise.learning.learner_protocol import Learner
from duelwise.learning.post_serving.kernel_model import KernelModel
from duelwise.randomness import BLOCK, RoundDraws
from duelwise.types import Array, BoolArray, Contexts, IntArray

NEVER = 2**50
"""A deadline that no horizon reaches."""


@role
def bring(
    contexts: Any, core: Core, estimate: Any, model: Any, r: int, at: int, t: int, pair: Array, y: Array
) -> None:
    """Contexts: y (2, dy) of run r's pair (2, dx), served in round t, sets out; what is due arrives.

    `at` is the round's place in its block.
    """
    raise NotImplementedError


class AtOnce(NamedTuple):
    """Nothing is on its way."""


@kernel(bring, AtOnce)
def bring_at_once(
    contexts: AtOnce, core: Core, estimate: Any, model: Any, r: int, at: int, t: int, pair: Array, y: Array
) -> None:
    """The round of the paper."""
    observe(core, r, find(core.pending, r, t), y, False)
    absorb_seen(model, r, pair, y)


class Late(NamedTuple):
    """A block of rounds: how late and how complete their contexts are, and those that are on their way."""

    rounds: IntArray  # (BLOCK, R)
    hidden: BoolArray  # (BLOCK, R, 2, dy) never to be seen
    deadline: int
    length: IntArray  # (R,) contexts on their way, in serving order
    round: IntArray  # (R, places)
    due: IntArray  # (R, places)
    x: Array  # (R, places, 2, dx)
    y: Array  # (R, places, 2, dy) NaN where hidden


@kernel(bring, Late)
def bring_late(
    late: Late, core: Core, estimate: Any, model: Any, r: int, at: int, t: int, pair: Array, y: Array
) -> None:
    """Send this round's context, take in those that are due, and impute for the round whose time is up."""
    place = late.length[r]
    late.length[r] += 1
    late.round[r, place], late.due[r, place] = t, t + late.rounds[at, r]
    _copy(pair, late.x[r, place])
    for side in range(2):
        for j in range(y.shape[1]):
            late.y[r, place, side, j] = np.nan if late.hidden[at, r, side, j] else y[side, j]
    kept = 0
    for i in range(late.length[r]):
        if late.due[r, i] > t:
            late.round[r, kept], late.due[r, kept] = late.round[r, i], late.due[r, i]
            _copy(late.x[r, i], late.x[r, kept])
            _copy(late.y[r, i], late.y[r, kept])
            kept += 1
            continue
        slot = find(core.pending, r, late.round[r, i])
        if slot != FREE and core.pending.state[r, slot] == SERVED:
            observe(core, r, slot, late.y[r, i], False)
        absorb_seen(model, r, late.x[r, i], late.y[r, i])
        _learn_if_ready(core, estimate, r, slot)
    late.length[r] = kept
    _impute(core, estimate, model, r, t - late.deadline)


@compiled
def _copy(values: Array, out: Array) -> None:
    """values (2, n) into out, which may be the same."""
    for side in range(2):
        for j in range(out.shape[1]):
            out[side, j] = values[side, j]


@compiled
def _impute(core: Core, estimate: Any, model: Any, r: int, round: int) -> None:
    """φ̂ now stands for what is still not known of this round."""
    slot = find(core.pending, r, round)
    if slot == FREE or core.pending.state[r, slot] != SERVED:
        return
    expected = np.empty((2, core.pending.y.shape[3]))
    predict(model, r, core.pending.x[r, slot], expected)
    for side in range(2):
        for j in range(expected.shape[1]):
            if not np.isnan(core.pending.y[r, slot, side, j]):
                expected[side, j] = np.nan
    observe(core, r, slot, expected, True)
    _learn_if_ready(core, estimate, r, slot)


@compiled
def _learn_if_ready(core: Core, estimate: Any, r: int, slot: int) -> None:
    keeps = keeps_votes(estimate)
    if slot != FREE and is_ready(core.pending, core.fit.rules, keeps, r, slot):
        update(core, estimate, r, take_in(core, r, np.full(1, slot), 0, 1))


class ContextsAtWork(Protocol):
    """Contexts on their way to the learners of R runs."""

    def bring(self, t: int, learner: Learner, pair: Array, y: Array) -> None:
        """This round's pairs (R, 2, dx) and y (R, 2, dy) set out; what is due is observed."""
        ...


def prepare(contexts: ContextsAtWork, learner: Learner) -> None:
    """A learner whose φ̂ will meet gaps in y learns around them from the first round on, in either loop."""
    model = getattr(learner, "post_serving", None)
    if getattr(contexts, "loses_values", False) and isinstance(model, KernelModel):
        model.separate()


class ContextModel(Protocol):
    """When and how much of y becomes known: the settings."""

    def start(self, *, runs: Sequence[int], seed: int, context_dim: int, post_dim: int) -> ContextsAtWork: ...


@dataclass(frozen=True)
class ContextsAtOnce:
    """All of y is known when the pair is served: the paper's assumption."""

    def start(self, *, runs: Sequence[int], seed: int, context_dim: int, post_dim: int) -> ContextsAtOnce:
        return self

    def bring(self, t: int, learner: Learner, pair: Array, y: Array) -> None:
        run = np.arange(len(y))
        learner.observe(Contexts(run, np.full(len(y), t), y))

    def compiled(self, begin: int, runs: int) -> AtOnce:
        return AtOnce()


@dataclass(frozen=True, kw_only=True)
class LateContexts:
    """y comes some rounds later, some sides or coordinates of it never.

    What is not known `deadline` rounds after serving is imputed; None waits for ever.
    """

    delay: DelayModel = field(default_factory=NoDelay)
    missing_sides: float = 0.0  # share of items of which nothing becomes known
    missing_values: float = 0.0  # share of single coordinates
    deadline: int | None = 50

    def __post_init__(self) -> None:
        check_number("missing_sides", self.missing_sides, least=0.0, most=1.0)
        check_number("missing_values", self.missing_values, least=0.0, most=1.0)
        if self.deadline is not None:
            check_whole("deadline", self.deadline, least=0, most=LARGEST)
        if not _follows_a_table(self.delay):
            raise InvalidInput(
                f"delay is {self.delay!r}. Contexts are late by chance or by a fixed time, as a DelayTable "
                "says for a block of rounds; a strategic delay looks at utilities. "
                "Take a constant, stochastic, geometric or Pareto delay."
            )

    def start(self, *, runs: Sequence[int], seed: int, context_dim: int, post_dim: int) -> LateFlight:
        return LateFlight(self, runs, seed, context_dim, post_dim)


def _follows_a_table(delay: DelayModel) -> bool:
    """Whether the delays of a block of rounds are known before it is played."""
    at_work: Any = delay.start(runs=(0,), seed=0)
    table = at_work.compiled(0, 1) if hasattr(at_work, "compiled") else None
    return isinstance(table, DelayTable) and not table.only_good


class LateFlight:
    """Contexts on their way, for R runs."""

    def __init__(
        self, settings: LateContexts, runs: Sequence[int], seed: int, context_dim: int, post_dim: int
    ) -> None:
        self._delays: Any = settings.delay.start(runs=runs, seed=seed + 1)  # not the votes' own delays
        self._side_share, self._value_share = settings.missing_sides, settings.missing_values
        self._gaps = RoundDraws(
            seed, "gaps", runs, lambda generator, n: generator.random((n, 2, 1 + post_dim))
        )
        self.loses_values = settings.missing_values > 0
        R = len(runs)
        self._late = Late(
            rounds=np.zeros((0, R), np.int64), hidden=np.zeros((0, R, 2, post_dim), np.bool_),
            deadline=NEVER if settings.deadline is None else settings.deadline,
            length=np.zeros(R, np.int64), round=np.zeros((R, 4), np.int64), due=np.zeros((R, 4), np.int64),
            x=np.zeros((R, 4, 2, context_dim)), y=np.zeros((R, 4, 2, post_dim)),
        )  # fmt: skip

    def compiled(self, begin: int, runs: int) -> Late:
        """The state for the block of rounds that starts at `begin`, with room for its contexts."""
        drawn = self._gaps.block(begin // BLOCK)
        hidden = (drawn[..., :1] < self._side_share) | (drawn[..., 1:] < self._value_share)
        table = self._delays.compiled(begin, runs).rounds
        roomy = with_room(self._late, BLOCK, ("round", "due", "x", "y"))
        self._late = roomy._replace(rounds=table, hidden=hidden)
        return self._late

    def bring(self, t: int, learner: Learner, pair: Array, y: Array) -> None:
        """The same in the plain loop, a context at a time."""
        late, at = self.compiled(t - t % BLOCK, len(y)) if t % BLOCK == 0 else self._late, t % BLOCK
        for r in range(len(y)):
            self._send(late, r, at, t, pair[r], y[r])
            for i in np.flatnonzero(late.due[r, : late.length[r]] <= t).tolist():
                self._arrive(learner, r, int(late.round[r, i]), late.x[r, i], late.y[r, i])
            self._drop_arrived(late, r, t)
            if learner.waits_for_context(r, t - late.deadline):
                expected = learner.expected_context(r, t - late.deadline)
                learner.observe(_context(r, t - late.deadline, expected, imputed=True))

    def _send(self, late: Late, r: int, at: int, t: int, pair: Array, y: Array) -> None:
        place = late.length[r]
        late.length[r] += 1
        late.round[r, place], late.due[r, place] = t, t + late.rounds[at, r]
        late.x[r, place], late.y[r, place] = pair, np.where(late.hidden[at, r], np.nan, y)

    def _arrive(self, learner: Learner, r: int, round: int, pair: Array, y: Array) -> None:
        if learner.waits_for_context(r, round):
            learner.observe(_context(r, round, y, imputed=False))
        else:
            learner.teach(np.array([r]), pair[None], y[None])

    def _drop_arrived(self, late: Late, r: int, t: int) -> None:
        on_the_way = np.flatnonzero(late.due[r, : late.length[r]] > t)
        for kept in (late.round, late.due, late.x, late.y):
            kept[r, : len(on_the_way)] = kept[r, on_the_way]
        late.length[r] = len(on_the_way)


def _context(r: int, round: int, y: Array, *, imputed: bool) -> Contexts:
    return Contexts(np.array([r]), np.array([round]), y[None], imputed)

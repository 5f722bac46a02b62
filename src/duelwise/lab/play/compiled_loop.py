"""The loop of simulation.py, compiled whole: the same kernels and floats, no Python per round.

It plays learners and adversaries whose parts all offer a kernel, in worlds that know their rounds in
blocks: a block of rounds at a time, runs spread over threads, no run waiting for another. Whatever
offers none is left to `simulate`; `play` picks between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numba
import numpy as np
from numpy.typing import NDArray

from duelwise.lab.play.adversary import Sent, wanted_delay, wants_flip
from duelwise.lab.play.channel import Flight, deliver, flight, refuse_negative_delays, send, with_room
from duelwise.lab.play.contexts import bring, prepare
from duelwise.lab.play.regret import pair_regret
from duelwise.lab.play.scenario import Scenario, as_scenario
from duelwise.lab.play.simulation import Trajectory, check_fit, empty_trajectory, simulate
from duelwise.lab.play.world import BlockWorld, World, WorldBlock
from duelwise.learning.core.deferred_compilation import patience
from duelwise.learning.core.dispatch import offers_kernel
from duelwise.learning.core.jit import compiled, compiled_when_it_pays
from duelwise.learning.core.pending import find
from duelwise.learning.core.roles import keeps_votes, predict
from duelwise.learning.core.round import choose, hear, is_ready, join, serve, take_in, update
from duelwise.learning.core.state import Core
from duelwise.learning.core.state_pointer import handle
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.learner_protocol import Learner
from duelwise.learning.selection.rule import noise_of
from duelwise.randomness import BLOCK
from duelwise.types import Array, IntArray

Progress = Callable[[int], None]
FEW_ROUNDS = 1_000
"""Rounds of all runs that may be over before the loop is compiled."""


class Block(NamedTuple):
    """What is drawn for a block of rounds, whatever the learner does in them."""

    world: WorldBlock
    entry: IntArray  # (R,) which of the U different runs each run is
    noise: Array  # (BLOCK, R, K) that the selection rule adds
    corruption: Any
    delay: Any


class Kept(NamedTuple):
    """What is kept of every round."""

    regret: Array  # (R, T)
    distinct_regret: Array  # (R, T)
    arms: NDArray[np.int32]  # (R, T, 2)


def play(
    learner: Learner, scenario: Scenario | World, *, horizon: int, progress: Progress | None = None
) -> Trajectory:
    """`rollout` where every part offers a kernel, else `simulate`: the same numbers.

    A world alone is played with votes that are neither late nor lies.
    """
    scenario = as_scenario(scenario)
    if type(learner) is DuelingLearner and is_compiled(learner, scenario):
        return rollout(learner, scenario, horizon=horizon, progress=progress)
    return simulate(learner, scenario, horizon=horizon, progress=progress)


def is_compiled(learner: DuelingLearner, scenario: Scenario) -> bool:
    """Whether the own class of every part offers a kernel, and the world's its rounds in blocks."""
    parts = (learner.parts.select, learner.parts.width, learner.estimate, learner.post_serving)
    fates = (*scenario.adversaries(), scenario.contexts_at_work(learner.post_dim))
    return all(map(offers_kernel, (*parts, *fates))) and "block" in vars(type(scenario.world))


def rollout(
    learner: DuelingLearner, scenario: Scenario, *, horizon: int, progress: Progress | None = None
) -> Trajectory:
    """What `simulate` gives, from a fresh learner, and the learner as `simulate` leaves it."""
    world = scenario.world
    check_fit(learner, world, horizon)
    trajectory = empty_trajectory(world.runs, horizon)
    kept = Kept(trajectory.regret, trajectory.distinct_regret, trajectory.arms)
    held = flight(runs=world.runs, flip_budget=scenario.corruption.budget, delay_budget=scenario.delay.budget)
    few = world.runs * horizon <= FEW_ROUNDS  # over before it pays to compile
    # One thread reads: a text that fails puts all arrays back, those of the other runs too.
    threads = 1 if few else min(numba.get_num_threads(), world.runs)
    shares = 1 if few else min(5 * threads, world.runs)  # more than threads: nobody should wait for one run
    ends = [world.runs * share // shares for share in range(shares + 1)]
    draw, contexts = _Drawing(learner, scenario), cast(Any, scenario.contexts_at_work(learner.post_dim))
    prepare(contexts, learner)
    following = draw(0)
    with ThreadPoolExecutor(threads) as pool, nullcontext() if few else patience(0.0):
        for begin in range(0, horizon, BLOCK):
            block, rounds = following, min(BLOCK, horizon - begin)
            held = with_room(held, rounds)
            learner.make_room(rounds)
            estimate = cast(Any, learner.estimate).compiled(int(held.length.max()) + rounds)
            model = cast(Any, learner.post_serving).compiled()
            brought = contexts.compiled(begin, world.runs)  # not while the block before is played
            states: tuple[Any, ...] = (learner.core, estimate, model, block, brought, held, kept)
            fixed = [handle(state) for state in states]
            parts = [
                pool.submit(copy_context().run, cast(Any, play_block), *fixed, begin, rounds, *span)
                for span in pairwise(ends)
            ]
            if begin + BLOCK < horizon:
                following = draw(begin + BLOCK)  # while the threads play
            for part in parts:
                part.result()
            refuse_negative_delays(held)
            if progress is not None:
                progress(begin + rounds)
    trajectory.told[:] = horizon - held.length  # the others are still on their way
    trajectory.flips_spent[:], trajectory.delay_spent[:] = held.flips_spent, held.delay_spent
    return trajectory


class _Drawing:
    """Draws blocks of rounds for a learner and a scenario."""

    def __init__(self, learner: DuelingLearner, scenario: Scenario) -> None:
        self._learner, self._world = learner, cast(BlockWorld, scenario.world)
        self._delays, self._corruptions = scenario.adversaries()

    def __call__(self, begin: int) -> Block:
        learner, drawn = self._learner, self._world.block(begin // BLOCK)
        select, span, runs = learner.parts.select, range(begin, begin + BLOCK), learner.runs
        noise = noise_of(select, learner.noise, span, drawn.x.shape[2])
        seen = drawn._replace(y=np.ascontiguousarray(drawn.y[..., : learner.post_dim]))
        adversaries = (cast(Any, model).compiled(begin, runs) for model in (self._corruptions, self._delays))
        return Block(seen, self._world.entry, noise, *adversaries)


@compiled_when_it_pays
def play_block(
    core: Core, estimate: Any, model: Any, block: Block, contexts: Any, held: Flight, kept: Kept,
    begin: int, rounds: int, low: int, high: int,
) -> None:  # fmt: skip
    """Rounds begin … begin + rounds - 1 for runs low … high - 1."""
    world = block.world
    arms, dx, dy = world.x.shape[2], world.x.shape[3], world.y.shape[3]
    predicted, z = np.empty((arms, dy)), np.empty((arms, dx + dy))
    x, y = np.empty((2, dx)), np.empty((2, dy))
    told, votes = np.empty(held.due.shape[1], np.int64), np.empty(held.due.shape[1])
    for r in range(low, high):
        u = block.entry[r]
        for i in range(rounds):
            t, utility = begin + i, world.utility[i, u]
            predict(model, r, world.x[i, u], predicted)
            join(world.x[i, u], predicted, z)
            pair = choose(core, r, world.x[i, u], z, block.noise[i, r])
            slot = serve(core, r, pair, world.x[i, u], predicted, pair, 1)
            for side in range(2):
                for j in range(dx):
                    x[side, j] = world.x[i, u, pair[side], j]
                for j in range(dy):
                    y[side, j] = world.y[i, u, pair[side], j]
            bring(contexts, core, estimate, model, r, i, t, x, y)
            outcome = 1.0 if utility[pair[0]] - utility[pair[1]] > world.hurdle[i, u] else 0.0
            sent = Sent(
                pair[0], pair[1], utility, outcome, core.pending.weight[r, slot],
                core.pending.leverage[r, slot], core.pending.out[r],
            )  # fmt: skip
            flip, delay = wants_flip(block.corruption, i, r, sent), wanted_delay(block.delay, i, r, sent)
            send(held, r, t, outcome, flip, delay)
            _tell(core, estimate, r, told, votes, deliver(held, r, t, told, votes))
            kept.regret[r, t], kept.distinct_regret[r, t] = pair_regret(
                world.expected[i, u], pair[0], pair[1]
            )
            kept.arms[r, t, 0], kept.arms[r, t, 1] = pair


@compiled
def _tell(core: Core, estimate: Any, r: int, told: IntArray, votes: Array, n: int) -> None:
    """Votes of n rounds, in serving order, arrive at run r; `told` is used up."""
    p, ready = core.pending, 0
    for i in range(n):
        slot = find(p, r, told[i])
        hear(p, r, slot, votes[i])
        if is_ready(p, core.fit.rules, keeps_votes(estimate), r, slot):
            told[ready] = slot
            ready += 1
    if ready > 0:
        update(core, estimate, r, take_in(core, r, told, 0, ready))

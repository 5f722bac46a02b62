"""The loop of simulation.py, compiled whole: the same draws, equations and floats, no Python per round.

It plays learners whose parts are all built in, in worlds that know their rounds in blocks: a block
of rounds at a time, runs spread over threads, no run waiting for another. Whatever it does not know
is left to `simulate`; `play` picks between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import numba
import numpy as np

from duelwise.lab.play.corruptions import (
    Corruptions,
    LateCorruption,
    LeverageCorruption,
    NoCorruption,
    RandomFlips,
    StrategicCorruption,
)
from duelwise.lab.play.delays import Delays, ObliviousDelays, StrategicDelay
from duelwise.lab.play.rolling import (
    FULL_MLE,
    ONE_PASS,
    ONE_STEP,
    Block,
    Queue,
    Record,
    Rules,
    State,
    play_block,
)
from duelwise.lab.play.scenario import Scenario, as_scenario
from duelwise.lab.play.simulation import Trajectory, check_fit, empty_trajectory, simulate
from duelwise.lab.play.world import BlockWorld, World
from duelwise.learning.estimation import MaximumLikelihood, OnlineStep, SinglePass
from duelwise.learning.learner import DuelingLearner, Learner
from duelwise.learning.post_serving.none import NoPostServingModel
from duelwise.learning.post_serving.spline import SplineModel
from duelwise.learning.selecting import PERTURBED
from duelwise.learning.selection import CompiledRule, Noise
from duelwise.learning.widths import ConstantWidth
from duelwise.randomness import BLOCK
from duelwise.types import AnyArray, Array

Progress = Callable[[int], None]


def play(
    learner: Learner, scenario: Scenario | World, *, horizon: int, progress: Progress | None = None
) -> Trajectory:
    """`rollout` where it knows every part, else `simulate`: the same numbers. A world alone is honest."""
    scenario = as_scenario(scenario)
    if isinstance(learner, DuelingLearner) and knows(learner, scenario):
        return rollout(learner, scenario, horizon=horizon, progress=progress)
    return simulate(learner, scenario, horizon=horizon, progress=progress)


def knows(learner: DuelingLearner, scenario: Scenario) -> bool:
    """Whether every part is one that is compiled here."""
    delays, corruptions = scenario.adversaries()
    return (
        isinstance(learner.parts.select, CompiledRule)
        and isinstance(learner.parts.width, ConstantWidth)
        and isinstance(learner.estimate, MaximumLikelihood | OnlineStep | SinglePass)
        and isinstance(learner.post_serving, NoPostServingModel | SplineModel)
        and isinstance(scenario.world, BlockWorld)
        and isinstance(delays, ObliviousDelays | StrategicDelay)
        and isinstance(corruptions, COMPILED_CORRUPTIONS)
    )


COMPILED_CORRUPTIONS = (NoCorruption, StrategicCorruption, LateCorruption, LeverageCorruption, RandomFlips)


def rollout(
    learner: DuelingLearner, scenario: Scenario, *, horizon: int, progress: Progress | None = None
) -> Trajectory:
    """What `simulate` gives, from a fresh learner whose parts `knows` approves of.

    Afterwards the learner's Θ̂, geometries, φ̂ and history are as `simulate` leaves them; the votes
    still on their way are dropped, so it cannot be played on.
    """
    world = scenario.world
    check_fit(learner, world, horizon)
    assert isinstance(world, BlockWorld)
    delays, corruptions = scenario.adversaries()
    rules = _rules(learner, scenario, corruptions, delays)
    trajectory = empty_trajectory(world.runs, horizon)
    kept = Record(trajectory.regret, trajectory.distinct_regret, trajectory.arms)
    queue = _queue(world.runs, learner.theta.shape[1])
    threads = min(numba.get_num_threads(), world.runs)
    shares = min(5 * threads, world.runs)  # more than threads: runs differ, and nobody should wait for one
    ends = [world.runs * share // shares for share in range(shares + 1)]
    draw = partial(_block, learner=learner, world=world, delays=delays, corruptions=corruptions)
    following = draw(0)
    with ThreadPoolExecutor(threads) as pool:
        for begin in range(0, horizon, BLOCK):
            block, rounds = following, min(BLOCK, horizon - begin)
            queue = _with_room(queue, rounds)
            if isinstance(learner.estimate, MaximumLikelihood):
                learner.estimate.make_room(int(queue.length.max()) + rounds)
            fixed = (rules, block, _state(learner), queue, kept)
            parts = [pool.submit(play_block, begin, rounds, *span, *fixed) for span in pairwise(ends)]
            if begin + BLOCK < horizon:
                following = draw(begin + BLOCK)  # while the threads play
            for part in parts:
                part.result()
            _settle(learner)
            if progress is not None:
                progress(begin + rounds)
    learner.pending.next_round = horizon
    trajectory.told[:] = learner.votes
    trajectory.flips_spent[:], trajectory.delay_spent[:] = queue.flips, queue.delays
    return trajectory


def _rules(learner: DuelingLearner, scenario: Scenario, corruptions: Corruptions, delays: Delays) -> Rules:
    parts, estimate, model = learner.parts, learner.estimate, learner.post_serving
    assert isinstance(parts.select, CompiledRule)
    exact = estimate.settings if isinstance(estimate, MaximumLikelihood) else None
    online = estimate.settings if isinstance(estimate, SinglePass) else None
    spline = model.settings if isinstance(model, SplineModel) else None
    leverage = corruptions.threshold if isinstance(corruptions, LeverageCorruption) else 0.0
    return Rules(
        select=parts.select.code, served=parts.geometry == "served", observed=parts.observed,
        distinct=parts.distinct, link=parts.link,
        estimate=FULL_MLE if exact else ONE_PASS if online else ONE_STEP,
        tolerance=exact.tolerance if exact else 0.0, most_passes=exact.most_passes if exact else 0,
        step_size=online.step_size if online else 0.0, norm_bound=online.norm_bound if online else 0.0,
        knots=spline.knots if spline else 2, low=spline.low if spline else 0.0,
        high=spline.high if spline else 1.0,
        flips_better=not isinstance(corruptions, RandomFlips), least_leverage=leverage,
        flip_budget=scenario.corruption.budget,
        delays_good=isinstance(delays, StrategicDelay), delay_budget=scenario.delay.budget,
    )  # fmt: skip


def _block(
    begin: int,
    *,
    learner: DuelingLearner,
    world: BlockWorld,
    delays: Delays,
    corruptions: Corruptions,
) -> Block:
    """What is drawn for rounds begin … begin + BLOCK - 1, whatever the learner does in them."""
    parts, drawn, span = learner.parts, world.block(begin // BLOCK), range(begin, begin + BLOCK)
    assert isinstance(parts.select, CompiledRule)
    arms = drawn.x.shape[2]
    if isinstance(corruptions, RandomFlips):
        may_flip = np.stack([corruptions.at(t) for t in span])
    else:
        first = corruptions.start_round if isinstance(corruptions, LateCorruption) else 0
        may_flip = np.repeat(np.arange(begin, begin + BLOCK)[:, None] >= first, learner.runs, axis=1)
    if isinstance(delays, ObliviousDelays):
        delay = np.stack([delays.at(t) for t in span])
    else:
        assert isinstance(delays, StrategicDelay)
        delay = np.full((BLOCK, learner.runs), delays.longest, dtype=np.int64)
    return Block(
        x=drawn.x, y=np.ascontiguousarray(drawn.y[..., : learner.post_dim]), utility=drawn.utility,
        expected=drawn.expected, hurdle=drawn.hurdle, entry=world.entry,
        noise=_noise(parts.select, parts.noise, span, arms),
        may_flip=may_flip, delay=delay,
    )  # fmt: skip


def _noise(rule: CompiledRule, noise: Noise, span: range, arms: int) -> Array:
    """(BLOCK, R, K) what the rule adds to utilities in these rounds."""
    if rule.code != PERTURBED:
        return np.zeros((len(span), *noise.silence(arms).shape))
    return np.stack([rule.perturbation(noise, t, arms) for t in span])


def _state(learner: DuelingLearner) -> State:
    """The learner's own arrays; parts it does not have are stood in for by empty ones."""
    parts, V, W, estimate = learner.parts, learner.served_geometry, learner.arrived_geometry, learner.estimate
    runs = learner.runs
    fit = learner.post_serving.fit if isinstance(learner.post_serving, SplineModel) else None
    exact = estimate if isinstance(estimate, MaximumLikelihood) else None
    H = estimate.hessian if isinstance(estimate, SinglePass) else None
    none1, none2, none3, count = (
        np.empty((runs, 0)),
        np.empty((runs, 0)),
        np.empty((runs, 0, 0)),
        np.empty(0, int),
    )
    width = np.empty(runs)
    assert isinstance(parts.width, ConstantWidth)
    width[:] = parts.width.value
    features = 2 * learner.context_dim  # without a spline its two "knots" a coordinate have nothing to say
    return State(
        parts.clip, parts.clip_on_arrival, parts.curvature, parts.regularisation, width,
        V.matrix, V.inverse, V.log_det, V.moves, W.matrix, W.inverse, W.log_det, W.moves, learner.theta,
        fit.inverse if fit else none3, fit.coefficients if fit else np.empty((runs, features, 0)),
        exact.z if exact else none3, exact.weight if exact else none1, exact.outcome if exact else none2,
        exact.known if exact else count, exact.count if exact else count,
        exact.gradient if exact else none1, exact.inverse if exact else none3,
        exact.passes if exact else count,
        H.matrix if H else none3, H.inverse if H else none3, H.log_det if H else np.empty(0),
        H.moves if H else count, learner.votes,
    )  # fmt: skip


def _queue(runs: int, dim: int) -> Queue:
    zeros = np.zeros(runs, dtype=np.int64)
    return Queue(
        zeros.copy(), np.empty((runs, 0), np.int64), np.empty((runs, 0, dim)), np.empty((runs, 0)),
        np.empty((runs, 0)), zeros.copy(), zeros.copy(),
    )  # fmt: skip


def _with_room(queue: Queue, more: int) -> Queue:
    """The same queue with places for `more` votes in every run."""
    held, places = int(queue.length.max()), queue.due.shape[1]
    if held + more <= places:
        return queue
    size = 2 * (held + more)

    def widen(old: AnyArray) -> AnyArray:
        new = np.empty((old.shape[0], size, *old.shape[2:]), old.dtype)
        new[:, :held] = old[:, :held]
        return new

    return queue._replace(
        due=widen(queue.due), dz=widen(queue.dz), weight=widen(queue.weight), vote=widen(queue.vote)
    )


def _settle(learner: DuelingLearner) -> None:
    estimate = learner.estimate
    hessians = [estimate.hessian] if isinstance(estimate, SinglePass) else []
    for geometry in (learner.served_geometry, learner.arrived_geometry, *hessians):
        geometry.settle()

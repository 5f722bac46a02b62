"""How many votes until the best is settled, how often the verdict is wrong, and how good its forecast is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.answers.choosing import chooser
from benchmarks.answers.resuming import Measured, nothing_measured
from benchmarks.answers.worlds import World, linear, near_tie, one_effect_each, votes
from duelwise.answers.belief import Belief, belief, learn, posterior
from duelwise.answers.settled import settled
from duelwise.types import Array, BoolArray, IntArray

WORLDS = ("d = 5", "d = 10", "one effect per item")
NOT_BY_RUN = ("scale", "prior")  # arrays of a belief without a run axis


class Case(NamedTuple):
    """What is played."""

    goal: str
    name: str
    most_votes: int
    lies: float = 0.0
    in_flight: int = 0
    gap: float | None = None


def cases(runs: int) -> list[tuple[Case, int]]:
    """What is played in each world, and how often."""
    return [
        (Case("settle", "honest", 4000), runs),
        (Case("random", "honest", 10_000), runs // 2),
        (Case("settle", "a tenth lying", 4000, lies=0.1), runs),
        (Case("random", "a tenth lying", 10_000, lies=0.1), runs // 2),
        (Case("settle", "30 in flight", 4000, in_flight=30), runs),
        (Case("serve", "honest", 4000), max(50, runs // 8)),
        *((Case("settle", f"gap {gap}", 4000, gap=gap), runs) for gap in (0.02, 0.05)),
    ]


def rows(runs: int, seed: int, measured: Measured = nothing_measured) -> Iterator[dict[str, object]]:
    """A line for each world and case that has none yet."""
    for kind in WORLDS:
        for case, times in cases(runs):
            if not measured({"world": kind, "case": case.name, "goal": case.goal, "runs": times}):
                yield play(case, kind, times, seed)


def play(case: Case, kind: str, runs: int, seed: int) -> dict[str, object]:
    """Vote until every run is settled or out of votes, looking after each vote to 100, then each 2 %."""
    rng = np.random.default_rng([WORLDS.index(kind), 7, seed])
    world = _world(rng, kind, runs, case.gap)
    best, dim = world.utility.argmax(axis=1), world.items.shape[2]
    held = belief(runs=runs, dim=dim)
    choose = chooser(case.goal, runs=runs, dim=dim, rng=rng)
    going = np.arange(runs)  # runs that are not settled yet
    stopped, wrong = np.full(runs, np.inf), np.zeros(runs, dtype=np.bool_)
    forecasts: dict[int, list[tuple[int, float, float, float]]] = {}
    out: deque[tuple[Array, Array]] = deque()
    arrived, next_look = 0, 1
    while arrived < case.most_votes and len(going):
        items, at = world.items[going], np.arange(len(going))
        ahead = np.stack([dz for dz, _ in out], axis=1) if out else np.zeros((len(going), 0, dim))
        pairs = choose.pairs(held, items, ahead)
        dz = items[at, pairs[:, 0]] - items[at, pairs[:, 1]]
        out.append((dz, votes(rng, dz, world.theta[going], lies=case.lies)))
        if len(out) <= case.in_flight:
            continue
        dz, outcome = out.popleft()
        choose.told(outcome)
        learn(held, at, dz, outcome)
        arrived += 1
        if arrived < next_look:
            continue
        next_look = arrived + 1 if arrived < 100 else int(arrived * 1.02) + 1
        on = np.ones(len(going), dtype=np.bool_)
        for i, run in enumerate(going.tolist()):
            verdict = settled(posterior(held, i), world.items[run], out=case.in_flight)
            if verdict.settled:
                stopped[run], on[i] = arrived, False
                wrong[run] = verdict.leaders[0] != best[run]
            else:
                line = (arrived, verdict.votes_needed, verdict.votes_low, verdict.votes_high)
                forecasts.setdefault(run, []).append(line)
        if not on.all():
            held, going = _some(held, on), going[on]
            choose.keep(np.flatnonzero(on))
            out = deque((dz[on], outcome[on]) for dz, outcome in out)
    return _line(case, kind, runs, stopped, wrong, forecasts)


def _world(rng: np.random.Generator, kind: str, runs: int, gap: float | None) -> World:
    if kind == WORLDS[2]:
        world = one_effect_each(rng, runs=runs)
    else:
        world = linear(rng, runs=runs, dim=5 if kind == WORLDS[0] else 10)
    return world if gap is None else near_tie(world, gap)


def _some(held: Belief, runs: BoolArray) -> Belief:
    parts = {name: value if name in NOT_BY_RUN else value[runs] for name, value in held._asdict().items()}
    return Belief(**parts)


def _line(
    case: Case, kind: str, runs: int, stopped: Array, wrong: BoolArray,
    forecasts: dict[int, list[tuple[int, float, float, float]]],
) -> dict[str, object]:  # fmt: skip
    ratios, covered = _judged(stopped, forecasts)
    median = float(np.median(stopped))
    return {
        "world": kind, "case": case.name, "goal": case.goal, "runs": runs,
        "median": median if np.isfinite(median) else None,
        "settled": float(np.isfinite(stopped).mean()), "wrong": float(wrong.mean()),
        "within_two": _share((ratios > 1 / 2) & (ratios < 2)),
        "within_three": _share((ratios > 1 / 3) & (ratios < 3)),
        "range_covers": _share(covered),
    }  # fmt: skip


def _judged(
    stopped: Array, forecasts: dict[int, list[tuple[int, float, float, float]]]
) -> tuple[Array, BoolArray]:
    """Forecasts read at a quarter of the way against where runs did stop."""
    ratios: list[float] = []
    covered: list[bool] = []
    for run in np.flatnonzero(np.isfinite(stopped) & (stopped >= 8)).tolist():
        true = float(stopped[run])
        if run in forecasts:
            seen, middle, low, high = min(forecasts[run], key=lambda line: abs(line[0] - true / 4))
            ratios.append((seen + middle) / true)
            covered.append(seen + low <= true <= seen + high)
    return np.array(ratios), np.array(covered, dtype=np.bool_)


def _share(which: BoolArray | IntArray) -> float | None:
    return float(which.mean()) if len(which) else None

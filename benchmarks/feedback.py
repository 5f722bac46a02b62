"""What late, parallel and untrusted feedback costs: the figures behind docs/feedback.md.

python -m benchmarks.feedback [PART ...] --runs 40 --page docs/feedback-measured.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Unpack

import numpy as np

from benchmarks import designs, long_life, peers
from benchmarks.timing import write_between_marks
from duelwise.lab.grid.grid import ratio_of_means
from duelwise.lab.play.compiled_loop import play
from duelwise.lab.play.contexts import ContextModel, ContextsAtOnce, LateContexts
from duelwise.lab.play.corruptions import CorruptionModel, NoCorruption, StrategicCorruption
from duelwise.lab.play.delays import (
    DelayModel,
    GaussianDelay,
    GeometricDelay,
    StrategicDelay,
    TogetherDelay,
)
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.recipes import Tuning, recipe
from duelwise.types import Array

SEED, HORIZON = 88001, 2000
MAPPINGS = ("none", "abs", "polynomial", "sinusoidal")
BOTH: tuple[DelayModel, DelayModel] = (StrategicDelay(budget=10_000), GaussianDelay(mean=100, std=100))
LIES, HONEST = StrategicCorruption(budget=25), NoCorruption()
LATE: dict[
    str, tuple[ContextModel, ContextModel]
] = {  # for an estimate that keeps its votes, and in one pass
    "late N(50, 50²)": (
        LateContexts(delay=GaussianDelay(mean=50, std=50), deadline=None),
        LateContexts(delay=GaussianDelay(mean=50, std=50), deadline=20),
    ),
    "20 % of items missing": (LateContexts(missing_sides=0.2), LateContexts(missing_sides=0.2, deadline=20)),
    "late Geom(200)": (
        LateContexts(delay=GeometricDelay(mean=200), deadline=None),
        LateContexts(delay=GeometricDelay(mean=200), deadline=20),
    ),
    "50 % of items missing": (LateContexts(missing_sides=0.5), LateContexts(missing_sides=0.5, deadline=20)),
    "half of the values missing": (
        LateContexts(missing_values=0.5),
        LateContexts(missing_values=0.5, deadline=20),
    ),
}


def regret(
    name: str, mapping: str, late: DelayModel, corruption: CorruptionModel, runs: int | range, *,
    contexts: ContextModel | None = None, noise: float = 0.0, rounds: int = HORIZON,
    **options: Unpack[Tuning],
) -> Array:  # fmt: skip
    """(R,) regret of one recipe; of two different candidates where they must differ."""
    numbers = list(runs if isinstance(runs, range) else range(runs))
    world = LinearWorld(
        runs=numbers, seed=SEED, mapping=mapping, context_dim=10, arms=10, scaling="published", noise=noise
    )
    scenario = world.with_delay(late).with_corruption(corruption).with_contexts(contexts or ContextsAtOnce())
    learner = recipe(name)(
        runs=numbers,
        context_dim=10,
        post_dim=world.post_dim,
        seed=SEED,
        **options,
    )
    played = play(learner, scenario, horizon=rounds)
    return (played.distinct_regret if options.get("distinct_pair") else played.regret).sum(axis=1)


def pooled(make: Callable[[DelayModel], Array]) -> Array:
    """Strategic and stochastic delays, run after run."""
    return np.concatenate([make(delay) for delay in BOTH])


def shown(above: Array, below: Array) -> str:
    ratio, low, high = ratio_of_means(above, below)
    return f"{ratio:.3f} [{low:.3f}, {high:.3f}]"


def steady_lines(runs: int) -> Iterable[str]:
    yield "\n## steady and live on the paper's settings\n\nRegret over the paper's preset, delays pooled.\n\n"
    yield "| φ | steady, self-duels | steady, distinct | live, distinct |\n|---|---|---|---|\n"
    for mapping in MAPPINGS:
        plain = pooled(lambda d, m=mapping: regret("rcdp-ucb", m, d, LIES, runs))
        apart = pooled(lambda d, m=mapping: regret("rcdp-ucb", m, d, LIES, runs, distinct_pair=True))
        own = pooled(lambda d, m=mapping: regret("steady", m, d, LIES, runs))
        own_apart = pooled(lambda d, m=mapping: regret("steady", m, d, LIES, runs, distinct_pair=True))
        live = pooled(lambda d, m=mapping: regret("live", m, d, LIES, runs, distinct_pair=True))
        cells = (shown(own, plain), shown(own_apart, apart), shown(live, apart))
        yield f"| {mapping} | {' | '.join(cells)} |\n"


def _pooled_at(
    name: str, mapping: str, lies: CorruptionModel, runs: int, distinct: bool,
    contexts: ContextModel | None, noise: float = 0.0,
) -> Array:  # fmt: skip
    return pooled(
        lambda delay: regret(
            name, mapping, delay, lies, runs, contexts=contexts, noise=noise, distinct_pair=distinct
        )
    )


def late_lines(runs: int) -> Iterable[str]:
    yield "\n## Contexts late or missing\n\nRegret over the same learner with y at once, delays pooled.\n\n"
    yield "| φ | recipe | votes | " + " | ".join(LATE) + " | noisy y, late N(50, 50²) |\n"
    yield "|---|---|---|" + "---|" * (len(LATE) + 1) + "\n"
    late_normal = LATE["late N(50, 50²)"]
    for mapping in ("abs", "sinusoidal"):
        for name in ("rcdp-ucb", "steady", "live"):
            one_pass = name == "live"
            for said, lies in (("lies first", LIES), ("honest", HONEST)):
                at = partial(_pooled_at, name, mapping, lies, runs, one_pass)
                once, noisy = at(None), at(None, 0.7)
                cells = [shown(at(both[one_pass]), once) for both in LATE.values()]
                cells.append(shown(at(late_normal[one_pass], 0.7), noisy))
                yield f"| {mapping} | {name} | {said} | {' | '.join(cells)} |\n"


def unknown_lines(runs: int) -> Iterable[str]:
    yield "\n## Budgets unknown\n\nRegret over the same learner told C + D = 125.\n\n"
    yield "| φ | delay | T known | T unknown | one pass, T known | one pass, T unknown |\n"
    yield "|---|---|---|---|---|---|\n"
    for mapping in MAPPINGS:
        for named, delay in zip(("strategic", "stochastic"), BOTH, strict=True):
            cells: list[str] = []
            for estimate in ("full-mle", "one-pass"):
                told = regret("rcdp-ucb", mapping, delay, LIES, runs, estimate=estimate)
                for horizon in (HORIZON, None):
                    own = regret(
                        "rcdp-ucb", mapping, delay, LIES, runs, estimate=estimate,
                        delay="unknown", corruption_budget="unknown", horizon=horizon,
                    )  # fmt: skip
                    cells.append(shown(own, told))
            yield f"| {mapping} | {named} | {' | '.join(cells)} |\n"


def parallel_lines(runs: int) -> Iterable[str]:
    yield "\n## Thirty raters at once\n\nDistinct pairs, over the paper's preset; lies first, and honest.\n\n"
    yield "| φ | votes | live | rcdp-ucb in S, width 1 |\n|---|---|---|---|\n"
    for mapping in ("none", "abs"):
        for said, lies in (("lies first", LIES), ("honest", HONEST)):
            at = (mapping, TogetherDelay(size=30), lies, runs)
            preset = regret("rcdp-ucb", *at, distinct_pair=True)
            live = regret("live", *at, distinct_pair=True)
            requested = regret(
                "rcdp-ucb", *at, distinct_pair=True, geometry="requested", exploration_width=1.0
            )
            yield f"| {mapping} | {said} | {shown(live, preset)} | {shown(requested, preset)} |\n"


def peer_lines(runs: int) -> Iterable[str]:
    def of(
        name: str, mapping: str, delay: DelayModel, numbers: range, horizon: int, width: float | None
    ) -> Array:
        told: Tuning = {"estimate": "full-mle", "distinct_pair": True}
        if name == "feel-good":
            told |= {"horizon": horizon}
        if width is not None:
            told |= {"exploration_width": width}
        return regret(name, mapping, delay, LIES, numbers, rounds=horizon, **told)

    delays: dict[str, DelayModel] = {"strategic": BOTH[0], "stochastic": BOTH[1]}
    return peers.lines(of, shown, delays, runs=runs, horizon=HORIZON)


def design_lines(_runs: int) -> Iterable[str]:
    return designs.lines()


def life_lines(_runs: int) -> Iterable[str]:
    return long_life.lines(1_000_000)


PARTS = {
    "design": design_lines, "parallel": parallel_lines, "steady": steady_lines,
    "late": late_lines, "unknown": unknown_lines, "life": life_lines, "peers": peer_lines,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--page", type=Path, help="Each part is written into its own place there.")
    given = parser.parse_args()
    for part in given.parts:
        text = ""
        for line in PARTS[part](given.runs):
            print(line, end="", flush=True)
            text += line
        text += f"\nMade by `python -m benchmarks.feedback {part} --runs {given.runs}`.\n"
        if given.page is not None:
            write_between_marks(given.page, part, text)


if __name__ == "__main__":
    main()

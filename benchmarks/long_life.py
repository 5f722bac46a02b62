"""What a vote costs a stream with all defaults when it is young and when it is old.

python -m benchmarks.long_life [--votes 1000000]: asks among ten fresh candidates, contexts, and votes that
come 20 rounds later, folded as a server folds them; time for each vote and memory around 10⁴ and at the end.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Iterable

import numpy as np
import psutil

from duelwise.learning.core.deferred_compilation import patience
from duelwise.stream.candidates import CandidateSet
from duelwise.stream.choosing import Chooser
from duelwise.stream.events import Asked, Event, Observed, Recorded, Told
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import StreamState
from duelwise.types import Array

DIM, POST, ARMS, LATE = 10, 2, 10, 20
YOUNG, WINDOW = 10_000, 5_000
TRUTH: Array = np.linspace(1.0, -1.0, DIM + POST)


class Life:
    """A stream's fold without its store."""

    def __init__(self) -> None:
        settings = StreamSettings(context_dim=DIM, post_dim=POST)
        self.folded, self._chooser = StreamState(settings), Chooser(settings)
        self._rng = np.random.Generator(np.random.PCG64(5))
        self._outcomes: list[float] = []

    def pass_round(self, t: int) -> None:
        ranged = self.folded.due_ranges()
        if ranged is not None:
            self._happen(ranged)
        x = self._rng.standard_normal((ARMS, DIM))
        choice = self._chooser.choose(self.folded, CandidateSet(x, None), t)
        served = x[choice.arms]
        self._happen(
            Asked(
                t, "0", choice.arms, served, choice.predicted, swapped=False, model_version=self.folded.seq,
                bounds=choice.bounds,
            )
        )  # fmt: skip
        y = np.abs(served[:, :POST])
        self._happen(Observed(t, y))
        edge = float((np.concatenate((served, y), axis=1) @ TRUTH) @ (1.0, -1.0))
        self._outcomes.append(float(self._rng.random() < 1 / (1 + np.exp(-edge))))
        if t >= LATE:
            self._happen(Told(t - LATE, self._outcomes.pop(0)))

    def _happen(self, event: Event) -> None:
        self.folded.apply(Recorded(self.folded.seq + 1, float(self.folded.seq), event))


def lines(votes: int) -> Iterable[str]:
    life, process, at = Life(), psutil.Process(), 0
    seconds: list[float] = []
    memory: list[int] = []
    kept: list[int] = []
    for end in (YOUNG, votes):
        while at < end - WINDOW:
            life.pass_round(at)
            at += 1
        each = np.empty(WINDOW)
        for i in range(WINDOW):
            start = time.perf_counter()
            life.pass_round(at)
            each[i] = time.perf_counter() - start
            at += 1
        gc.collect()
        seconds.append(float(np.median(each)))
        memory.append(process.memory_info().rss)
        kept.append(life.folded.size())
    yield "\n## What a vote costs an old stream\n\n"
    yield "Ask, context and vote; median of 5,000 rounds. The state is what a snapshot holds.\n\n"
    yield "| votes | µs a vote | state, kB | process, MB |\n|---|---|---|---|\n"
    for count, second, state, bytes_ in zip((YOUNG, votes), seconds, kept, memory, strict=True):
        yield f"| {count:,} | {second * 1e6:.0f} | {state / 1e3:.0f} | {bytes_ / 1e6:.0f} |\n"
    ratios = (seconds[1] / seconds[0], kept[1] / kept[0], memory[1] / memory[0])
    yield "| ratio | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |\n"


@patience(0.0)  # what is timed is compiled
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=1_000_000)
    for line in lines(parser.parse_args().votes):
        print(line, end="", flush=True)


if __name__ == "__main__":
    main()

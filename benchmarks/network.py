"""The stacked network against torch's own layers, interleaved, at several points of a horizon.

    python benchmarks/network.py [--horizon 2000] [--runs 10] [--repeats 3]

Each window times a few rounds (two steps of every run) with the buffer as full as it
would be then; the whole horizon is the integral of the windows' medians. The torch
networks train one after another on one thread; the library uses its threads.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from duelwise.learning.post_serving import Neural
from duelwise.learning.post_serving.replay import Rows

DIM, ROUNDS = 10, 4  # rounds timed in a window


def torch_round(runs: int, rows: int) -> Callable[[], None]:
    """One round of the plain implementation: each run's network takes two full-batch steps."""
    layers = [(DIM, 64), (64, 64), (64, DIM)]
    networks = [
        torch.nn.Sequential(*(m for a, b in layers for m in (torch.nn.Linear(a, b), torch.nn.ReLU())))[:-1]
        for _ in range(runs)
    ]
    optimisers = [torch.optim.Adam(network.parameters(), lr=1e-3) for network in networks]
    x = [torch.empty(rows, DIM).uniform_(-3, 3) for _ in range(runs)]

    def round() -> None:
        for network, optimiser, rows in zip(networks, optimisers, x, strict=True):
            for _ in range(2):
                optimiser.zero_grad()
                torch.nn.functional.mse_loss(network(rows), rows.abs()).backward()
                optimiser.step()

    return round


def library_round(runs: int, pairs: int, *, replay: int | None, self_duels: float) -> Callable[[], None]:
    """One round of `Neural` after so many pairs."""
    random = np.random.default_rng(0)
    model = Neural(replay=replay).start(runs=range(runs), context_dim=DIM, post_dim=DIM, seed=0)

    def pair() -> np.ndarray:
        x = random.uniform(-3, 3, (runs, 2, DIM))
        same = random.random(runs) < self_duels
        x[same, 1] = x[same, 0]
        return x

    rows = Rows(runs=runs, context_dim=DIM, post_dim=DIM, merge=replay is None)
    for _ in range(pairs):
        x = pair()
        rows.add(np.arange(runs), x, np.abs(x))
    model.restore(model.snapshot() | rows.snapshot())  # a full buffer without the training it took

    def round() -> None:
        x = pair()
        model.learn(np.arange(runs), x, np.abs(x))

    return round


def seconds(round: Callable[[], None]) -> float:
    round()
    start = time.perf_counter()
    for _ in range(ROUNDS):
        round()
    return (time.perf_counter() - start) / ROUNDS


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--horizon", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    at = [max(1, int(share * options.horizon)) for share in (0.01, 0.1, 0.25, 0.5, 0.75, 0.95)]
    kinds: dict[str, Callable[[int], Callable[[], None]]] = {
        "torch": lambda t: torch_round(options.runs, 2 * t),
        "all rows": lambda t: library_round(options.runs, t, replay=None, self_duels=0.0),
        "all rows, 55 % self-duels": lambda t: library_round(options.runs, t, replay=None, self_duels=0.55),
        "replay 256": lambda t: library_round(options.runs, t, replay=256, self_duels=0.0),
    }
    times = {kind: np.empty((options.repeats, len(at))) for kind in kinds}
    for column, t in enumerate(at):
        rounds = {kind: make(t) for kind, make in kinds.items()}
        for repeat in range(options.repeats):
            for kind, round in rounds.items():
                times[kind][repeat, column] = seconds(round)
    edges = [0, *at, options.horizon]
    totals = {
        kind: np.array([np.trapezoid([row[0], *row, row[-1]], edges) for row in measured])
        for kind, measured in times.items()
    }
    for kind, measured in times.items():
        ratio = totals["torch"] / totals[kind]
        print(
            f"{kind:28s} ms per round {np.round(1e3 * np.median(measured, axis=0), 2)}  horizon "
            f"{np.median(totals[kind]):6.2f} s  ratio {np.median(ratio):5.1f} "
            f"({ratio.min():.1f} to {ratio.max():.1f})"
        )


if __name__ == "__main__":
    main()

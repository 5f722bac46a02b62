"""Write the files of tests/golden: a store, logs with what they fold to, and some curves.

They were written by 0.1.0 (several.jsonl.gz by 0.2.0) and pin what no later version may move. Written again
they would pin nothing, so this asks for a folder: python tools/golden.py FOLDER
What the logs in a folder fold to, where arithmetic has a new number: python tools/golden.py --fold FOLDER
On a processor without AVX-512 the last bits of some curves are others: OPENBLAS_CORETYPE=Haswell makes them.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np

from duelwise import LinearWorld, play, recipe
from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import GaussianDelay, StrategicDelay
from duelwise.learning.recipes import Tuning
from duelwise.storage import open_store
from duelwise.stream import DecisionStream, StreamSettings, Winner
from duelwise.stream.arithmetic import ARITHMETIC
from duelwise.stream.stream_state import StreamState
from duelwise.stream.transfer import ExportedLog, export_lines, read_lines

STREAMS = {
    "plain": StreamSettings(context_dim=4, seed=2),
    "meals": StreamSettings(
        context_dim=3, post_dim=2, feature_names=("price", "stars", "way", "minutes", "warmth"), seed=4
    ),
    "exact": StreamSettings(
        context_dim=3, post_dim=1, recipe="rcdb", options={"estimate": "full-mle", "post_serving": "ridge"}
    ),
    "several": StreamSettings(
        context_dim=2, post_dim=1, votes_wanted=3, seed=6,
        options={"estimate": "full-mle", "post_serving": "ridge"},
    ),
}  # fmt: skip
CELLS = [
    (name, mapping, delay, estimate)
    for name in ("rcdp-ucb", "rcdb", "colstim", "max-inp", "max-pair-ucb")
    for mapping in ("none", "abs")
    for delay, estimate in (("strategic", None), ("stochastic", None), ("stochastic", "one-pass"))
]
DELAYS = {"strategic": StrategicDelay(budget=2500), "stochastic": GaussianDelay(mean=40, std=40)}


class Clock:
    """A second later at every look."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def live(stream: DecisionStream, rng: np.random.Generator, steps: int) -> None:
    """Asks, contexts and votes in a random order, with ties, skips, retractions and votes before their y."""
    settings = stream.settings
    unseen: list[str] = []
    unheard: list[str] = []
    told: list[str] = []
    for _ in range(steps):
        what = rng.choice(["ask", "observe", "tell", "retract"], p=[0.38, 0.3, 0.3, 0.02])
        if what == "observe" and unseen:
            left, right = rng.normal(size=(2, settings.post_dim)).tolist()
            stream.observe(unseen.pop(int(rng.integers(len(unseen)))), left, right)
        elif what == "tell" and unheard:
            ticket = unheard.pop(int(rng.integers(len(unheard))))
            winner: Winner = rng.choice(["left", "right", "tie", "skip"], p=[0.45, 0.4, 0.1, 0.05]).item()
            stream.tell(ticket, winner, source=f"rater {rng.integers(4)}")
            if winner != "skip":
                told.append(ticket)
            elif ticket in unseen:
                unseen.remove(ticket)
        elif what == "retract" and told:
            ticket = told.pop(int(rng.integers(len(told))))
            stream.retract(ticket)
            if ticket in unseen:
                unseen.remove(ticket)
        else:
            x = rng.uniform(-3, 3, (5, settings.context_dim))
            duel = stream.ask([{"id": f"c{i}", "features": row} for i, row in enumerate(x.tolist())])
            unheard.append(duel.ticket)
            if settings.post_dim:
                unseen.append(duel.ticket)


def live_with_several_votes(stream: DecisionStream, rng: np.random.Generator, duels: int) -> None:
    """Votes before, amid and after a context, some taken back; a feature that hardly differs at first."""

    def tell(ticket: str, rater: int) -> None:
        stream.tell(ticket, "left" if rng.random() < 0.6 else "right", source=f"rater {rater}")

    for n in range(duels):
        x = rng.uniform(-1, 1, (4, 2))
        x[:, 0] = np.array([0.0, 0.0, 1.0, 1.0]) * (1e-16 if n < duels / 4 else 1.0)
        ticket = stream.ask(x).ticket
        tell(ticket, 0)
        stream.observe(ticket, rng.normal(size=1), None)
        tell(ticket, 1)
        if n % 10 == 6:
            stream.retract(ticket, source="rater 0")
        elif n % 10 == 7:
            stream.retract(ticket)
            continue
        stream.wait_for_background()
        stream.observe(ticket, None, rng.normal(size=1))
        tell(ticket, 2)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    store = open_store(f"sqlite:///{folder / 'store.db'}")
    for number, (name, settings) in enumerate(STREAMS.items()):
        with DecisionStream.create(store, name, settings, clock=Clock()) as stream:
            rng = np.random.default_rng(number)
            if settings.votes_wanted > 1:
                live_with_several_votes(stream, rng, 60)
            else:
                live(stream, rng, 400)
            stream.wait_for_background()
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in export_lines(store, name))
    store.close()
    fold(folder)
    np.savez_compressed(folder / "curves.npz", **curves())


def fold(folder: Path) -> None:
    """Write what the logs in this folder fold to."""
    folded: dict[str, Any] = {}
    for name in STREAMS:
        folded |= {f"{name}.{key}": value for key, value in floats(read_log(folder, name).fold()).items()}
    np.savez_compressed(folder / f"folded-{ARITHMETIC}.npz", **folded)


def read_log(folder: Path, name: str) -> ExportedLog:
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return read_lines(lines)


def floats(folded: StreamState) -> dict[str, Any]:
    """What the learner and the belief of a stream have come to."""
    learner, posterior = folded.learner, folded.belief.posterior()
    found = {"theta": learner.theta.copy()}
    for which in ("served", "arrived"):
        geometry = getattr(learner, f"{which}_geometry")
        for part in ("matrix", "inverse", "log_det"):
            found[f"{which}.{part}"] = getattr(geometry, part).copy()
    return found | {f"belief.{part}": np.asarray(value) for part, value in posterior._asdict().items()}


def curves() -> dict[str, Any]:
    """Every recipe, both delays, the preset's estimate and one pass."""
    return {key: values for cell in CELLS for key, values in curve(*cell).items()}


def curve(name: str, mapping: str, delay: str, estimate: str | None) -> dict[str, Any]:
    """Pairs, regrets and the estimate of one cell."""
    world = LinearWorld(runs=[0, 1, 1], context_dim=5, arms=6, mapping=mapping, seed=9)
    scenario = world.with_delay(DELAYS[delay]).with_corruption(StrategicCorruption(budget=15))
    chosen: Tuning = {} if estimate is None else {"estimate": estimate}
    learner = recipe(name)(runs=[0, 1, 1], context_dim=5, post_dim=world.post_dim, seed=9, **chosen)
    trajectory = play(learner, scenario, horizon=400)
    key = f"{name}/{mapping}/{delay}/{estimate or 'preset'}"
    return {
        f"{key}/arms": trajectory.arms.astype(np.int8),
        f"{key}/regret": trajectory.cumulative[:, 39::40],
        f"{key}/theta": learner.theta.copy(),
    }


if __name__ == "__main__":
    (fold if sys.argv[1] == "--fold" else main)(Path(sys.argv[-1]))

"""A hundred asks on one set of candidates before anything arrives: how much would their votes tell?

The log det of what was asked for, over that of a greedy D-optimal design: of a learner, and of a stream that
is asked one by one, in one batch, and by 32 clients over HTTP at once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

import numpy as np

from benchmarks.processes import duelwise, running
from duelwise.client import Candidate, Client
from duelwise.lab.play.compiled_loop import play
from duelwise.lab.play.delays import NoDelay
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning.recipes import Tuning, recipe
from duelwise.stream import Ask, Decision, DecisionStream, Observe, StreamSettings, Tell
from duelwise.types import Array

SEED, ASKS, WARM, SEEDS, CLIENTS = 88001, 100, 300, 20, 32
LATER = 2000  # a round whose candidates were not met while warming up
Pairs = list[tuple[int, int]]


def world_of(mapping: str, seed: int) -> LinearWorld:
    return LinearWorld(runs=[seed], seed=SEED, mapping=mapping, context_dim=10, arms=10, scaling="published")


def quality(z: Array, pairs: Pairs) -> float:
    """log det I + Σ ¼ Δz Δzᵀ of the pairs of z (K, d), over a greedy design's of as many."""
    matrix = np.eye(z.shape[1])
    for a, b in pairs:
        matrix += 0.25 * np.outer(z[a] - z[b], z[a] - z[b])
    return float(np.linalg.slogdet(matrix)[1]) / _greedy(z, len(pairs))


def _greedy(z: Array, count: int) -> float:
    matrix = np.eye(z.shape[1])
    for _ in range(count):
        gram = z @ np.linalg.solve(matrix, z.T)
        square = np.diag(gram)[:, None] + np.diag(gram)[None] - 2 * gram
        a, b = np.unravel_index(int(np.argmax(square)), square.shape)
        matrix += 0.25 * np.outer(z[a] - z[b], z[a] - z[b])
    return float(np.linalg.slogdet(matrix)[1])


def of_learner(name: str, options: Tuning, mapping: str, seed: int, votes: int) -> float:
    world = world_of(mapping, seed)
    learner = recipe(name)(context_dim=10, post_dim=world.post_dim, **options)
    if votes:
        play(learner, world.with_delay(NoDelay()), horizon=votes)
    x, pairs = world.contexts(LATER), Pairs()
    z = np.concatenate((x, learner.post_serving.predict(x)), axis=2)[0]
    for _ in range(ASKS):
        duel = learner.choose(x)
        learner.serve(duel)
        pairs.append((int(duel.arms[0, 0]), int(duel.arms[0, 1])))
    return quality(z, pairs)


def of_stream(
    ask: Callable[[DecisionStream, Array], Pairs], url: str, mapping: str, seed: int, votes: int
) -> float:
    """A stream with all defaults; `ask` may hand it to others."""
    world = world_of(mapping, seed)
    settings = StreamSettings(context_dim=10, post_dim=world.post_dim)
    with DecisionStream.create(url, f"{mapping}-{seed}-{votes}", settings) as stream:
        _warm(stream, world, votes)
        x = world.contexts(LATER)[0]
        expected = stream.replica.folded.inputs.predict(x[None])[0]
        pairs = ask(stream, x)
    return quality(np.concatenate((x, expected), axis=1), pairs)


def _warm(stream: DecisionStream, world: LinearWorld, votes: int) -> None:
    """Rounds of the world with votes at once."""
    for t in range(votes):
        x = world.contexts(t)
        duel = stream.ask(x[0])
        arms = np.array([[duel.left.index, duel.right.index]])
        truth = world.reveal(t, x)
        winner = "left" if world.vote(t, truth, arms)[0] == 1.0 else "right"
        seen = truth.y[0, arms[0], : world.post_dim]
        parts = [Observe(duel.ticket, seen[0], seen[1])] if world.post_dim else []
        stream.run([*parts, Tell(duel.ticket, winner)])


def one_by_one(stream: DecisionStream, x: Array) -> Pairs:
    duels = [stream.ask(x) for _ in range(ASKS)]
    return [(duel.left.index, duel.right.index) for duel in duels]


def in_one_batch(stream: DecisionStream, x: Array) -> Pairs:
    duels = [answer for answer in stream.run([Ask(x)] * ASKS) if isinstance(answer, Decision)]
    assert len(duels) == ASKS
    return [(duel.left.index, duel.right.index) for duel in duels]


class OverHttp:
    """32 clients at once, each with a connection of its own."""

    def __init__(self, port: int) -> None:
        self._clients = [Client(f"http://127.0.0.1:{port}") for _ in range(CLIENTS)]

    def __call__(self, stream: DecisionStream, x: Array) -> Pairs:
        remote = [client.stream(stream.name) for client in self._clients]
        offered = [Candidate(id=str(number), features=row) for number, row in enumerate(x.tolist())]

        def ask(number: int) -> tuple[int, int]:
            duel = remote[number % CLIENTS].ask(offered)
            return duel.left.index, duel.right.index

        with ThreadPoolExecutor(CLIENTS) as pool:
            return list(pool.map(ask, range(ASKS)))

    def close(self) -> None:
        for client in self._clients:
            client.close()


def lines() -> Iterable[str]:
    yield "\n## A hundred asks before anything arrives\n\n"
    yield f"log det of what was asked for over that of a greedy D-optimal design, mean of {SEEDS} seeds.\n\n"
    yield f"| φ | asked | cold | after {WARM} votes |\n|---|---|---|---|\n"
    live: Tuning = {"distinct_pair": True}
    in_s: Tuning = {"distinct_pair": True, "geometry": "requested", "exploration_width": 1.0}
    with tempfile.TemporaryDirectory() as folder:
        one, batch, http = (f"sqlite:///{folder}/{way}.db" for way in ("one", "batch", "http"))
        with running(*duelwise(http)) as port, closing(OverHttp(port)) as over_http:
            ways: dict[str, Callable[[str, int, int], float]] = {
                "learner, live": partial(of_learner, "live", live),
                "learner, rcdp-ucb in S": partial(of_learner, "rcdp-ucb", in_s),
                "stream, one by one": partial(of_stream, one_by_one, one),
                "stream, one batch": partial(of_stream, in_one_batch, batch),
                f"stream, {CLIENTS} clients over HTTP": partial(of_stream, over_http, http),
            }
            for mapping in ("none", "abs"):
                for way, measure in ways.items():
                    cold, warm = (
                        np.mean([measure(mapping, seed, votes) for seed in range(SEEDS)])
                        for votes in (0, WARM)
                    )
                    yield f"| {mapping} | {way} | {cold:.2f} | {warm:.2f} |\n"

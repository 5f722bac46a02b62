"""What answers cost: asks and ranks over many items, an audit, and asks that come while a rank is running."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median

import numpy as np

from benchmarks.answers.page import Line
from benchmarks.answers.resuming import Measured, nothing_measured
from benchmarks.processes import duelwise, request, running
from benchmarks.timing import seconds
from duelwise.stream import DecisionStream, FromCatalogue, StreamSettings
from duelwise.stream.auditing import audit
from duelwise.stream.operations import Ask, Decision, Tell
from duelwise.stream.stream_answers import StreamAnswers
from duelwise.types import Array

ITEMS, DIM, VOTES, AUDITED = 100_000, 64, 60, 100_000
SHOWN = 100  # lines of a ranking, as over HTTP unless asked otherwise
ASKS = 200  # timed beside a rank, and as many without one


def rows(runs: int, _seed: int, _measured: Measured = nothing_measured) -> Iterator[Line]:
    """A line for each kind of work; `runs` is how often each is timed."""
    with tempfile.TemporaryDirectory() as folder:
        for goal in ("serve", "settle"):
            yield from _many_items(f"sqlite:///{folder}/{goal}.db", goal, runs)
        yield from _beside_a_rank(f"sqlite:///{folder}/serve.db", runs)
        yield from _audit(f"sqlite:///{folder}/audit.db")


def _many_items(store: str, goal: str, runs: int) -> Iterator[Line]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ITEMS, DIM))
    with DecisionStream.create(store, "pool", StreamSettings(context_dim=DIM, goal=goal)) as stream:
        stream.put_items([{"id": f"item {k}", "features": row} for k, row in enumerate(x.tolist())])
        for _ in range(VOTES):
            _vote(stream, stream.ask(x[rng.integers(ITEMS, size=10)]), rng)
        matrix = stream.knowledge().posterior.covariance
        asked: list[Decision] = []

        def ask() -> None:
            asked.append(stream.ask())

        def product() -> object:
            return np.einsum("ij,ij->i", x @ matrix, x)

        ours = [("ask", ask, "≤ 2×"), ("rank", lambda: stream.rank(limit=SHOWN), "≤ 4×")]
        for name, work, wanted in ours:
            work()
            ratios, times = list[float](), list[float]()
            for _ in range(runs):
                other, own = seconds(product), seconds(work)
                ratios.append(own / other)
                times.append(own)
                while asked:  # a vote comes before the next ask
                    _vote(stream, asked.pop(), rng)
            yield _line(f"{name}, goal {goal}", "the quadratic forms by NumPy", wanted, ratios, "×", times)


def _vote(stream: DecisionStream, duel: Decision, rng: np.random.Generator) -> None:
    stream.tell(duel.ticket, "left" if rng.random() < 0.5 else "right")


def _beside_a_rank(store: str, runs: int) -> Iterator[Line]:
    """Asks of ten candidates in one server, in turn with and without a rank of all items under way."""
    rng = np.random.default_rng(1)
    with running(*duelwise(store)) as port:
        ask = _asker(port, rng.normal(size=(10, DIM)))
        request(port, "/v1/streams/pool/rank", b"{}")
        ask()
        added = list[float]()
        for _ in range(runs):
            alone = [seconds(ask) for _ in range(ASKS)]
            stop = threading.Event()
            ranks = threading.Thread(target=_rank_on, args=(port, stop))
            ranks.start()
            time.sleep(0.05)
            beside = [seconds(ask) for _ in range(ASKS)]
            stop.set()
            ranks.join()
            added.append(1000 * (median(beside) - median(alone)))
    yield _line("ask while ranks run, median", "asks alone", "≤ 10 ms", added, " ms", [])


def _asker(port: int, x: Array) -> Callable[[], object]:
    offered = [{"id": f"c{k}", "features": row} for k, row in enumerate(x.tolist())]
    body = json.dumps({"candidates": offered}).encode()
    return lambda: request(port, "/v1/streams/pool/ask", body)


def _rank_on(port: int, stop: threading.Event) -> None:
    while not stop.is_set():
        request(port, "/v1/streams/pool/rank", b"{}")


def _audit(store: str) -> Iterator[Line]:
    """An audit of all votes: the votes read from the log by folding it, then looked at."""
    rng, at_once = np.random.default_rng(2), 500
    x = rng.normal(size=(50, 10))
    utility = x @ rng.normal(size=10) / 3
    with DecisionStream.create(store, "audited", StreamSettings(context_dim=10)) as stream:
        stream.put_items([{"id": f"item {k}", "features": row} for k, row in enumerate(x.tolist())])
        for _ in range(AUDITED // at_once):
            duels = [one for one in stream.run([Ask(FromCatalogue())] * at_once) if isinstance(one, Decision)]
            stream.run([_told(duel, utility, rng) for duel in duels])
        yield from _audited(stream, x)


def _told(duel: Decision, utility: Array, rng: np.random.Generator) -> Tell:
    chance = 1 / (1 + np.exp(utility[duel.right.index] - utility[duel.left.index]))
    return Tell(duel.ticket, "left" if rng.random() < chance else "right", f"rater {rng.integers(300)}")


def _audited(stream: StreamAnswers, x: Array) -> Iterator[Line]:
    begun = time.perf_counter()
    votes = stream.votes()
    reading = time.perf_counter() - begun
    prior, ids = stream.knowledge().posterior.prior_variance, [f"item {k}" for k in range(len(x))]
    looking = seconds(lambda: audit(votes, prior, ids=ids, items=x))
    yield _line(f"audit of {AUDITED:,} votes", "", "≤ 5 s", [reading + looking], " s", [])
    yield _line("of it: looking at the votes", "", "", [looking], " s", [])
    yield _line("of it: reading them, the log folded once more", "", "", [reading], " s", [])


def _line(work: str, against: str, asked: str, values: list[float], unit: str, times: list[float]) -> Line:
    return {
        "work": work, "against": against, "asked": asked, "unit": unit, "value": median(values),
        "low": min(values), "high": max(values), "seconds": median(times) if times else None,
    }  # fmt: skip


def costs_table(lines: Sequence[Line]) -> str:
    """What answers cost, as a table."""
    head = "| work | against | asked | measured (least to most) | takes |\n| --- | --- | --- | --- | --- |\n"
    text = (
        f"### Costs\n{ITEMS:,} items of {DIM} features in one stream; both sides interleaved in one run; a "
        f"ranking shows {SHOWN} lines. Asks beside a rank are of ten candidates, over HTTP in one server.\n\n"
    )
    return text + head + "".join(_written(line) for line in lines)


def _written(line: Line) -> str:
    value, low, high = (float(str(line[name])) for name in ("value", "low", "high"))
    unit, takes = line["unit"], line["seconds"]
    measured = f"{value:.2f}{unit}" + (f" ({low:.2f} to {high:.2f})" if low < high else "")
    took = "" if takes is None else f"{1000 * float(str(takes)):.0f} ms"
    return f"| {line['work']} | {line['against']} | {line['asked']} | {measured} | {took} |\n"
